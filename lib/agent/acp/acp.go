// Package acp runs any program that speaks the Agent Client Protocol over standard input
// and output (opencode acp, gemini --acp, qwen --acp, cline --acp, goose acp).
//
// The program's requests are answered by one rule: reading, searching and thinking are allowed,
// changing files only if the task writes, anything else is refused. Only files below the codebase
// are served (lib/judge/codebase). The program could do all that without asking: the sandbox is
// what confines it.
//
// https://agentclientprotocol.com, version 1 of the protocol.
package acp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
	"tri/lib/judge/codebase"
)

// linger is how long a program may take to exit once its input has ended: it may be saving its
// session.
const linger = 10 * time.Second

// Codes of the protocol's own faults.
const (
	needsLogin = -32000
	notThere   = -32002
)

// Client runs the program. It is safe for concurrent use.
type Client struct {
	*program.Client
	steer string // config.Agent.Steer
}

var (
	_ agent.Agent   = (*Client)(nil)
	_ agent.Capable = (*Client)(nil)
)

// New takes the program from cfg.Command. The model is the program's own setting, by its arguments
// or by the variables that `env:` names.
func New(cfg config.Agent, sandbox string) (*Client, error) {
	p, err := program.New(cfg, sandbox, "acp", func(c *program.Client) {
		c.AssignsSessionID, c.Servers, c.Since, c.Linger = true, true, program.CostSince, linger
		c.UseModels()
	})
	return &Client{p, cfg.Steer}, err
}

// Capabilities returns what the client supports. Whether a program can resume a session it reports
// itself when it starts.
func (c *Client) Capabilities() agent.Capabilities {
	keeps := c.steer != config.SteerNone
	can := agent.Capabilities{Resumes: keeps, Forks: keeps, Writes: true, Servers: true}
	if c.steer == config.SteerPrompt {
		can.Steers = agent.Cut
	}
	return can
}

// Run starts the program and prompts it.
func (c *Client) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	tree, err := codebase.Open(t.Codebase, t.Hidden, t.Write)
	if err == nil {
		t.Codebase, err = filepath.Abs(t.Codebase) // the protocol requires an absolute path
	}
	if err != nil {
		return agent.Result{SessionID: t.SessionID}, fmt.Errorf("run acp: %w", err)
	}
	defer tree.Close()
	var conv *conversation // of the turn in progress
	before := ""
	res, err := c.Program.Run(ctx, t, func(turn program.Turn) (program.Call, error) {
		if conv != nil {
			before = string(conv.s.Text())
			conv.close()
		}
		if turn.Again {
			spareSessions(turn.Home)
		}
		conv = &conversation{turn: turn, tree: tree, before: before}
		call := program.Call{Reach: c.reach(), Serve: true, Talk: conv.begin, Line: conv.line}
		if c.steer != config.SteerLoad { // where a cancelled turn would be forgotten
			call.Cancel = conv.cancel
		}
		if c.steer == config.SteerPrompt {
			call.Word = conv.word
		}
		return call, nil
	})
	if conv != nil {
		conv.close()
	}
	return res, err
}

// reach returns the addresses that the program may dial: those in the variables that it sees,
// since its model is not known.
func (c *Client) reach() []string {
	var at []string
	for _, name := range c.Env {
		if value := os.Getenv(name); strings.HasPrefix(value, "http://") ||
			strings.HasPrefix(value, "https://") {
			at = append(at, agent.Endpoint(value)...)
		}
	}
	return at
}

// geminiSession matches the name of a session file of Gemini CLI: the minute in which the session
// began, and the beginning of its id.
var geminiSession = lazyregexp.New(`^session-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-([0-9a-f]{8}\.jsonl?)$`)

// spareSessions renames the session files of Gemini CLI. Before it (0.61.0) looks up the session
// to load, it creates a new file for it; within the minute in which the session began, that is the
// session's own file, which would then be empty. It finds sessions by the files' content, not by
// name. The agent can write to home, so no link out of it is followed, and no pipe waited for; a
// file that cannot be renamed stays.
func spareSessions(home string) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer root.Close()
	found, err := fs.Glob(unblocked{root}, ".gemini/tmp/*/chats/session-*")
	if err != nil {
		return
	}
	for _, name := range found {
		dir, base := path.Split(name)
		if m := geminiSession.FindStringSubmatch(base); m != nil {
			_ = root.Rename(name, dir+"session-2000-01-01T00-00-"+m[1])
		}
	}
}

// unblocked is a folder of which opening a pipe does not block.
type unblocked struct{ root *os.Root }

func (u unblocked) Open(name string) (fs.File, error) {
	return u.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
