// Package longrun runs long investigations in terminals that survive a logout and the
// caller's death. Each has a folder escalations/<run id>, a runner that holds its lock,
// and a terminal that people can look into: a tmux session, or without tmux a
// pseudo-terminal of our own.
//
// No text of a chat is in an argument, an environment or a name here: a run is
// named by a hash of its thread and attempt, which is also the session's name.
// What is to be found out lies in request.json.
package longrun

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// dispatcher is By of runs that tri-dispatch waits for.
const dispatcher = "tri-dispatch"

const look = 5 * time.Second

// maxStarts is how often a run is started that dies without a word each time.
const maxStarts = 3

// Desk starts long runs of a home and looks after them.
type Desk struct {
	Home   *durable.Home
	Config *config.Config
	// Program is tri-escalate; "" looks beside this program, then on PATH.
	Program string
	// Look is how often a run is looked at whose end nobody tells; 0 is 5 s.
	Look time.Duration
	Now  func() time.Time
}

// Request is request.json: what a long run is to find out. Never rewritten.
type Request struct {
	RunID  string         `json:"run_id"`
	By     string         `json:"by"`
	At     string         `json:"at"` // RFC 3339
	Thread *thread.Thread `json:"thread"`
	Hints  []thread.Hint  `json:"hints"`
}

// place is where.json: where a run can be watched.
type place struct {
	Terminal string `json:"terminal"` // config.Tmux or config.Pty
	Session  string `json:"session"`  // of tmux
	Server   string `json:"server"`   // of tmux: its socket's name
	At       string `json:"at"`       // of the latest start
}

// worker is runner.json: who does a run, or did, and the how-manieth it is.
type worker struct {
	run.Process
	Starts int `json:"starts"`
}

var isID = regexp.MustCompile(`^[a-z]-[0-9a-f]{24}$`)

func folder(id string) string { return "escalations/" + id }

// Attempt is the id of the n-th long run that people start for a thread.
func Attempt(key string, n int) string { return run.ID(run.Escalate, key, 0, n) }

// Start is dispatch.Long: it has a run of the pipeline begin, unless it has.
func (d *Desk) Start(t *thread.Thread, hints []thread.Hint, runID string) (thread.Escalation, error) {
	return d.Begin(Request{RunID: runID, By: dispatcher, Thread: t, Hints: hints})
}

// Begin has a run begin. One that has begun or ended already stays as it is; one
// whose runner is gone is started again, a few times.
func (d *Desk) Begin(r Request) (thread.Escalation, error) {
	if !isID.MatchString(r.RunID) {
		return thread.Escalation{}, sysexit.With(sysexit.Software, fmt.Errorf("start long run: %q is no run id", r.RunID))
	}
	lock, err := d.lock(folder(r.RunID) + "/start")
	if err != nil {
		return thread.Escalation{}, err
	}
	p, err := d.begin(r)
	at := thread.Escalation{RunID: r.RunID, TranscriptPath: d.transcript(r.RunID)}
	if p.Terminal == config.Tmux {
		at.TmuxSession = &p.Session
	}
	return at, errors.Join(err, lock.Unlock())
}

// lock waits for a lock that is held for moments only.
func (d *Desk) lock(name string) (*durable.Lock, error) {
	for end := time.Now().Add(2 * patience); ; time.Sleep(20 * time.Millisecond) {
		lock, err := d.Home.TryLock(name)
		if !errors.Is(err, durable.ErrLocked) || time.Now().After(end) {
			return lock, err
		}
	}
}

func (d *Desk) begin(r Request) (place, error) {
	id := r.RunID
	p, err := d.place(id)
	if err != nil {
		return p, err
	}
	if over, err := run.LoadExit(d.Home, id); err != nil || over != nil {
		return p, err
	}
	if running, err := d.running(id); err != nil || running {
		return p, err
	}
	last, err := d.worker(id)
	if err != nil {
		return p, err
	}
	if last.Starts >= maxStarts {
		return p, d.bury(id)
	}
	if err := errors.Join(d.ask(r), d.reserve(&r)); err != nil {
		return p, err
	}
	p.At = text.Timestamp(d.Now())
	return d.spawn(id, p, last)
}

// ask writes the request down, once.
func (d *Desk) ask(r Request) error {
	name := folder(r.RunID) + "/request.json"
	if d.Home.Exists(name) {
		return nil
	}
	t := *r.Thread
	if t.Codebase != "" {
		abs, err := filepath.Abs(t.Codebase)
		if err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("find codebase: %w", err))
		}
		t.Codebase = abs
	}
	r.Thread, r.At = &t, text.Timestamp(d.Now())
	return d.write(name, r)
}

func (d *Desk) request(id string) (*Request, error) {
	r := new(Request)
	if err := d.read(folder(id)+"/request.json", r); err != nil {
		return nil, err
	}
	if r.RunID != id || r.Thread == nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("long run %s: request.json is of %q", id, r.RunID))
	}
	return r, nil
}

// place is the zero place where a run was never started.
func (d *Desk) place(id string) (p place, err error) {
	if err = d.read(folder(id)+"/where.json", &p); errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	return p, err
}

func (d *Desk) read(name string, to any) error {
	b, err := d.Home.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

func (d *Desk) write(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return d.Home.Replace(name, append(b, '\n'))
}

// running reports whether somebody holds a run's lock: its runner, or an agent
// that outlived it.
func (d *Desk) running(id string) (bool, error) {
	lock, err := d.Home.TryLock(folder(id) + "/lock")
	if errors.Is(err, durable.ErrLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, lock.Unlock()
}

// transcript is where a run's words are kept: a name of the home, or a whole path
// where the configuration names a folder.
func (d *Desk) transcript(id string) string {
	if dir := d.Config.Escalation.TranscriptDir; dir != "" {
		return filepath.Join(dir, id+".log")
	}
	return folder(id) + "/transcript.log"
}

// transcriptPath is the whole path of a transcript.
func (d *Desk) transcriptPath(id string) string {
	if name := d.transcript(id); filepath.IsAbs(name) {
		return name
	}
	return d.Home.Path(d.transcript(id))
}

// server is the name of the tmux server of a home: one that no other home, and no
// session of the person's own, shares.
func (d *Desk) server() string {
	sum := sha256.Sum256([]byte(d.Home.Dir()))
	return "tri-" + hex.EncodeToString(sum[:8])
}

func (d *Desk) program() (string, error) {
	const name = "tri-escalate"
	if d.Program != "" {
		return d.Program, nil
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", sysexit.Hint(sysexit.With(sysexit.Unavailable, err), "install "+name+" beside the other programs")
	}
	return filepath.Abs(path)
}
