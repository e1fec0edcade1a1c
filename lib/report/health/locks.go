package health

import (
	"errors"

	"tri/lib/base/durable"
	"tri/lib/record/run"
)

// holder returns the process that holds a lock.
func (x *checker) holder(lock string) (pid int, held bool, err error) {
	pid, held, err = x.home.Holder(lock)
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, x.probe(lock), nil
	}
	return pid, held, err
}

// probe tries to take a lock, on systems without a table of locks.
func (x *checker) probe(lock string) (held bool) {
	l, err := x.home.TryLock(lock)
	if err != nil {
		return errors.Is(err, durable.ErrLocked)
	}
	return l.Unlock() != nil
}

// stopped reports whether a process was stopped: ^Z, SIGSTOP, a debugger.
func stopped(pid int) bool { return run.Process{PID: pid}.Stopped() }
