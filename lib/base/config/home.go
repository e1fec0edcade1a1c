package config

import (
	"os"
	"path/filepath"
)

// ForHome is Load for a program that works in one home: file where it is named,
// else the home's own config.yaml, else the defaults; never another home's.
func ForHome(home, file string) (*Config, error) {
	if file == "" {
		file = filepath.Join(home, "config.yaml")
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return Default(), nil
		}
	}
	return Load(file)
}
