package supervise

import (
	"errors"
	"fmt"
	"time"

	"tri/lib/agent"
	"tri/lib/disk"
	"tri/lib/run"
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
	h, err := disk.Open(dir)
	if err != nil {
		return s, err
	}
	lock, err := h.TryLock("lock")
	if errors.Is(err, disk.ErrLocked) {
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

func bury(h *disk.Home, s *run.State, now time.Time) {
	seen := "it was not seen to do anything"
	if s.LastHeartbeat != nil {
		seen = "last sign of life " + *s.LastHeartbeat
	}
	if s.Doing != "" {
		seen += ", at " + s.Doing
	}
	s.Status, s.PID = run.Crashed, nil
	s.EndedAt = new(stamp(now))
	s.Failure = &run.Failure{
		Kind:             agent.Killed,
		Message:          fmt.Sprintf("process %d, which supervised it, ended without a word; %s", s.Wrapper.PID, seen),
		LastSafeArtifact: artifact(h),
	}
}
