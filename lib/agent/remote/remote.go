// Package remote runs any agent on another machine: a program that speaks the lines of package remote
// (ssh HOST tri-nats work --stdio, or tri-nats run for the queue) takes the task and returns the result.
//
// The prompt, the check of the value, receipts, verdicts, budgets and decisions stay here. The other
// machine uses its own configuration, keys and sandbox, and is trusted with no more than an agent is.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/git"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Client runs tasks elsewhere. It is safe for concurrent use.
type Client struct {
	cfg      config.Agent
	sandbox  string
	can      agent.Capabilities
	commands [][]string // one for each host

	grace time.Duration // between a cancel and the end of the command
	wait  time.Duration // for a worker
}

var (
	_ agent.Agent   = (*Client)(nil)
	_ agent.Capable = (*Client)(nil)
)

// grace is longer than a worker needs to end a program that ignores its end (proc.Grace).
const grace = 15 * time.Second

// ssh asks for no password, and notices a dead host within 15 seconds.
var ssh = []string{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
	"ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"}

// New returns the agent that cfg.On places elsewhere. can is what the agent supports here.
func New(cfg config.Agent, sandbox string, can agent.Capabilities) *Client {
	c := &Client{cfg: cfg, sandbox: sandbox, grace: grace, wait: math.MaxInt64}
	if cfg.WaitMin > 0 {
		c.wait = time.Duration(cfg.WaitMin * float64(time.Minute))
	}
	for _, host := range cfg.Hosts() {
		c.commands = append(c.commands, append(ssh[:len(ssh):len(ssh)], "--", host, "tri-nats work --stdio"))
	}
	if c.commands == nil {
		c.commands = [][]string{{"tri-nats", "run"}}
	}
	// A session, its folder and its tool servers stay on the machine that had them.
	c.can = agent.Capabilities{Cost: can.Cost, Steers: can.Steers, Rejoins: len(cfg.Hosts()) == 0}
	return c
}

// Capabilities returns what is left of the agent's capabilities at a distance: it does not resume, fork,
// write or use tool servers.
func (c *Client) Capabilities() agent.Capabilities { return c.can }

// Run has the task run on the first machine that can. A machine that cannot, for lack of the agent, the
// codebase or the commit, says so before it starts anything.
func (c *Client) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	res := agent.Result{SessionID: t.SessionID}
	res.Usage.TokensUnknown = true
	if err := ctx.Err(); err != nil {
		return res, err
	}
	if err := refuse(t); err != nil {
		return res, err
	}
	order, err := c.order(ctx, t)
	if err != nil {
		return res, err
	}
	var refused *Refused
	for i, command := range c.commands {
		l := &leg{client: c, task: t, order: order, on: c.place(i)}
		res, err = l.run(ctx, command)
		if !errors.As(err, &refused) {
			break
		}
		if i+1 < len(c.commands) {
			t.See(agent.Event{Kind: agent.Milestone, Text: refused.Error()})
		} else {
			err = l.failed(sysexit.With(sysexit.Unavailable, err))
		}
	}
	if err != nil {
		err = fmt.Errorf("run %s elsewhere: %w", cmp.Or(c.cfg.Agent, "search"), err)
	}
	return res, err
}

// place names the machine of a command.
func (c *Client) place(i int) string {
	if hosts := c.cfg.Hosts(); hosts != nil {
		return hosts[i]
	}
	return "the queue"
}

func refuse(t agent.Task) error {
	switch {
	case t.Resume, t.Fork:
		return sysexit.With(sysexit.Unavailable, agent.ErrNoResume)
	case t.Write:
		return sysexit.Errorf(sysexit.Config, "an agent on another machine changes no files here")
	}
	return nil
}

// order returns what is sent.
func (c *Client) order(ctx context.Context, t agent.Task) (*Order, error) {
	o := &Order{
		V: Version, Agent: cmp.Or(c.cfg.Agent, "search"), Model: c.cfg.Model, Sandbox: c.sandbox,
		Run:    filepath.Base(t.Dir),
		Prompt: t.Prompt, Question: t.Question, Messages: t.Messages, Schema: t.Schema, Tools: t.Tools,
		Hidden:    t.Hidden,
		SessionID: t.SessionID, MaxTurns: t.MaxTurns, MaxCostUSD: t.MaxCostUSD, Check: t.Check != nil,
		Words: t.Words != nil,
	}
	dir, err := filepath.Abs(t.Codebase)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.IO, "codebase %q: %w", t.Codebase, err)
	}
	o.Codebase = dir
	for _, b := range c.cfg.Codebases {
		if b.Path == t.Codebase || b.Path == dir {
			o.Codebase = b.Name
		}
	}
	if repo, err := git.Open(ctx, dir, ""); err == nil {
		if o.Commit, err = repo.Head(ctx); err != nil {
			return nil, err
		}
	}
	o.ID, err = o.name()
	return o, err
}

// name returns the job's id: the run and all that is asked of it, so that a job that is sent twice is one.
// The session's name is another at every try.
func (o Order) name() (string, error) {
	o.ID, o.SessionID = "", ""
	b, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("send the task: %w", err)
	}
	if len(b) > MaxOrder {
		return "", sysexit.Errorf(sysexit.Data, "send the task: %d bytes, more than %d", len(b), MaxOrder)
	}
	return text.SHA256(b)[:32], nil
}

// startError says what is missing here.
func startError(command []string, err error) error {
	err = sysexit.Errorf(sysexit.Unavailable, "start %s: %w", command[0], err)
	if errors.Is(err, exec.ErrNotFound) {
		err = sysexit.Hint(err, fmt.Sprintf("install %s, or remove `on:` from the configuration", command[0]))
	}
	return err
}

// deadLink says why no result came, from what the command has printed.
func deadLink(on string, exit error, stderr string) error {
	words := strings.TrimSpace(stderr)
	err := fmt.Errorf("%q ended without a result (%v): %q", on, exit, words)
	if exit == nil {
		err = fmt.Errorf("%q ended without a result: %q", on, words)
	}
	return sysexit.Hint(sysexit.With(sysexit.Unavailable, agent.Fail(agent.Killed, err)),
		"try by hand: ssh HOST tri-nats --version")
}
