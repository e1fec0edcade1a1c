// Package agent is the port to agent programs: a Task with a prompt goes in, one checked
// JSON value comes out. What comes out is hostile until it is checked.
package agent

import (
	"context"
	"errors"
	"os"

	"tri/lib/record/draft"
)

// Task is one run of an agent.
type Task struct {
	// Prompt is everything the agent is told; it travels by standard input or a
	// file, never through a shell or an argument.
	Prompt string
	// Question is the bare chat text, for agents that have no use for a prompt.
	Question string
	// Messages are those that Question is made of, in order; nil: it is one.
	Messages []string
	// Codebase is the root that may be read.
	Codebase string
	// Schema is the JSON Schema of the value wanted back.
	Schema []byte
	// Check says what is wrong with a value, nil when it will do. A value that
	// fails is sent back once in the same session.
	Check func(value []byte) error
	// Repair puts what Check said into words for the agent. Nil: the error's own.
	Repair func(fault error) string
	// Tools are the abilities allowed, of Read, Grep, Glob, Bash.
	Tools []string
	// Dir is the run's folder; the agent's own output is kept there
	// (transcript.ndjson, stderr.txt).
	Dir string
	// SessionID is a UUID that the run uses for its session.
	SessionID string
	// Hold is kept open by every process of the run, so that a lock on it lasts
	// as long as they do. May be nil.
	Hold *os.File

	// Resume goes on with the session SessionID instead of starting one under that
	// name. An agent that cannot fails with ErrNoResume.
	Resume bool
	// Write lets the agent change files below Codebase; without it nothing there
	// can be changed.
	Write bool
	// Hidden are names below Codebase that the agent must not see (.agents).
	Hidden []string
	// Commands are slash commands that the program is given, by their path below its
	// own folder for them. Those of the codebase it never has.
	Commands map[string]string
	// Callable are the commands that the model may call by itself, as the program
	// names them, without a slash.
	Callable []string
	// Shell are the commands that Bash may run, each the words that a command line
	// must begin with; nil: those of the program that only read.
	Shell []string
	// Servers are the tool servers that an agent which speaks MCP is given.
	Servers []Server
	// Env are further variables that the program sees, KEY=value; what the
	// configuration names comes first.
	Env []string
	// MaxTurns and MaxCostUSD are told to programs that can hold them themselves;
	// whoever supervises holds them in any case. 0 is no limit.
	MaxTurns   int
	MaxCostUSD float64
	// Watch is told what the agent does, as it does it, from one goroutine. May be
	// nil; use See.
	Watch func(Event)
}

// See tells Watch.
func (t Task) See(e Event) {
	if t.Watch != nil {
		t.Watch(e)
	}
}

// Server is a tool server of the Model Context Protocol, with its tools by
// allow-list: Command for one that is started, URL for one that is reached.
type Server struct {
	Name    string
	Command []string
	URL     string
	Env     []string // names of variables that it may see
	Tools   []string // the only ones offered

	TokenEnv string   // the variable whose value is URL's bearer token; "" is none
	Reach    []string // host:port that Command may dial
}

// Kinds of event.
const (
	Started   = "started"   // SessionID is known
	Thought   = "thought"   // words of the agent
	Tool      = "tool"      // Tool is used, on Text
	Milestone = "milestone" // a turn has ended, a call is tried again, …
	Returned  = "result"
	Failed    = "error"
)

// Event is something that a run has just been seen to do. Text is outside text.
type Event struct {
	Kind      string `json:"kind"`
	Text      string `json:"text,omitempty"`
	Tool      string `json:"tool,omitempty"`
	SessionID string `json:"session_id,omitempty"`
	PID       int    `json:"pid,omitempty"` // of started: the program
	// Usage is what the run has taken so far, nil where the program does not say.
	Usage *draft.Usage `json:"usage,omitempty"`
}

// Result is what came back.
type Result struct {
	Value     []byte // satisfies Task.Check; nil where Task.Schema is
	Text      string // the agent's last words
	Model     string
	SessionID string
	Usage     draft.Usage
}

// Agent runs tasks. Run ends when ctx does, and leaves no process behind. What a
// run that failed has taken is in its Result all the same.
type Agent interface {
	Run(ctx context.Context, t Task) (Result, error)
}

// Ability is what a program can do, for whoever chooses one. An Agent that has
// none of these says so by not having the method.
type Ability struct {
	Resumes  bool // Task.Resume works
	Commands bool // Task.Commands works: it has slash commands
	Writes   bool // Task.Write works
	Servers  bool // Task.Servers works: it speaks MCP
	Cost     bool // its usage has a cost
	Narrows  bool // Task.Shell works: it runs no other command
}

// Abler is an Agent that knows what it can do.
type Abler interface{ Ability() Ability }

// Abilities are those of a, none where it does not say.
func Abilities(a Agent) Ability {
	if a, ok := a.(Abler); ok {
		return a.Ability()
	}
	return Ability{}
}

// ErrNothing means that the agent looked and found nothing to say.
var ErrNothing = errors.New("nothing found")

// ErrNoResume means that the agent cannot go on with a session.
var ErrNoResume = errors.New("the agent cannot resume a session")

// Kinds of failure (Agent Box, phase 2).
const (
	OOM         = "oom"          // the kernel ended it for its memory
	Timeout     = "timeout"      // its time, turns, tokens or cost were up
	ToolError   = "tool_error"   // a tool, the model or the program itself failed
	Abort       = "agent_abort"  // it gave up, or gave back what cannot be used
	TestsFailed = "tests_failed" // what it made does not pass
	Killed      = "killed"       // somebody else ended it
	Unknown     = "unknown"
)

// Failure is an error of a run whose kind was really seen.
type Failure struct {
	Kind string
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Fail gives err a kind of failure; one that it has already stays.
func Fail(kind string, err error) error {
	if f := new(Failure); err == nil || errors.As(err, &f) {
		return err
	}
	return &Failure{kind, err}
}

// FailureKind is the kind of err, Unknown where nobody has said.
func FailureKind(err error) string {
	if f := new(Failure); errors.As(err, &f) {
		return f.Kind
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return Timeout
	}
	return Unknown
}
