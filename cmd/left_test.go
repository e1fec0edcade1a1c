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

// endLeft kills the processes that a script has left running, such as a supervisor after the script
// failed: all whose environment has the script's folder as $WORK, which every process started by
// the script inherits. It repeats until there is none, since a supervisor restarts its stages.
func endLeft(work string) {
	mark := []byte("\x00WORK=" + work + "\x00")
	for range 100 {
		found := false
		environs, _ := filepath.Glob("/proc/[0-9]*/environ") // none on systems without /proc
		for _, file := range environs {
			env, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(append([]byte{0}, env...), mark) {
				continue // of another user, or ended
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
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // like a supervisor that was detached
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
