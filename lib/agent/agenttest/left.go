package agenttest

import (
	"bytes"
	"os"
	"path/filepath"
	"time"
)

// noneLeft fails if a process of the run stays alive: a killed process may take a moment to
// disappear.
func (b *bench) noneLeft() {
	b.Helper()
	var left []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if left = b.processes(); len(left) == 0 {
			return
		}
	}
	b.Errorf("left behind: %q", left)
}

// processes returns the processes of the run.
func (b *bench) processes() (all []string) {
	b.Helper()
	want := []byte(Variable + "=" + os.Getenv(Variable))
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(envs) == 0 {
		b.Fatal("no /proc", err)
	}
	for _, name := range envs {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, want) {
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			all = append(all, filepath.Dir(name)+" "+string(cmd))
		}
	}
	return all
}
