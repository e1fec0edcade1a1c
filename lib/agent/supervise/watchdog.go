package supervise

import (
	"errors"
	"fmt"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// Watchdog looks at a run's folder and writes down the end of one whose wrapper
// is gone without having done so: state.json then says CRASHED, what was seen,
// and what there is to go on with. It gives the state as it now stands. A run
// whose wrapper lives, or whose lock (the file `lock`) is held by a process that
// outlived it, is left alone.
func Watchdog(dir string, now time.Time) (run.State, error) {
	s, err := Load(dir)
	if err != nil || s.Over() || s.Wrapper.Alive() {
		return s, err
	}
	h, err := durable.Open(dir)
	if err != nil {
		return s, err
	}
	lock, err := h.TryLock("lock")
	if errors.Is(err, durable.ErrLocked) {
		return s, h.Close()
	}
	if err != nil {
		return s, errors.Join(err, h.Close())
	}
	s, err = load(h) // under the lock nobody else writes it
	if err == nil && !s.Over() && !s.Wrapper.Alive() {
		bury(h, &s, now)
		err = save(h, &s)
	}
	return s, errors.Join(err, lock.Unlock(), h.Close())
}

// Unwatched says that nobody watches over a run because its supervisor has been
// stopped, and what can be done; it is "" while that is at work or gone. No limit is
// held then and no end seen, and nobody may take its place: it can go on at any
// instant.
func Unwatched(supervisor run.Process) string {
	if !supervisor.Stopped() {
		return ""
	}
	pid := supervisor.PID
	return fmt.Sprintf("nobody watches over it: process %d, which supervises it, is stopped; kill -CONT %d has it go on, kill -9 %d ends it", pid, pid, pid)
}

func bury(h *durable.Home, s *run.State, now time.Time) {
	seen := "it was not seen to do anything"
	if s.LastHeartbeat != nil {
		seen = "last sign of life " + *s.LastHeartbeat
	}
	if s.Doing != "" {
		seen += ", at " + s.Doing
	}
	s.Status, s.PID = run.Crashed, nil
	s.EndedAt = new(text.Timestamp(now))
	s.Failure = &run.Failure{
		Kind:             agent.Killed,
		Message:          fmt.Sprintf("process %d, which supervised it, ended without a word; %s", s.Wrapper.PID, seen),
		LastSafeArtifact: artifact(h),
	}
}
