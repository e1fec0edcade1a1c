package config

import (
	"os"
	"path/filepath"
)

// ForHome is Load for a program that works in one home: it reads file if it is not "", else the
// home's config.yaml, else returns the defaults. It never reads another home's.
func ForHome(home, file string) (*Config, error) {
	if file == "" {
		file = filepath.Join(home, "config.yaml")
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return Default(), nil
		}
	}
	return Load(file)
}
