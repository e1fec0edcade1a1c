package main

import (
	"os"
	"os/exec"
	"path/filepath"
)

// start measures each program before it does anything, and its size.
func (b *bench) start() error {
	programs, err := filepath.Glob(b.ours("tri*"))
	if err != nil {
		return err
	}
	nothing := contender{"jq -n 1", []string{"jq", "-n", "1"}}
	if _, err := exec.LookPath("jq"); err != nil {
		nothing = contender{"true", []string{"true"}}
	}
	all := []contender{nothing, {"gojq -n 1", []string{"gojq", "-n", "1"}},
		{"mlr -n", []string{"mlr", "-n", "cat"}}}
	for _, p := range programs {
		all = append(all, contender{filepath.Base(p) + " --version", []string{p, "--version"}})
	}
	all = append(all, contender{"tri-classify, no events", []string{b.ours("tri-classify"), os.DevNull}})
	if err := race(3*b.rounds, nil, b.group("time", seconds), nil, all...); err != nil {
		return err
	}
	g := b.group("size", bytesOf)
	for _, c := range []string{"gojq", "mlr"} {
		if path, err := exec.LookPath(c); err != nil {
			g.lacks(c, "not on this machine")
		} else if err := weigh(g, path); err != nil {
			return err
		}
	}
	for _, p := range programs {
		if err := weigh(g, p); err != nil {
			return err
		}
	}
	return nil
}

func weigh(g *group, path string) error {
	info, err := os.Stat(path)
	if err == nil {
		g.add(filepath.Base(path), float64(info.Size()))
	}
	return err
}
