// Package longrun has long investigations done detached: neither the end of the
// process that asked for one nor a logout reaches it. Each is a run whose owner, the
// runner, is started in a tmux session that people can attach to; without tmux it
// runs in the background, and its transcript can be followed.
//
// No text of a chat is in an argument, an environment or a name here: a run is
// named by a hash of its thread and attempt, which is also the session's name. The
// question is in request.json.
package longrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

const look = 5 * time.Second

// maxStarts is how often a run is started that dies without a word each time.
const maxStarts = 3

// Manager starts long runs of a home and looks after them.
type Manager struct {
	Home   *durable.Home
	Config *config.Config
	// Program is tri-escalate; "" looks beside this program, then on PATH.
	Program string
	// Look is how often a run is looked at while no event tells of its end; 0 is 5 s.
	Look time.Duration
	Now  func() time.Time
}

// Request is request.json: what a long run is to find out. Never rewritten.
type Request struct {
	run.Order
	Thread *thread.Thread `json:"thread"`
	Hints  []thread.Hint  `json:"hints"`
}

// Attempt is the id of the n-th long run that people start for a thread.
func Attempt(key string, n int) string { return run.ID(run.Escalate, key, 0, n) }

// Start is dispatch.Long: it has a run of the pipeline begin, unless it has.
func (m *Manager) Start(t *thread.Thread, hints []thread.Hint, runID string) (thread.Escalation, error) {
	return m.Begin(Request{Order: run.Order{RunID: runID, By: run.Dispatcher}, Thread: t, Hints: hints})
}

// Begin has a run begin. One that has begun or ended already is left alone; one
// whose runner is gone is started again, a few times.
func (m *Manager) Begin(r Request) (thread.Escalation, error) {
	if !run.IsID(r.RunID) {
		return thread.Escalation{}, sysexit.With(sysexit.Software, fmt.Errorf("start long run: %q is no run id", r.RunID))
	}
	lock, err := m.lock(m.folder(r.RunID) + "/start")
	if err != nil {
		return thread.Escalation{}, err
	}
	err = m.begin(r)
	at := thread.Escalation{RunID: r.RunID, TranscriptPath: m.transcript(r.RunID)}
	if m.inTmux(r.RunID) {
		at.TmuxSession = &r.RunID
	}
	return at, errors.Join(err, lock.Unlock())
}

func (m *Manager) begin(r Request) error {
	id := r.RunID
	if over, err := run.Load(m.Home, id); err != nil || over != nil {
		return err
	}
	if running, err := run.Held(m.Home, id); err != nil || running {
		return err
	}
	last, err := m.state(id)
	if err != nil {
		return err
	}
	if last.Starts >= maxStarts {
		return m.bury(id)
	}
	if err := errors.Join(m.ask(r), m.reserve(&r)); err != nil {
		return err
	}
	return m.spawn(id, last)
}

// inTmux reports whether a run's latest runner was started in a tmux session.
func (m *Manager) inTmux(id string) bool {
	s, err := m.state(id)
	if err == nil && s.Terminal == "" { // of a runner of the first layout
		where, _ := m.Home.ReadFile(m.folder(id) + "/where.json")
		return bytes.Contains(where, []byte(`"terminal": "tmux"`))
	}
	return s.Terminal == config.Tmux
}

// folder is a run's folder in the home.
func (m *Manager) folder(id string) string { return run.Folder(m.Home, id) }

// dir is its whole path.
func (m *Manager) dir(id string) string { return m.Home.Path(m.folder(id)) }

// lock takes a lock that is held for moments only.
func (m *Manager) lock(name string) (*durable.Lock, error) {
	return run.Lock(context.Background(), m.Home, name, 2*patience)
}

// state is the zero State before the first runner has come up.
func (m *Manager) state(id string) (run.State, error) {
	if !m.Home.Exists(m.folder(id) + "/state.json") {
		return run.State{}, nil
	}
	return run.LoadState(m.dir(id))
}

// ask writes the request down, once.
func (m *Manager) ask(r Request) error {
	name := m.folder(r.RunID) + "/request.json"
	if m.Home.Exists(name) {
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
	r.Thread, r.At = &t, text.Timestamp(m.Now())
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return m.Home.Replace(name, append(b, '\n'))
}

func (m *Manager) request(id string) (*Request, error) {
	name := m.folder(id) + "/request.json"
	b, err := m.Home.ReadFile(name)
	r := new(Request)
	if err == nil {
		err = json.Unmarshal(b, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if r.RunID != id || r.Thread == nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("long run %s: request.json is of %q", id, r.RunID))
	}
	return r, nil
}

// Runs that people start are paid for like those of the pipeline: reserved before
// they begin and settled when they have ended. A person's order is not held back by
// a limit, but it counts, so that tri-dispatch starts less beside it. Tri-dispatch
// pays for what it asked for itself.

func (m *Manager) paid(r *Request) budget.Run {
	a := &m.Config.Investigator
	return budget.Run{
		ID: r.RunID, Key: r.Thread.Key, Person: r.By, Work: budget.Escalate, Ordered: true,
		Agent: a.Agent, USD: a.MaxBudgetUSD, Tokens: a.MaxTokens,
	}
}

// reserve sets aside what a run may take, durably, before it begins.
func (m *Manager) reserve(r *Request) error {
	if r.By == run.Dispatcher {
		return nil
	}
	return run.Reserve(m.Home, m.Config.Budget, m.paid(r), m.Now())
}

// settle accounts for a run that has ended, where a person asked for it.
func (m *Manager) settle(res *run.Result) error {
	if res.By == run.Dispatcher {
		return nil
	}
	return run.Settle(m.Home, m.Config.Budget, res.RunID, res.Usage, m.Now())
}

// settleLost accounts for the runs of people that were killed between their end and
// its account. It reports whether the budget has room for r.
func (m *Manager) settleLost(r *Request) (fits bool, err error) {
	book, err := budget.Open(m.Home, m.Config.Budget)
	if err != nil {
		return false, err
	}
	lost := slices.DeleteFunc(book.Unsettled(budget.Escalate), func(id string) bool {
		o, _, err := run.Asked(m.Home, id)
		return err != nil || o == nil || o.By == run.Dispatcher
	})
	err = run.SettleLost(m.Home, book, lost, m.Now())
	p := m.paid(r)
	p.Ordered = false
	return book.Reserved(p.ID) || book.Fits(p, m.Now()), errors.Join(err, book.Close())
}

// transcript is where a run's words are kept: a name of the home, or a whole path
// where the configuration names a folder.
func (m *Manager) transcript(id string) string {
	if dir := m.Config.Escalation.TranscriptDir; dir != "" {
		return filepath.Join(dir, id+".log")
	}
	return m.folder(id) + "/transcript.log"
}

// transcriptPath is the whole path of a transcript.
func (m *Manager) transcriptPath(id string) string {
	if name := m.transcript(id); filepath.IsAbs(name) {
		return name
	}
	return m.Home.Path(m.transcript(id))
}

// server is the name of the tmux server of a home, which is no other home's and not
// the person's own.
func (m *Manager) server() string {
	sum := sha256.Sum256([]byte(m.Home.Dir()))
	return "tri-" + hex.EncodeToString(sum[:8])
}

func (m *Manager) program() (string, error) {
	const name = "tri-escalate"
	if m.Program != "" {
		return m.Program, nil
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
