// Package supervise starts the stages of a pipeline in order, restarts what ends, and stops them together.
// It is small, because each stage continues by itself from the end of its own output; no record passes
// through the supervisor, so none can be lost in it.
package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// Names in the home.
const (
	lockName  = "locks/supervise"
	stateName = "supervise.json"
	logDir    = "logs"
)

// Timeouts and delays.
const (
	ready     = 10 * time.Second       // for a stage to be ready; then the next is started regardless
	patience  = 30 * time.Second       // for a stage to end when asked to
	healthy   = 5 * time.Second        // a stage that ran this long is not in a crash loop
	lived     = 500 * time.Millisecond // a stage without a known lock is up after this long
	firstWait = 100 * time.Millisecond // before a stage is restarted
	longWait  = 30 * time.Second
)

// States of a stage.
const (
	Starting = "starting"
	Up       = "up"
	Waiting  = "waiting" // it ended, and is restarted at Next
	Down     = "down"
)

// Stage is the status of one stage: an entry of supervise.json.
type Stage struct {
	Name     string   `json:"name"`
	Command  []string `json:"command"`
	State    string   `json:"state"`
	PID      int      `json:"pid,omitempty"`
	Start    uint64   `json:"start,omitempty"` // start time in ticks since boot; detects a reused PID
	Since    string   `json:"since"`           // RFC 3339
	Restarts int      `json:"restarts"`
	Ended    string   `json:"ended,omitempty"` // how it last ended
	Next     string   `json:"next,omitempty"`  // when it is restarted
	lock     string
}

// process identifies the stage's process, running or ended.
func (s *Stage) process() run.Process { return run.Process{PID: s.PID, Start: s.Start} }

// Status is supervise.json.
type Status struct {
	Alive  bool    `json:"alive"` // a supervisor is running; if not, the rest is its last status
	PID    int     `json:"pid"`
	Since  string  `json:"since"`
	Stages []Stage `json:"stages"`
}

// Options configure a supervisor.
type Options struct {
	Home   *durable.Home
	Stages []config.Stage
	// Find returns the path of a program: beside this one, or on PATH.
	Find func(name string) (string, error)
	Say  func(format string, args ...any)
	// Ready is called when every stage has been started. It may be nil.
	Ready func()
}

// supervisor owns the stages of a home, in one process at a time.
type supervisor struct {
	Options
	mu     sync.Mutex
	status Status
}

// Run keeps the stages running until ctx ends, and then ends them. A second supervisor for the same home
// is refused.
func Run(ctx context.Context, o Options) error {
	lock, err := takeLock(o.Home)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := o.Home.MkdirAll(logDir); err != nil {
		return err
	}
	s := &supervisor{Options: o, status: Status{Alive: true, PID: os.Getpid(),
		Since: text.Timestamp(time.Now())}}
	for _, st := range o.Stages {
		if st.Command[0], err = o.Find(st.Command[0]); err != nil {
			return fmt.Errorf("stage %s: %w", st.Name, err)
		}
		s.status.Stages = append(s.status.Stages,
			Stage{Name: st.Name, Command: st.Command, State: Down, Since: s.status.Since, lock: st.Lock})
	}
	if err := s.publish(); err != nil {
		return err // tri up waits for this file, and could wait for ever: the disk is full
	}
	err = s.run(ctx)
	return errors.Join(err, s.publish())
}

// takeLock makes this process the supervisor of a home. Load holds the lock for an instant, so takeLock
// tries for half a second.
func takeLock(h *durable.Home) (*durable.Lock, error) {
	for range 50 {
		lock, err := h.TryLock(lockName)
		if !errors.Is(err, durable.ErrLocked) {
			return lock, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errAlready()
}

func errAlready() error {
	return sysexit.Hint(sysexit.With(sysexit.TempFail,
		errors.New("the pipeline of this home is supervised already")),
		"tri-supervise status shows it, tri-supervise stop ends it")
}

func (s *supervisor) run(ctx context.Context) error {
	var wg sync.WaitGroup
	for i := range s.status.Stages {
		up := make(chan struct{})
		wg.Go(func() { s.keep(ctx, i, up) })
		select {
		case <-up:
		case <-ctx.Done():
		case <-time.After(ready):
			s.Say("stage %s: not ready after %v; continuing", s.status.Stages[i].Name, ready)
		}
	}
	if s.Ready != nil && ctx.Err() == nil {
		s.Ready()
	}
	wg.Wait()
	return nil
}

// set changes the status of a stage and publishes it.
func (s *supervisor) set(i int, change func(*Stage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status.Stages[i])
	if err := s.write(); err != nil {
		s.Say("%v", err) // only the published status is affected, not the stages
	}
}

func (s *supervisor) publish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write()
}

func (s *supervisor) write() error {
	text, err := json.MarshalIndent(s.status, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", stateName, err)
	}
	// The file describes processes, which a power cut ends too, so it need not be durable. A restart does
	// not wait for the disk.
	return s.Home.Swap(stateName, append(text, '\n'))
}

// keep keeps one stage running until ctx ends. up is closed when it is ready for the first time.
func (s *supervisor) keep(ctx context.Context, i int, up chan struct{}) {
	var once sync.Once
	wait := firstWait
	for ctx.Err() == nil {
		began := time.Now()
		ended, quick := s.live(ctx, i, func() { once.Do(func() { close(up) }) })
		if ctx.Err() != nil {
			break
		}
		if quick && time.Since(began) < healthy {
			wait = min(2*wait, longWait)
		} else {
			wait = firstWait
		}
		s.Say("stage %s: %s; again in %v", s.status.Stages[i].Name, ended, wait)
		s.set(i, func(st *Stage) {
			st.State, st.PID, st.Start, st.Ended = Waiting, 0, 0, ended
			st.Since, st.Next = text.Timestamp(time.Now()), text.Timestamp(time.Now().Add(wait))
			st.Restarts++
		})
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	once.Do(func() { close(up) })
	s.set(i, func(st *Stage) {
		st.State, st.PID, st.Start, st.Next, st.Since = Down, 0, 0, "", text.Timestamp(time.Now())
	})
}

// live runs one process of a stage. ended says how it ended; quick that it failed by itself, so that an
// immediate restart would probably fail too.
func (s *supervisor) live(ctx context.Context, i int, isReady func()) (ended string, quick bool) {
	st := s.status.Stages[i] // Name, Command and lock never change
	log, err := openLog(s.Home, st.Name)
	if err != nil {
		return err.Error(), true
	}
	defer log.Close()
	p, err := start(st.Command, s.Home.Dir(), log)
	if err != nil {
		return err.Error(), true
	}
	s.set(i, func(st *Stage) {
		st.State, st.PID, st.Start, st.Since, st.Next = Starting, p.pid, run.ProcessOf(p.pid).Start,
			text.Timestamp(time.Now()), ""
	})
	go s.awaitReady(p, i, isReady)
	every := time.NewTicker(time.Minute)
	defer every.Stop()
	for {
		select {
		case <-p.ended:
		case <-ctx.Done():
			p.stop(patience)
		case <-every.C:
			if err := shorten(s.Home, log, logDir+"/"+st.Name+".log"); err != nil {
				s.Say("stage %s: %v", st.Name, err)
			}
			continue
		}
		return p.outcome()
	}
}

// awaitReady marks a stage as up when it holds its lock, or, if its lock is unknown, when it has run for a
// while.
func (s *supervisor) awaitReady(p *process, i int, isReady func()) {
	lock := s.status.Stages[i].lock
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
		}
		if lock == "" && time.Since(began) > lived || lock != "" && s.holdsLock(p.pid, lock) {
			break
		}
	}
	s.set(i, func(st *Stage) {
		if st.PID == p.pid {
			st.State = Up
		}
	})
	isReady()
}

// holdsLock reports whether a process holds a lock of the home. If the system cannot tell, an existing lock
// file counts as held: the stage creates it at its start.
func (s *supervisor) holdsLock(pid int, lock string) bool {
	holder, _, err := s.Home.Holder(lock)
	return holder == pid || errors.Is(err, errors.ErrUnsupported) && s.Home.Exists(lock)
}

// maxLog is the size of a stage's log, in bytes, above which shorten moves it away.
const maxLog = 8 << 20

// openLog opens logs/<stage>.log, the stage's standard error.
func openLog(h *durable.Home, stage string) (*os.File, error) {
	name := logDir + "/" + stage + ".log"
	f, err := h.Root().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("open %s: %w", filepath.Base(name), err))
	}
	if err := shorten(h, f, name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// shorten copies the end of a log above maxLog, at most 2 maxLog, to <name>.1 and empties it. The stage
// appends to the same file, so it continues at the beginning; a line that it writes in between is lost.
func shorten(h *durable.Home, log *os.File, name string) error {
	info, err := log.Stat()
	if err != nil || info.Size() <= maxLog {
		return err
	}
	f, err := h.Root().Open(name) // log is only written
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-2*maxLog), 2*maxLog))
	if err != nil {
		return err
	}
	return errors.Join(h.Swap(name+".1", text), log.Truncate(0))
}
