// Package agent is the port to the programs that investigate: a prompt goes in,
// one JSON value comes out. What comes out is hostile until it is checked.
package agent

import (
	"context"
	"errors"
	"os"

	"tri/lib/draft"
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
}

// Result is what came back.
type Result struct {
	Value     []byte // satisfies Task.Check
	Model     string
	SessionID string
	Usage     draft.Usage
}

// Agent runs tasks. Run ends when ctx does, and leaves no process behind.
type Agent interface {
	Run(ctx context.Context, t Task) (Result, error)
}

// ErrNothing means that the agent looked and found nothing to say.
var ErrNothing = errors.New("nothing found")
