package cmd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// endLeft kills what a script has left running, as a supervisor when the script
// failed before it took it down: whatever has the script's folder as $WORK in its
// environment, which all inherit that a script starts. It looks again until there
// is nothing, since a supervisor starts its stages anew.
func endLeft(work string) {
	mark := []byte("\x00WORK=" + work + "\x00")
	for range 100 {
		found := false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ") // none where there is no /proc
		for _, file := range environs {
			env, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(append([]byte{0}, env...), mark) {
				continue // another's, or it has ended
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err == nil && pid != os.Getpid() {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
		}
		if !found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestEndLeft(t *testing.T) {
	work := t.TempDir()
	start := func(work string) *exec.Cmd {
		c := exec.Command("sleep", "600")
		c.Env = append(os.Environ(), "WORK="+work)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as a supervisor that was sent away
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	left, other := start(work), start(work+"0")
	endLeft(work)
	if err := left.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	if err := other.Process.Kill(); err != nil {
		t.Errorf("another script's was ended: %v", err)
	}
	_ = other.Wait() // killed
}
