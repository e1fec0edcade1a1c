package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// ExpiredNote is the reason of a withdrawal after too long a wait. A person can undo that
// withdrawal.
const ExpiredNote = "nobody decided in time"

// WaitingName is the file of Waiting below the home.
const WaitingName = "waiting.json"

// maxStep is the most that counts between two ticks: neither downtime nor a changed clock adds
// more to a draft's waiting time.
const maxStep = time.Hour

// saveEvery bounds how much of the count is lost when the process is killed.
const saveEvery = time.Minute

// Waiting counts how long drafts have waited, by the monotonic clock within a process and by steps
// of at most maxStep otherwise. It errs only towards a longer wait: a clock that jumps and
// returns, a suspended machine and a lost file do not void a draft.
type Waiting struct {
	home   *durable.Home
	last   time.Time
	saved  time.Time
	waited map[string]time.Duration // by ID
}

// waitingFile is the file format of Waiting.
type waitingFile struct {
	At     time.Time        `json:"at"`
	Waited map[string]int64 `json:"waited_s"`
}

// OpenWaiting reads the count of a home. An unreadable file counts as none: every draft starts its
// wait anew.
func OpenWaiting(h *durable.Home) (*Waiting, error) {
	w := &Waiting{home: h, waited: map[string]time.Duration{}}
	b, err := h.ReadSealed(WaitingName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrChanged) {
		return w, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", WaitingName, err))
	}
	var f waitingFile
	if json.Unmarshal(b, &f) != nil {
		return w, nil
	}
	w.last, w.saved = f.At, f.At
	for id, s := range f.Waited {
		w.waited[id] = max(0, time.Duration(s)*time.Second)
	}
	return w, nil
}

// Tick adds the time since the last tick to the drafts ids, and drops all others.
func (w *Waiting) Tick(now time.Time, ids []string) error {
	var step time.Duration
	if !w.last.IsZero() {
		step = min(max(now.Sub(w.last), 0), maxStep) // monotonic if both times are from this process
	}
	w.last = now
	next := make(map[string]time.Duration, len(ids))
	for _, id := range ids {
		next[id] = 0
		if was, known := w.waited[id]; known {
			next[id] = was + step
		}
	}
	changed := len(next) != len(w.waited)
	w.waited = next
	if since := now.Sub(w.saved); len(next) == 0 && !changed || !changed && since >= 0 && since < saveEvery {
		return nil
	}
	return w.save(now)
}

func (w *Waiting) save(now time.Time) error {
	f := waitingFile{At: now.UTC(), Waited: make(map[string]int64, len(w.waited))}
	for id, d := range w.waited {
		f.Waited[id] = int64(d / time.Second)
	}
	b, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write %s: %w", WaitingName, err)
	}
	w.saved = now
	return w.home.ReplaceSealed(WaitingName, b)
}

// Of returns how long a draft has waited.
func (w *Waiting) Of(id string) time.Duration { return w.waited[id] }
