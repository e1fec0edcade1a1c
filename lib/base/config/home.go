package config

import (
	"os"
	"path/filepath"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Home opens a home, with one of the functions of durable, and reads its configuration, or file
// instead.
func Home(open func(string) (*durable.Home, error), dir, file string) (*durable.Home, *Config, error) {
	home, err := open(dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := ForHome(home.Dir(), file)
	if err != nil {
		home.Close()
		return nil, nil, err
	}
	return home, c, nil
}

// ForHome is Load for a program that works in one home: it reads file if it is not "", else the
// home's config.yaml, else returns the defaults. It never reads another home's.
func ForHome(home, file string) (*Config, error) {
	if file == "" && home != "" {
		file = filepath.Join(home, "config.yaml")
		info, err := os.Stat(file)
		if os.IsNotExist(err) {
			return Default(), nil
		}
		if err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
			return nil, sysexit.Errorf(sysexit.Config, "%q is no file", file)
		}
	}
	return Load(file)
}
