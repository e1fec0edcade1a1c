package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestSweepFindsWhatChanges: a process has no environment to be read while it executes another program, and
// none of its children was listed if it forked and ended meanwhile.
func TestSweepFindsWhatChanges(t *testing.T) {
	script, rounds := filepath.Join(t.TempDir(), "again"), 40
	if testing.Short() {
		rounds = 8
	}
	for name, text := range map[string]string{
		"executes": "exec \"$0\"\n", "forks and ends": "\"$0\" &\n",
	} {
		t.Run(name, func(t *testing.T) {
			missed := 0
			for round := range rounds {
				if err := os.WriteFile(script, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
					t.Fatal(err)
				}
				own := mark + t.Name() + string(rune('A'+round))
				cmd := exec.Command(script)
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), own}
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				go cmd.Wait()
				sweep(own)
				if alive(t, own) {
					missed++
					_ = os.Remove(script) // ends it
				}
			}
			if missed > 0 {
				t.Errorf("%d of %d were missed", missed, rounds)
			}
		})
	}
}

// alive looks for a process with the mark several times.
func alive(t *testing.T, own string) bool {
	for range 5 {
		envs, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil || len(envs) == 0 {
			t.Fatal("no /proc", err)
		}
		for _, name := range slices.Backward(envs) {
			if env, err := os.ReadFile(name); err == nil && strings.Contains(string(env), own) {
				return true
			}
		}
	}
	return false
}
