package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/sysexit"
)

// onlyOne are the programs beside the stages that one home has once, and what each
// holds.
var onlyOne = []struct {
	args []string
	lock string
}{
	{[]string{"tri-approve", "web"}, "locks/web"},
	{[]string{"tri-approve", "chat"}, "locks/chat"},
	{[]string{"tri-supervise", "run"}, "locks/supervise"},
}

// twice starts each of them a second time: it must refuse, and say why.
func twice(o options) error {
	o.faces = true
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	for _, p := range onlyOne {
		if err := w.twice(p.args, p.lock); err != nil {
			return fmt.Errorf("%s twice: %w", strings.Join(p.args, " "), err)
		}
	}
	fmt.Printf("stop: %d other programs started twice, each refused\n", len(onlyOne))
	return nil
}

func (w *world) twice(args []string, lock string) error {
	first, err := begin(w.command(args...))
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(w.wait); !isHeld(w.path(lock)); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) || first.over() {
			first.kill9()
			return fmt.Errorf("the first has not taken %s: %s", lock, first.word())
		}
	}
	status, said, err := w.brief(args...)
	if err == nil && (status != sysexit.TempFail || said == "") {
		err = fmt.Errorf("status %d: %s", status, said)
	}
	if first.over() {
		err = errors.Join(err, fmt.Errorf("the first has ended: %s", first.word()))
	}
	first.signal(syscall.SIGTERM)
	if !first.endsWithin(w.wait) {
		first.kill9()
		return errors.Join(err, errors.New("the first does not end when it is asked to"))
	}
	return err
}

// isHeld reports whether somebody holds a lock.
func isHeld(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
