// Package program runs the turn that all agent programs share: start, read progress lines, check
// the value, ask once for a correction in the same session. An adapter supplies the command line
// and the meaning of the output lines (Call).
//
// A session lives in the folder `home` below the run's folder, which is the program's HOME. To
// resume a session, use the same run folder.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/toolserver"
	"tri/lib/base/config"
	"tri/lib/base/sandbox"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	record "tri/lib/record/run"
)

// MaxValue is the maximum size of a value, in bytes.
const MaxValue = 1 << 20

// Program is an agent program. Its methods are safe for concurrent use.
type Program struct {
	Name    string   // its name in the configuration
	Argv    []string // the command that starts it
	Env     []string // names of the variables that it may see
	Sandbox string   // the configuration's `sandbox` setting
	Model   string   // "" means the program's default
	Budget  float64  // of one run, in USD; 0 means no limit
	Network []string // endpoints of the configuration, host:port
	Read    []string // further readable files and folders
	// Memory, in bytes, and Processes limit the program in its sandbox. 0 means the sandbox's
	// default.
	Memory    int64
	Processes int
	Disk      int64 // in bytes; 0 means proc.DefaultDisk
	// LoginAt is the path, below its HOME, where the program looks for a login; see Login.
	LoginAt string
	// Tools are the tools that a task may ask for. Nil means any, since the program takes no list
	// of tools.
	Tools []string
	// Settings are paths in a codebase from which the program takes settings and which no argument
	// turns off. A sandbox hides them. Without a sandbox the program is not started if one exists.
	Settings []string
	// Models are the endpoints that the program may use with a key. For each Base the first whose
	// key is set is used.
	Models []Model
	// Servers says that the program speaks the Model Context Protocol. Turn.Task.Servers are then
	// our own commands (package toolserver), without keys.
	Servers bool
	// Stateless says that the program has no sessions: its first answer is appended to the prompt of
	// the second turn. It cannot resume.
	Stateless bool
	// AssignsSessionID says that the program chooses the name of a new session.
	AssignsSessionID bool
	// Since returns the turn's share of figures that the program reports as session totals. before
	// is the previous report. Nil means that all figures are the turn's own.
	Since func(before, turn draft.Usage) draft.Usage
	// Linger and Grace are as in proc.Spec. Tests shorten them.
	Linger, Grace time.Duration

	run func(context.Context, proc.Spec) (proc.Exit, error) // proc.Run
}

// Client is an agent that is a program. It is safe for concurrent use. An adapter says what the program can
// do and how a turn starts.
type Client struct {
	Program
	Can   agent.Capabilities
	Start func(Turn) (Call, error)
}

var (
	_ agent.Agent   = (*Client)(nil)
	_ agent.Capable = (*Client)(nil)
)

// New returns the client of a configuration's program, completed by the adapter: with its command or its
// usual name, and its variables or those that programs of the kind need.
func New(cfg config.Agent, sandbox, name string, complete func(*Client)) (*Client, error) {
	cfg.Agent = cmp.Or(cfg.Agent, name)
	c := &Client{Program: Program{
		Name: name, Argv: cfg.Program(), Env: cfg.Variables(), Sandbox: sandbox, Model: cfg.Model,
		Budget:  cfg.MaxBudgetUSD,
		Network: cfg.Network, Read: cfg.Read, Memory: int64(cfg.MemoryMB) << 20, Processes: cfg.Processes,
		Disk: int64(cfg.DiskMB) << 20, Tools: []string{"Read", "Grep", "Glob", "Bash"}, run: proc.Run,
	}}
	if len(c.Argv) == 0 {
		return nil, sysexit.Hint(sysexit.Errorf(sysexit.Config, "agent %s: no command", name),
			"name the program under `command:`, as [my-agent, --json]")
	}
	complete(c)
	return c, nil
}

// Capabilities returns what the program supports.
func (c *Client) Capabilities() agent.Capabilities { return c.Can }

// Run runs the program in the codebase.
func (c *Client) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	return c.Program.Run(ctx, t, c.Start)
}

// softTime is how long a program may take to end its turn when it is asked to.
const softTime = time.Second

// Turn is one start of the program.
type Turn struct {
	Task   agent.Task
	Home   string // its HOME, already created
	Prompt string // its standard input
	// Session is the session to resume or, if Again is false, the name for a new one. It consists
	// of letters, digits and `-_.` and does not begin with `-`.
	Session string
	Again   bool
	*Program

	bases map[string]string // see Base
}

// Call says how the program is started for a turn.
type Call struct {
	Args  []string // after Program.Argv; nothing from a chat
	Set   []string // KEY=value, added to the allowed variables; the configuration's names win
	Read  []string // files and folders, besides its installation and its login
	Reach []string // host:port of its model and its tool servers
	Serve bool     // it connects to servers of its own
	// Hidden are paths below the codebase from which the program would take instructions.
	Hidden []string
	// Line parses a line of output. It calls Seen.End after the last one.
	Line func(line []byte, s *Seen)
	// Talk drives standard input in place of the prompt, as proc.Spec.Talk.
	Talk func(in io.WriteCloser, s *Seen)
	// Word passes a word of Task.Words to the program while it runs, serialized with Line. It
	// reports what becomes of the word by Task.Hear. Nil: the program takes none.
	Word func(w agent.Word, s *Seen)
	// Cancel asks the program to end its turn, serialized with Line. It is ended once Line has called
	// Seen.End, or after softTime. Nil: it is ended at once.
	Cancel func(s *Seen)
	// Exit reads the remaining results after the program has exited by itself or after its last
	// line. May be nil.
	Exit func(e proc.Exit, s *Seen)
	// MaxOutput limits the output, in bytes; 0 means proc.MaxOutput.
	MaxOutput int64
}

// Option adds an option and its value to the arguments, unless the value is "".
func (c *Call) Option(name, value string) {
	if value != "" {
		c.Args = append(c.Args, name, value)
	}
}

// Run runs a task: one turn, and a second if its value fails the task's check. The result of a
// failed run still has its usage.
func (p *Program) Run(ctx context.Context, t agent.Task,
	call func(Turn) (Call, error)) (agent.Result, error) {
	start := time.Now()
	r := &running{program: p, task: t, call: call}
	res := agent.Result{SessionID: t.SessionID, Model: p.Model, Usage: draft.Usage{TokensUnknown: true}}
	err := r.run(ctx, &res)
	if err != nil {
		err = fmt.Errorf("run %s: %w", p.Name, err)
	}
	res.Usage.DurationMS = time.Since(start).Milliseconds()
	last := agent.Event{Kind: agent.Returned, Text: clip(res.Text), SessionID: res.SessionID,
		Usage: &res.Usage}
	if err != nil {
		last.Kind, last.Text, res.Value = agent.Failed, clip(err.Error()), nil
	}
	t.See(last)
	return res, err
}

// running is a task in progress.
type running struct {
	program *Program
	task    agent.Task
	call    func(Turn) (Call, error)
	home    string
	gate    *toolserver.Gate // nil: no tool servers
	doors   []*door          // to models
	usage   draft.Usage      // of the run's completed turns
	told    draft.Usage      // the program's previous report
}

func (r *running) run(ctx context.Context, res *agent.Result) error {
	t := r.task
	if err := errors.Join(r.allowed(), r.unsteered()); err != nil {
		return err
	}
	if t.Fork {
		if err := r.fork(); err != nil {
			return err
		}
	}
	remove, err := r.makeHome()
	if err != nil {
		return err
	}
	defer remove()
	if err := r.openGate(ctx); err != nil {
		return err
	}
	defer r.gate.Close()
	defer r.closeDoors()
	if err := r.openDoors(); err != nil {
		return err
	}
	t = r.task
	turn := Turn{Task: t, Home: r.home, Prompt: t.Prompt, Session: t.SessionID, Again: t.Resume,
		Program: r.program, bases: map[string]string{}}
	for _, d := range r.doors {
		turn.bases[d.Base] = d.at
	}
	if t.Resume {
		if err := r.earlier(); err != nil {
			return err
		}
	}
	fault, err := r.turn(ctx, turn, res)
	if err != nil || fault == nil {
		return err
	}
	if res.SessionID == "" && !r.program.Stateless {
		return agent.Failf(agent.Abort, "what it gave back, in a session that it did not name: %w", fault)
	}
	t.See(agent.Event{Kind: agent.Milestone, Text: clip("sent back: " + fault.Error()),
		SessionID: res.SessionID})
	turn.Session, turn.Again, turn.Prompt = res.SessionID, true, r.repair(fault, res.Value)
	if fault, err = r.turn(ctx, turn, res); err != nil {
		return fmt.Errorf("its value was sent back: %w", err)
	}
	if fault != nil {
		return agent.Failf(agent.Abort, "what it gave back, twice: %w", fault)
	}
	return nil
}

// allowed refuses settings that the program would silently ignore.
func (r *running) allowed() error {
	for _, name := range r.task.Tools {
		if r.program.Tools != nil && !slices.Contains(r.program.Tools, name) {
			return sysexit.Errorf(sysexit.Software, "it has no tool %q", name)
		}
	}
	switch {
	case r.task.Resume && r.program.Stateless:
		return sysexit.With(sysexit.Unavailable, agent.ErrNoResume)
	case !ValidID(r.task.SessionID) && (r.task.Resume || r.task.SessionID != ""):
		return sysexit.Errorf(sysexit.Software, "session %q is not a valid name", r.task.SessionID)
	}
	return nil
}

// repair returns the message that asks for a correction of a value.
func (r *running) repair(fault error, value []byte) string {
	words := "That cannot be used: " + fault.Error()
	if r.task.Repair != nil {
		words = r.task.Repair(fault)
	}
	if r.program.Stateless {
		return fmt.Sprintf("%s\n\n# What you gave back\n\n%s\n\n%s", r.task.Prompt, value, words)
	}
	return words
}

// turn starts the program once and reads its output to the end. fault is what is wrong with the
// value, err what went wrong with the program. res is filled in either case.
func (r *running) turn(ctx context.Context, turn Turn, res *agent.Result) (fault, err error) {
	p, t := r.program, r.task
	call, err := r.call(turn)
	if err != nil {
		return nil, err
	}
	s := &Seen{task: t, soFar: r.soFar}
	if turn.Again || !p.AssignsSessionID {
		s.session = turn.Session
	}
	over := make(chan struct{})
	var passing sync.WaitGroup
	var talk func(io.WriteCloser)
	if call.Talk != nil {
		talk = func(in io.WriteCloser) {
			s.Do(func() { call.Talk(in, s); s.talking = true })
			if call.Word != nil && t.Words != nil {
				passing.Go(func() { pass(t, call, s, over) })
			}
		}
	}
	soft, end := softly(ctx, call, s)
	defer end()
	exit, err := p.run(soft, proc.Spec{
		Argv: slices.Concat(p.Argv, call.Args), Dir: t.Codebase, Env: r.environment(call),
		Prompt: turn.Prompt, Talk: talk, RunDir: t.Dir, Hold: t.Hold,
		Sandbox: p.Sandbox, Write: t.Write, Hidden: slices.Concat(t.Hidden, call.Hidden), Home: r.home,
		Read: slices.Concat(p.Read, call.Read), Reach: r.reach(call), Forwards: r.served(), Serve: call.Serve,
		Memory: p.Memory, Processes: p.Processes, Disk: p.Disk, Started: s.started,
		Line: func(line []byte) (ended bool) {
			s.Do(func() { call.Line(line, s); ended = s.ended })
			if ended && ctx.Err() != nil {
				end()
			}
			return ended
		},
		MaxStdout: call.MaxOutput, Linger: p.Linger, Grace: p.Grace,
	})
	close(over)
	passing.Wait()
	if err == nil && call.Exit != nil {
		call.Exit(exit, s)
	}
	res.SessionID, res.Text = s.session, s.Text()
	if s.Model != "" {
		res.Model = s.Model
	}
	if e := r.account(s); err == nil {
		err = e
	}
	res.Usage = r.usage
	if exit.Limits == sandbox.Rlimits {
		t.See(agent.Event{Kind: agent.Milestone, Text: "no control group could be made: " +
			"memory and processes were limited for each process, not together"})
	}
	if err == nil {
		err = refusedHint(s.failure(exit), t.Dir)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // whatever the program says of it
	}
	if err != nil {
		return nil, err
	}
	res.Value, fault = s.value(t)
	return fault, nil
}

// softly returns a context for the program that outlives ctx for as long as its turn takes to end when asked.
func softly(ctx context.Context, call Call, s *Seen) (context.Context, context.CancelFunc) {
	if call.Cancel == nil || ctx.Err() != nil {
		return context.WithCancel(ctx)
	}
	soft, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		s.Do(func() {
			if s.cancelled = true; s.talking && !s.ended {
				call.Cancel(s)
			}
			if s.ended || !s.talking {
				end()
			}
		})
		time.AfterFunc(softTime, end)
	})
	return soft, func() { stop(); end() }
}

// pass passes words to the program until the turn is over. Words that come later wait for the next
// turn.
func pass(t agent.Task, call Call, s *Seen, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case w, more := <-t.Words:
			if !more {
				return
			}
			s.Do(func() {
				if s.ended || s.cancelled {
					t.Hear(w.ID, record.Late)
					return
				}
				call.Word(w, s)
			})
		}
	}
}

// value returns the program's value, or the one object in its text. A missing value is a fault
// like any other: it can be asked for again.
func (s *Seen) value(t agent.Task) ([]byte, error) {
	if t.Schema == nil {
		return nil, nil
	}
	v := s.Value
	if len(v) == 0 || string(v) == "null" {
		var err error
		if v, err = agent.Object(s.text); err != nil {
			return s.text, err
		}
	}
	if len(v) > MaxValue {
		return nil, fmt.Errorf("the value is larger than %d bytes", MaxValue)
	}
	if t.Check != nil {
		return v, t.Check(v)
	}
	return v, nil
}

// makeHome creates the program's HOME: in the run's folder, or in a temporary folder that remove
// deletes.
func (r *running) makeHome() (remove func(), err error) {
	remove = func() {}
	if r.task.Dir == "" {
		r.home, err = os.MkdirTemp("", "tri-agent-")
		remove = func() { _ = os.RemoveAll(r.home) } // a leftover in the temporary folder
	} else {
		if r.home, err = filepath.Abs(filepath.Join(r.task.Dir, "home")); err == nil {
			err = os.MkdirAll(r.home, 0o700)
		}
	}
	if err == nil {
		err = r.linkLogin()
	}
	if err != nil {
		return remove, sysexit.Errorf(sysexit.IO, "make its home: %w", err)
	}
	return remove, nil
}
