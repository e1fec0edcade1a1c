package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tri/lib/base/config"
)

// exits are the programs that have done something for good when they end with
// status 0, each on top of those before it. The first makes the home.
func exits() []path {
	return append([]path{{"tri init", func(w *world) []string {
		return []string{"tri", "init", "--home", filepath.Dir(w.home) + "/new/home", "--yes"}
	}, func(w *world) error {
		_, err := config.Load(filepath.Dir(w.home) + "/new/home/config.yaml")
		return err
	}}}, append(paths(), path{"tri restore", func(w *world) []string {
		return []string{"tri-backup", "restore", filepath.Dir(w.home) + "/deep/restored"}
	}, func(w *world) error {
		return run(filepath.Join(w.bin, "tri-report"), "verify", "--home",
			filepath.Dir(w.home)+"/deep/restored", "--config", w.config)
	}})...)
}

// obey runs each of them to its end, cuts the power at once, and counts those whose
// work is not there then.
func obey(o options, s system, through []string) (lost []string, err error) {
	l, err := lifeOf(o, s)
	if err != nil {
		return nil, err
	}
	defer l.end()
	for _, say := range []func() error{l.ask, func() error {
		_, err := l.chat.say("ben", "ok thanks")
		return err
	}, l.ask} {
		if err := say(); err != nil {
			return nil, err
		}
	}
	for _, p := range exits() {
		l.through = through
		if err := l.exit(p); err != nil {
			return nil, err
		}
		l.through = nil
		if _, err := l.cut(); err != nil {
			return nil, err
		}
		err := p.done(l.world)
		if err == nil {
			continue
		}
		lost = append(lost, fmt.Sprintf("%s ended with status 0, and after the cut: %v", p.name, err))
		// The way on, for the next of them.
		if err := l.exit(p); err != nil {
			return append(lost, fmt.Sprintf("and again: %v", err)), nil
		}
		if err := l.disk.sync(); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// exit runs a program to its good end.
func (l *life) exit(p path) error {
	cmd := l.command(p.args(l.world)...)
	if p.name == "tri restore" {
		in, err := l.backup()
		if err != nil {
			return err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	if out, err := cmd.CombinedOutput(); err != nil && !over(p, out) {
		return fmt.Errorf("%s: %w: %s", p.name, err, out)
	}
	return nil
}

// backup saves the home elsewhere.
func (l *life) backup() (*os.File, error) {
	f, err := os.Create(filepath.Join(l.dir, "backup.tar.gz"))
	if err != nil {
		return nil, err
	}
	cmd := l.command("tri-backup", "save")
	cmd.Stdout = f
	err = cmd.Run()
	_, seek := f.Seek(0, io.SeekStart)
	return f, errors.Join(err, seek)
}
