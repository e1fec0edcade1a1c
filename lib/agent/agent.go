// Package agent is the port to agent programs: a Task with a prompt goes in, one checked JSON
// value comes out. The value is untrusted until it has been checked.
package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Task is one run of an agent.
type Task struct {
	// Prompt is the complete input of the agent. It is passed on standard input or in a file,
	// never through a shell or as an argument.
	Prompt string
	// Question is the chat text alone, for agents that take no prompt.
	Question string
	// Messages are the messages that make up Question, in order. Nil means a single message.
	Messages []string
	// Codebase is the root of the files that the agent may read.
	Codebase string
	// Schema is the JSON Schema of the value to return.
	Schema []byte
	// Check returns what is wrong with a value, or nil if it is acceptable. A value that fails is
	// sent back once in the same session.
	Check func(value []byte) error
	// Repair renders an error of Check as a message to the agent. Nil means the error's own text.
	Repair func(fault error) string
	// Tools are the allowed tools, a subset of Read, Grep, Glob, Bash.
	Tools []string
	// Dir is the run's folder, where the agent's output is kept (transcript.ndjson, stderr.txt).
	Dir string
	// SessionID is the UUID of the run's session.
	SessionID string
	// Hold is inherited by every process of the run, so that a lock on it lasts until the last of
	// them has ended. May be nil.
	Hold *os.File

	// Resume continues the session SessionID instead of starting a new one with that name. An
	// agent without sessions fails with ErrNoResume.
	Resume bool
	// Write lets the agent change files below Codebase. Without it they are read-only.
	Write bool
	// Hidden are names below Codebase that the agent must not see (.agents).
	Hidden []string
	// Commands are the slash commands given to the program, by their path below its commands
	// folder. The codebase's own commands are never loaded.
	Commands map[string]string
	// Callable are the commands that the model may call without a person, named as the program
	// names them, without a slash.
	Callable []string
	// Shell are the commands that Bash may run, each as the words that a command line must begin
	// with. Nil means the program's read-only commands.
	Shell []string
	// Servers are the tool servers given to an agent that speaks MCP.
	Servers []config.Server
	// Env are further variables for the program, KEY=value. Variables named by the configuration
	// come first.
	Env []string
	// MaxTurns and MaxCostUSD are passed to programs that can enforce them. The supervisor
	// enforces them in any case. 0 means no limit.
	MaxTurns   int
	MaxCostUSD float64
	// Watch receives the events of the run as they happen, from one goroutine. May be nil; call it
	// through See.
	Watch func(Event)

	// Words brings what is said to the run while it works, in order; closed: nothing more will be.
	// Nil: nothing is said. An agent without Capabilities.Steers ignores it; see package steer.
	Words <-chan Word
	// Heard receives what became of a word, a value of run.Heard.How, from one goroutine. It is the
	// program's claim, and durable in no program. May be nil; call it through Hear.
	Heard func(id, how string)
	// From is what an earlier leg of this run, or the run that it forks from, has done; nil: none.
	From *run.Checkpoint
	// Fork begins with the history of From.SessionID, a session of the run From.RunID in the folder
	// beside Dir, which stays as it is. An agent without Capabilities.Forks fails with ErrNoResume.
	Fork bool
}

// Word is something said to a run while it works.
type Word struct {
	ID   string // at most 64 of [a-z0-9-]
	Kind string // run.Append, run.Redirect, run.Edit, run.Withdraw or run.Stop
	Text string // fenced already
}

// Origin returns the folder of the run that the task forks from.
func (t Task) Origin() string { return filepath.Join(filepath.Dir(t.Dir), filepath.Base(t.From.RunID)) }

// Hear calls Heard if it is set.
func (t Task) Hear(id, how string) {
	if t.Heard != nil {
		t.Heard(id, how)
	}
}

// See calls Watch if it is set.
func (t Task) See(e Event) {
	if t.Watch != nil {
		t.Watch(e)
	}
}

// Kinds of Event.
const (
	Started   = "started"   // SessionID is known
	Thought   = "thought"   // text from the agent
	Tool      = "tool"      // Tool is called, on Text
	Milestone = "milestone" // a turn has ended, a call is retried, …
	Returned  = "result"
	Failed    = "error"
)

// Event is one observed step of a run. Text is untrusted.
type Event struct {
	Kind      string `json:"kind"`
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Lines     string `json:"lines,omitempty"` // of a tool that reads a file: 1-140; "" for all or unknown
	SessionID string `json:"session_id,omitempty"`
	PID       int    `json:"pid,omitempty"` // of Started: the program's process id
	// Usage is the usage of the run so far, nil if the program does not report it.
	Usage *draft.Usage `json:"usage,omitempty"`
}

// Result is the outcome of a run.
type Result struct {
	Value     []byte // satisfies Task.Check; nil if Task.Schema is nil
	Text      string // the agent's last message
	Model     string
	SessionID string
	Usage     draft.Usage
}

// Agent runs tasks. Run returns when ctx ends, and leaves no process behind. The Result of a
// failed run still reports its usage.
type Agent interface {
	Run(ctx context.Context, t Task) (Result, error)
}

// Capabilities lists what a program supports, for the code that selects one. An Agent that supports
// none of it does not implement Capable.
type Capabilities struct {
	Resumes  bool // Task.Resume works
	Commands bool // Task.Commands works: it has slash commands
	Writes   bool // Task.Write works
	Servers  bool // Task.Servers works: it speaks MCP
	Cost     bool // its usage has a cost
	Narrows  bool // Task.Shell works: the program runs no other command
	// Steers says how Task.Words works: Next, Cut, or "" if it does not.
	Steers string
	Forks  bool // Task.Fork works
	// Rejoins says that a run outlives this process: the same task, asked again, has its result.
	Rejoins bool
}

// ErrLater, as the cause of a cancelled context, says that the caller ends too, and asks for the run again
// when it is started: an agent that rejoins leaves the run where it is.
var ErrLater = errors.New("the run is taken up later")

// Values of Capabilities.Steers.
const (
	Next = "next" // a word is in the next call of the model
	Cut  = "cut"  // a word ends the model's call in hand, and is in the one after it
)

// Capable is an Agent that reports its capabilities.
type Capable interface{ Capabilities() Capabilities }

// CapabilitiesOf returns the capabilities of a, the zero value if a is not Capable.
func CapabilitiesOf(a Agent) Capabilities {
	if a, ok := a.(Capable); ok {
		return a.Capabilities()
	}
	return Capabilities{}
}

// ErrNothing reports that the agent searched and found nothing to answer.
var ErrNothing = errors.New("nothing found")

// ErrNotKept reports that the state, the events or the checkpoint of a run could not be written: it is
// not the agent's fault.
var ErrNotKept = errors.New("not written down")

// ErrNoResume reports that the agent cannot resume a session.
var ErrNoResume = errors.New("the agent cannot resume a session")

// ErrNoSteer reports that the program, as it is installed or configured, takes no words: the task
// has to be run again without Task.Words.
var ErrNoSteer = errors.New("the agent takes no words while it works")

// Kinds of Failure.
const (
	OOM         = "oom"          // the kernel killed it for its memory use
	Timeout     = "timeout"      // it reached its limit of time, turns, tokens or cost
	ToolError   = "tool_error"   // a tool, the model or the program itself failed
	Abort       = "agent_abort"  // it gave up, or returned an unusable value
	TestsFailed = "tests_failed" // its changes do not pass the tests
	Killed      = "killed"       // it was killed from outside
	Unknown     = "unknown"
)

// Failure is an error of a run with a known kind.
type Failure struct {
	Kind string
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Fail gives err a kind of failure. An err that already has a kind is returned unchanged.
func Fail(kind string, err error) error {
	if f := new(Failure); err == nil || errors.As(err, &f) {
		return err
	}
	return &Failure{kind, err}
}

// Failf is fmt.Errorf for a run that failed: the error has a kind, and the status Unavailable.
func Failf(kind, format string, args ...any) error {
	return sysexit.With(sysexit.Unavailable, Fail(kind, fmt.Errorf(format, args...)))
}

// FailureKind returns the kind of err, Unknown if it has none.
func FailureKind(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f.Kind
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Timeout
	}
	return Unknown
}

// Endpoint returns the host:port of a URL, nil if it has no host.
func Endpoint(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return []string{net.JoinHostPort(u.Hostname(), port)}
}
