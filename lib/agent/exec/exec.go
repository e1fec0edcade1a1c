// Package exec is any program as an agent: the prompt on its standard input, one
// JSON object on its standard output, status 0.
package exec

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/config"
	"tri/lib/sysexit"
)

// MaxReturn is what a program may say in all, in bytes.
const MaxReturn = 1 << 20

// Client runs one program. It is safe for concurrent use.
type Client struct {
	argv          []string
	model         string
	env           []string
	linger, grace time.Duration
}

var _ agent.Agent = (*Client)(nil)

// New takes the program from cfg.Command. It refuses unless sandbox is "off".
func New(cfg config.Agent, sandbox string) (*Client, error) {
	if err := proc.RequireOff("exec", sandbox); err != nil {
		return nil, err
	}
	if len(cfg.Command) == 0 {
		return nil, sysexit.Hint(sysexit.With(sysexit.Config, errors.New("agent exec: no command")), "name the program under `command:`, as [my-agent, --json]")
	}
	return &Client{argv: cfg.Command, model: cfg.Model, env: cfg.Env}, nil
}

// Run runs the program in the codebase. A value that fails t.Check is sent back
// once: the program is run again with its value and the faults behind the prompt,
// since it has no session.
func (c *Client) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	start := time.Now()
	res := agent.Result{Model: c.model, SessionID: t.SessionID}
	value, fault, err := c.try(ctx, t, t.Prompt)
	res.Usage.Turns++
	if err == nil && fault != nil {
		again := fmt.Sprintf("%s\n\n# What you gave back\n\n%s\n\n%s", t.Prompt, value, repair(t, fault))
		value, fault, err = c.try(ctx, t, again)
		res.Usage.Turns++
	}
	res.Usage.DurationMS = time.Since(start).Milliseconds()
	if err == nil && fault != nil {
		err = sysexit.With(sysexit.Unavailable, fmt.Errorf("what %s gave back, twice: %w", c.name(), fault))
	}
	if err != nil {
		return agent.Result{}, err
	}
	res.Value = value
	return res, nil
}

func (c *Client) name() string { return filepath.Base(c.argv[0]) }

func repair(t agent.Task, fault error) string {
	if t.Repair != nil {
		return t.Repair(fault)
	}
	return "That cannot be used: " + fault.Error()
}

// try runs the program once. fault is what is wrong with a value, err what went
// wrong with the program.
func (c *Client) try(ctx context.Context, t agent.Task, prompt string) (value []byte, fault, err error) {
	var out []byte
	exit, err := proc.Run(ctx, proc.Spec{
		Argv: c.argv, Dir: t.Codebase, Env: proc.Env(c.env, t.Dir), Prompt: prompt, RunDir: t.Dir, Hold: t.Hold,
		Line: func(line []byte) bool {
			out = append(append(out, line...), '\n')
			return false
		},
		MaxStdout: MaxReturn, Linger: c.linger, Grace: c.grace,
	})
	switch {
	case err != nil:
		return nil, nil, err
	case exit.Flooded:
		return nil, nil, c.failed("it said more than %d bytes", MaxReturn)
	case exit.Status != 0:
		return nil, nil, c.failed("exit status %d: %q", exit.Status, strings.TrimSpace(exit.Stderr))
	}
	if value, err = agent.Object(out); err != nil {
		return nil, nil, c.failed("%w", err)
	}
	if t.Check != nil {
		fault = t.Check(value)
	}
	return value, fault, nil
}

func (c *Client) failed(format string, args ...any) error {
	return sysexit.With(sysexit.Unavailable, fmt.Errorf("run %s: %w", c.name(), fmt.Errorf(format, args...)))
}
