// Package claude is Anthropic's Claude Code program as an agent: `claude -p` with
// its stream of JSON lines, kept to reading the codebase. What it does and does
// not do was learnt from version 2.1.329 against a scripted model
// (scripts/peers/claude repeats that):
//
//   - stream-json is refused without --verbose;
//   - a schema that names its dialect ("$schema") is refused;
//   - the order of keys differs between versions, so lines are parsed;
//   - a failed call says subtype "success": is_error and the exit status decide;
//   - --json-schema may go unmet in silence: the value is checked here;
//   - the process may hang after its result: the result is the end;
//   - cost is summed over a session's runs, in some versions.
package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/config"
	"tri/lib/draft"
	"tri/lib/sysexit"
)

// tools are those of the program that a task may ask for. An unknown name is
// dropped by the program without a word, so it is refused here.
var tools = []string{"Read", "Grep", "Glob", "Bash"}

// credentials may pass when the configuration names no variables.
var credentials = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"}

// set holds for every run: no updates, no reports home, and a bad key fails in
// seconds and not in the three minutes that ten tries take.
var set = []string{
	"CLAUDE_CODE_MAX_RETRIES=2", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
}

// private is what may not be read even inside the codebase. It keeps an honest
// agent from what it should not quote; it is no sandbox.
const private = `{"permissions":{"deny":["Read(**/.env)","Read(**/.env.*)","Read(**/*.pem)","Read(**/*.key)","Read(**/id_rsa*)","Read(**/.netrc)","Read(**/.git/**)"]}}`

// Client runs the program. It is safe for concurrent use.
type Client struct {
	argv          []string
	model         string
	budget        float64
	env           []string
	linger, grace time.Duration
}

var _ agent.Agent = (*Client)(nil)

// New takes program, model, budget and environment from cfg. It refuses unless
// sandbox is "off".
//
// HOME is the run's own folder, so that the program finds neither the user's keys
// nor settings, and leaves its session there. Who has logged in instead of having
// a key must name HOME under `env:`.
func New(cfg config.Agent, sandbox string) (*Client, error) {
	if err := proc.RequireOff("claude", sandbox); err != nil {
		return nil, err
	}
	c := &Client{argv: cfg.Command, model: cfg.Model, budget: cfg.MaxBudgetUSD, env: cfg.Env}
	if len(c.argv) == 0 {
		c.argv = []string{"claude"}
	}
	if len(c.env) == 0 {
		c.env = credentials
	}
	return c, nil
}

// Run runs the program in the codebase. A value that fails t.Check is sent back
// once, in the same session.
func (c *Client) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	for _, name := range t.Tools {
		if !slices.Contains(tools, name) {
			return agent.Result{}, sysexit.With(sysexit.Software, fmt.Errorf("claude has no tool %q", name))
		}
	}
	home, remove, err := homeOf(t)
	if err != nil {
		return agent.Result{}, err
	}
	defer remove()
	first, err := c.turn(ctx, t, home, []string{"--session-id", t.SessionID}, t.Prompt)
	if err != nil {
		return agent.Result{}, err
	}
	res := agent.Result{Value: first.value, Model: first.model, SessionID: t.SessionID, Usage: first.usage}
	if first.fault == nil {
		return res, nil
	}
	second, err := c.turn(ctx, t, home, []string{"--resume", t.SessionID}, repair(t, first.fault))
	if err != nil {
		return agent.Result{}, fmt.Errorf("send back %q: %w", first.fault, err)
	}
	if second.fault != nil {
		return agent.Result{}, sysexit.With(sysexit.Unavailable, fmt.Errorf("what claude gave back, twice: %w", second.fault))
	}
	res.Value, res.Usage = second.value, sum(first.usage, second.usage)
	return res, nil
}

// homeOf is a folder for the program's own files: in the run's folder, or one
// that is gone afterwards.
func homeOf(t agent.Task) (dir string, remove func(), err error) {
	if t.Dir == "" {
		dir, err = os.MkdirTemp("", "tri-claude-")
		remove = func() { _ = os.RemoveAll(dir) } // a leftover in the temporary folder
	} else {
		dir, remove = filepath.Join(t.Dir, "home"), func() {}
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", nil, sysexit.With(sysexit.IO, fmt.Errorf("make a home for claude: %w", err))
	}
	return dir, remove, nil
}

func repair(t agent.Task, fault error) string {
	if t.Repair != nil {
		return t.Repair(fault)
	}
	return "That cannot be used: " + fault.Error()
}

// command is the argument vector of one run. Nothing from a chat is in it.
func (c *Client) command(t agent.Task, session []string) []string {
	argv := append(slices.Clone(c.argv), "-p", "--output-format", "stream-json", "--verbose", "--restricted",
		"--tools", strings.Join(t.Tools, ","), "--strict-mcp-config", "--settings", private)
	if schema := plain(t.Schema); schema != "" {
		argv = append(argv, "--json-schema", schema)
	}
	if c.model != "" {
		argv = append(argv, "--model", c.model)
	}
	if c.budget > 0 {
		argv = append(argv, "--max-budget-usd", strconv.FormatFloat(c.budget, 'f', -1, 64))
	}
	return append(argv, session...)
}

// plain is a schema without the names of its dialect and itself: the program's
// own reader knows no dialect by name and refuses the schema. "" where there is
// none: the value is checked here in any case.
func plain(schema []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return ""
	}
	delete(members, "$schema")
	delete(members, "$id")
	text, err := json.Marshal(members)
	if err != nil {
		return ""
	}
	return string(text)
}

// sum adds what two runs of one session took. Tokens and turns are per run. Cost
// is the session's so far in newer versions and the run's own in older ones: the
// larger second figure can only be a sum.
func sum(a, b draft.Usage) draft.Usage {
	u := draft.Usage{
		InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens,
		DurationMS: a.DurationMS + b.DurationMS, Turns: a.Turns + b.Turns, CostUSD: b.CostUSD,
	}
	if a.CostUSD != nil && b.CostUSD != nil && *b.CostUSD < *a.CostUSD {
		both := *a.CostUSD + *b.CostUSD
		u.CostUSD = &both
	}
	return u
}
