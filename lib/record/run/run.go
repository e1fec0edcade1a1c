// Package run is one supervised execution of an agent, of any kind: a folder runs/<id> of a home
// (tri's home, or .agents of a checkout). One process owns it by its lock, keeps the state in it,
// and publishes the result by rename. Recovery from a crash does not rely on process ids: if the
// lock is held, wait; if there is a result, take it; otherwise run again.
//
//	runs/<id>/lock           held by the owner, and by the agent that it started
//	         /start          held while an owner is being started
//	         /request.json   who asked for what and when; written once (box: meta.yaml)
//	         /state.json     State; written by the owner alone, replaced whole
//	         /cancel.json    a request that the run ends for good
//	         /raw/stream.jsonl what the agent did, an event a line
//	         /words.ndjson   Word: what is said to the run while it works; its requester appends
//	         /heard.ndjson   Heard: what became of each word; written by the owner alone
//	         /checkpoint.json Checkpoint: what was done so far; written by the owner alone
//	         /result.json    Result; published once, when the run has ended
package run

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// Kinds of run. Those of a box are in lib/flow/box.
const (
	Investigate = "investigate"
	Validate    = "validate"
	// Escalate is an investigation that continues where a shorter one gave up. Its results have
	// the kind Investigate.
	Escalate = "escalate"
	// Panel is one question to a persona.
	Panel = "panel"
)

// Dispatcher is the By of runs that tri-dispatch requests.
const Dispatcher = "tri-dispatch"

// Result is runs/<id>/result.json.
type Result struct {
	RunID     string          `json:"run_id"`
	Kind      string          `json:"kind"`
	Key       string          `json:"key"`   // thread
	Cycle     int             `json:"cycle"` // of the thread; 0: requested by a person
	Round     int             `json:"round"`
	Agent     string          `json:"agent"`
	By        string          `json:"by,omitempty"` // of a long run: the requester
	StartedAt string          `json:"started_at"`   // RFC 3339
	EndedAt   string          `json:"ended_at"`
	Status    Phase           `json:"status"` // Done, Nothing or Failed
	Error     string          `json:"error,omitempty"`
	Failure   *Failure        `json:"failure,omitempty"` // of a failed run
	Model     string          `json:"model,omitempty"`
	SessionID string          `json:"session_id,omitempty"`
	Starts    int             `json:"starts,omitempty"` // of a long run: 1, or more after crashes
	Usage     *draft.Usage    `json:"usage,omitempty"`
	Heard     []string        `json:"heard,omitempty"` // ids of the words that it answers; set by Publish
	Value     json.RawMessage `json:"value,omitempty"` // a return or a verdict
	// Files are the CRC-32C of the run's other files, by name; set by Publish.
	Files map[string]string `json:"files,omitempty"`
}

// ID returns the id of the run of one round: the same at every try, so that a restart finds the
// files of a killed run.
func ID(kind, key string, cycle, round int) string {
	return kind[:1] + "-" + text.SHA256(fmt.Sprintf("%s\x00%s\x00%d\x00%d", kind, key, cycle, round))[:24]
}

var isID = lazyregexp.New(`^[a-z]-[0-9a-f]{24}$`)

// IsID reports whether id has the form that ID returns.
func IsID(id string) bool { return isID.MatchString(id) }

// Run is a run that this process owns.
type Run struct {
	ID        string
	SessionID string // a new UUID: agent programs refuse one that was used before
	home      *durable.Home
	folder    string
	lock      *durable.Lock
}

// Begin takes the run's lock. It fails with durable.ErrLocked while another process, or an agent
// that outlived its owner, holds it.
func Begin(h *durable.Home, id string) (*Run, error) {
	folder := Folder(h, id)
	lock, err := h.TryLock(folder + "/lock")
	if err != nil {
		return nil, err
	}
	return &Run{ID: id, SessionID: UUID(), home: h, folder: folder, lock: lock}, nil
}

// Lock takes a lock that others hold only briefly, for example to inspect it. It gives up with
// durable.ErrLocked after patience.
func Lock(ctx context.Context, h *durable.Home, name string, patience time.Duration) (*durable.Lock, error) {
	for deadline := time.Now().Add(patience); ; {
		lock, err := h.TryLock(name)
		if !errors.Is(err, durable.ErrLocked) || time.Now().After(deadline) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Held reports whether a process holds the run's lock: its owner, or an agent that outlived it.
func Held(h *durable.Home, id string) (bool, error) {
	lock, err := h.TryLock(Folder(h, id) + "/lock")
	if errors.Is(err, durable.ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Unlock()
}

// Dir returns the run's folder.
func (r *Run) Dir() string { return r.home.Path(r.folder) }

// LockFile returns the locked file, to be inherited by the agent's processes.
func (r *Run) LockFile() *os.File { return r.lock.File() }

// Publish closes the state if it is still open, and makes the result durable, with the words that
// it answers. It is written once.
func (r *Run) Publish(res Result) error {
	heard, err := Hearing(r.Dir())
	if err != nil {
		return err
	}
	res.Heard = Answered(heard)
	if s, err := LoadState(r.Dir()); err == nil && !s.Over() {
		s.Status, s.Failure, s.EndedAt, s.PID = Complete, res.Failure, &res.EndedAt, nil
		switch {
		case res.Status == Failed && IsCancelled(r.home, r.ID):
			s.Status = Abandoned
		case res.Status == Failed:
			s.Status = Crashed
		}
		if err := s.Save(r.home, r.folder); err != nil {
			return err
		}
	}
	res.Files = fileSums(r.home, r.folder)
	b, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return fmt.Errorf("publish run %s: %w", res.RunID, err)
	}
	return r.home.ReplaceSealed(r.folder+"/result.json", b)
}

// End releases the lock.
func (r *Run) End() error { return r.lock.Unlock() }

// ResultFile returns the path of a run's result, which is written once, by rename.
func ResultFile(h *durable.Home, id string) string { return Folder(h, id) + "/result.json" }

// Load reads a run's result, nil if there is none yet.
func Load(h *durable.Home, id string) (*Result, error) {
	folder := Folder(h, id)
	res, err := loadResult(h, folder+"/result.json")
	if err == nil && res == nil && folder != "runs/"+id {
		res, err = oldResult(h, id)
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read run %s: %w", id, err))
	}
	return res, nil
}

func loadResult(h *durable.Home, name string) (*Result, error) {
	b, err := h.ReadSealed(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	res := new(Result)
	if err == nil {
		err = json.Unmarshal(b, res)
	}
	if err != nil {
		return nil, err
	}
	return res, nil
}

// Order is the part of request.json that says who requested a run, and when.
type Order struct {
	RunID  string `json:"run_id"`
	By     string `json:"by"`
	At     string `json:"at"`               // RFC 3339
	Parent string `json:"parent,omitempty"` // the run that asked for this one
}

// Asked reads who requested a run, and of which thread. It returns nil if the run has no
// request.json: it then belongs to the dispatcher.
func Asked(h *durable.Home, id string) (o *Order, key string, err error) {
	b, err := h.ReadSealed(Folder(h, id) + "/request.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	var r struct {
		Order
		Thread struct{ Key string }
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return nil, "", sysexit.With(sysexit.IO, fmt.Errorf("read request of run %s: %w", id, err))
	}
	return &r.Order, r.Thread.Key, nil
}

// Cancel requests the permanent end of a run: its current or next owner ends it.
func Cancel(h *durable.Home, id, by string, now time.Time) error {
	b, err := json.Marshal(map[string]string{"by": by, "at": text.Timestamp(now)})
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", id, err)
	}
	return h.ReplaceSealed(Folder(h, id)+"/cancel.json", b)
}

// IsCancelled reports whether the end of a run was requested.
func IsCancelled(h *durable.Home, id string) bool {
	return h.Exists(Folder(h, id)+"/cancel.json") || h.Exists(oldHome+"/"+id+"/killed")
}

// UUID returns a random UUID (RFC 9562, version 4).
func UUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Hash returns a hash of a run's permissions. On resume it is computed again and must be equal to
// the one at the run's start.
func Hash(rights any) string {
	b, err := json.Marshal(rights)
	if err != nil {
		panic(fmt.Sprintf("hash of what a run is allowed: %v", err)) // only strings, numbers, booleans
	}
	return text.SHA256(b)[:16]
}
