// Package run is one supervised execution of an agent: a folder that its wrapper locks
// while it lives, and a result published by rename. After a crash process ids are not
// consulted: lock held, wait; result there, take it; neither, run again.
package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// Kinds of run.
const (
	Investigate = "investigate"
	Validate    = "validate"
)

// Escalate stands in the ID of an investigation that takes up where a shorter one
// gave up.
const Escalate = "escalate"

// How a run ended.
const (
	Done    = "done"
	Failed  = "failed"
	Nothing = "nothing" // the agent looked and found nothing to say
)

// Result is runs/<id>/result.json.
type Result struct {
	RunID     string          `json:"run_id"`
	Kind      string          `json:"kind"`
	Key       string          `json:"key"` // thread
	Cycle     int             `json:"cycle"`
	Round     int             `json:"round"`
	Agent     string          `json:"agent"`
	StartedAt string          `json:"started_at"` // RFC 3339
	EndedAt   string          `json:"ended_at"`
	Status    string          `json:"status"`
	Error     string          `json:"error,omitempty"`
	Failure   *Failure        `json:"failure,omitempty"` // of one that failed
	Model     string          `json:"model,omitempty"`
	SessionID string          `json:"session_id,omitempty"`
	Usage     *draft.Usage    `json:"usage,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"` // a return or a verdict
}

// ID names the run of one round: the same at every try, so that a restart finds
// what a killed run left.
func ID(kind, key string, cycle, round int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", kind, key, cycle, round))
	return kind[:1] + "-" + hex.EncodeToString(sum[:12])
}

// Run is a run under way in this process.
type Run struct {
	ID        string
	SessionID string // a fresh UUID: agent programs refuse to use one twice
	home      *durable.Home
	lock      *durable.Lock
}

// Begin takes the run's lock. It fails with disk.ErrLocked while another process,
// or an agent that outlived its wrapper, still holds it.
func Begin(h *durable.Home, id string) (*Run, error) {
	lock, err := h.TryLock("runs/" + id + "/lock")
	if err != nil {
		return nil, err
	}
	return &Run{ID: id, SessionID: UUID(), home: h, lock: lock}, nil
}

// Dir is the run's folder.
func (r *Run) Dir() string { return r.home.Path("runs/" + r.ID) }

// Hold is the locked file, for the agent's processes to inherit.
func (r *Run) Hold() *os.File { return r.lock.File() }

// Publish makes the result durable. It is written once.
func (r *Run) Publish(res Result) error {
	b, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return fmt.Errorf("publish run %s: %w", r.ID, err)
	}
	return r.home.Replace("runs/"+r.ID+"/result.json", append(b, '\n'))
}

// End gives the lock back.
func (r *Run) End() error { return r.lock.Unlock() }

// Load reads a run's result; nil when there is none yet.
func Load(h *durable.Home, id string) (*Result, error) {
	b, err := h.ReadFile("runs/" + id + "/result.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read run %s: %w", id, err))
	}
	res := new(Result)
	if err := json.Unmarshal(b, res); err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	return res, nil
}

// UUID is a random UUID (RFC 9562, version 4).
func UUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
