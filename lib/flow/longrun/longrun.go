// Package longrun has long investigations done detached: neither the end of the process that asked for one
// nor a logout reaches it. Each is a run owned by a process of its own, the runner. The runner is started
// in a tmux session that people can attach to; without tmux it runs in the background, and its transcript
// can be followed.
//
// No chat text is in an argument, an environment variable or a name here: a run is named by a hash of its
// thread and attempt, which is also the session's name. The question is in request.json.
package longrun

import (
	"bytes"
	"context"
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

// maxStarts is how many times a run is started if its runner dies each time without a result.
const maxStarts = 3

// Manager starts and tracks the long runs of a home.
type Manager struct {
	Home   *durable.Home
	Config *config.Config
	// Program is the path of tri-escalate. "" means beside this program, then on PATH.
	Program string
	// Look is the interval at which a run is checked if no event reports its end; 0 means 5 s.
	Look time.Duration
	Now  func() time.Time
}

// Request is request.json: the task of a long run. It is never rewritten.
type Request struct {
	run.Order
	Thread *thread.Thread `json:"thread"`
	Hints  []thread.Hint  `json:"hints"`
}

// attempt returns the id of the n-th long run that people start for a thread.
func attempt(key string, n int) string { return run.ID(run.Escalate, key, 0, n) }

// Start implements dispatch.Long: it starts a run of the pipeline, unless it has been started.
func (m *Manager) Start(t *thread.Thread, hints []thread.Hint, runID string) (thread.Escalation, error) {
	return m.Begin(Request{Order: run.Order{RunID: runID, By: run.Dispatcher}, Thread: t, Hints: hints})
}

// Begin starts a run. A run that is running or has ended is left alone; a run whose runner is gone is
// started again, at most maxStarts times.
func (m *Manager) Begin(r Request) (thread.Escalation, error) {
	if !run.IsID(r.RunID) {
		return thread.Escalation{}, sysexit.With(sysexit.Software,
			fmt.Errorf("start long run: %q is not a run id", r.RunID))
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
		return m.publishFailed(id, nil)
	}
	if err := errors.Join(m.ask(r), m.reserve(&r)); err != nil {
		return err
	}
	return m.spawn(id, last)
}

// inTmux reports whether a run's latest runner was started in a tmux session.
func (m *Manager) inTmux(id string) bool {
	s, err := m.state(id)
	if err == nil && s.Terminal == "" { // of a runner of the first version
		where, _ := m.Home.ReadFile(m.folder(id) + "/where.json")
		return bytes.Contains(where, []byte(`"terminal": "tmux"`))
	}
	return s.Terminal == config.Tmux
}

// folder returns a run's folder, relative to the home.
func (m *Manager) folder(id string) string { return run.Folder(m.Home, id) }

// dir returns the full path of a run's folder.
func (m *Manager) dir(id string) string { return m.Home.Path(m.folder(id)) }

// lock takes a lock that is only ever held briefly.
func (m *Manager) lock(name string) (*durable.Lock, error) {
	return run.Lock(context.Background(), m.Home, name, 2*patience)
}

// state returns the run's state, the zero State before the first runner has started.
func (m *Manager) state(id string) (run.State, error) {
	if !m.Home.Exists(m.folder(id) + "/state.json") {
		return run.State{}, nil
	}
	return run.LoadState(m.dir(id))
}

// ask writes the request, once.
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
	return m.Home.ReplaceSealed(name, b)
}

func (m *Manager) request(id string) (*Request, error) {
	name := m.folder(id) + "/request.json"
	b, err := m.Home.ReadSealed(name)
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

// paid returns a run started by a person as the budget counts it. It is reserved before it begins and
// settled when it has ended. No limit stops a person's order, but it counts, so that tri-dispatch starts
// less. Tri-dispatch pays for its own runs itself.

func (m *Manager) budgetRun(r *Request) budget.Run {
	a := &m.Config.Investigator
	return budget.Run{
		ID: r.RunID, Key: r.Thread.Key, Person: r.By, Work: budget.Escalate, Ordered: true,
		Agent: a.Agent, USD: a.MaxBudgetUSD, Tokens: a.MaxTokens,
	}
}

// reserve durably reserves the maximum cost of a run before it begins.
func (m *Manager) reserve(r *Request) error {
	if r.By == run.Dispatcher {
		return nil
	}
	return run.Reserve(m.Home, m.Config.Budget, m.budgetRun(r), m.Now())
}

// settle settles the cost of an ended run, if a person requested it.
func (m *Manager) settle(res *run.Result) error {
	if res.By == run.Dispatcher {
		return nil
	}
	return run.Settle(m.Home, m.Config.Budget, res.RunID, res.Usage, m.Now())
}

// settleEnded settles people's runs that ended but were not settled because a process was killed. It
// reports whether the budget has room for r.
func (m *Manager) settleEnded(r *Request) (fits bool, err error) {
	book, err := budget.Open(m.Home, m.Config.Budget)
	if err != nil {
		return false, err
	}
	lost := slices.DeleteFunc(book.Unsettled(budget.Escalate), func(id string) bool {
		o, _, err := run.Asked(m.Home, id)
		return err != nil || o == nil || o.By == run.Dispatcher
	})
	err = run.SettleLost(m.Home, book, lost, m.Now())
	p := m.budgetRun(r)
	p.Ordered = false
	return book.Reserved(p.ID) || book.Fits(p, m.Now()), errors.Join(err, book.Close())
}

// transcript returns where a run's transcript is kept: a name in the home, or a full path if the
// configuration names a folder.
func (m *Manager) transcript(id string) string {
	if dir := m.Config.Escalation.TranscriptDir; dir != "" {
		return filepath.Join(dir, id+".log")
	}
	return m.folder(id) + "/transcript.log"
}

// transcriptPath returns the full path of a transcript.
func (m *Manager) transcriptPath(id string) string {
	if name := m.transcript(id); filepath.IsAbs(name) {
		return name
	}
	return m.Home.Path(m.transcript(id))
}

// server returns the name of the home's tmux server, distinct from other homes' and from the person's own.
func (m *Manager) server() string {
	return "tri-" + text.SHA256(m.Home.Dir())[:16]
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
		return "", sysexit.Hint(sysexit.With(sysexit.Unavailable, err),
			"install "+name+" beside the other programs")
	}
	return filepath.Abs(path)
}
