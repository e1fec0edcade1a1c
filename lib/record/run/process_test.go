package run

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

func TestProcess(t *testing.T) {
	self := ProcessOf(os.Getpid())
	if !self.Alive() {
		t.Errorf("%+v: this very process is not alive", self)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if again := (Process{PID: self.PID, Start: self.Start + 1}); again.Alive() {
		t.Error("a process that had this number before is taken for this one")
	}
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Skip(err)
	}
	if gone := (Process{PID: c.Process.Pid}); gone.Alive() {
		t.Error("a process that has ended is alive")
	}
	if (Process{}).Alive() {
		t.Error("no process is alive")
	}
}
