// Package aider runs aider: `aider --message-file`. It could not be installed during development:
// its behaviour is taken from its manual, and the adapter was tested against scripts that print
// such text.
//
//   - it prints plain text, with lines about itself around the answer;
//   - it exits with status 0 when its model fails: only the text says so;
//   - it reports rounded token counts, so tokens are unknown; it reports the cost of the
//     session;
//   - it reads its settings from the codebase, unless files are named;
//   - it chooses the files that it answers from, and runs no commands.
//
// https://aider.chat/docs/scripting.html, https://aider.chat/docs/config/options.html
package aider

import (
	"path/filepath"
	"strconv"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
)

// always are the arguments of every run: it asks no questions, and neither commits, fetches nor
// reports anything.
var always = []string{
	"--yes-always", "--no-stream", "--no-pretty", "--no-fancy-input", "--no-auto-commits",
	"--no-dirty-commits", "--no-gitignore",
	"--no-check-update", "--no-show-release-notes", "--no-analytics", "--no-suggest-shell-commands",
	"--no-detect-urls",
	"--no-show-model-warnings", "--no-auto-lint", "--no-auto-test",
}

// unseen are files that it ignores, in gitignore syntax.
const unseen = ".env*\n*.pem\n*.key\nid_rsa*\n.netrc\n.git/\n"

// New takes program, model and environment from cfg.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "aider", func(c *program.Client) {
		c.Stateless, c.Can, c.Start = true, agent.Capabilities{Writes: true, Cost: true}, call
		c.Models = []program.Model{
			{Key: "OPENAI_API_KEY", Header: program.Bearer, Base: "OPENAI_API_BASE",
				Usual: "https://api.openai.com/v1"},
			{Key: "ANTHROPIC_API_KEY", Header: program.XAPIKey, Base: "ANTHROPIC_API_BASE",
				Usual: "https://api.anthropic.com"},
		}
	})
}

func call(t program.Turn) (program.Call, error) {
	call := program.Call{Line: line, Exit: exit}
	call.Reach = append(t.Endpoint("https://api.openai.com", "OPENAI_API_BASE"),
		t.Endpoint("https://api.anthropic.com", "ANTHROPIC_API_BASE")...)
	files := map[string]string{
		"--message-file": t.Prompt, "--config": "", "--env-file": "",
		"--aiderignore": unseen + strings.Join(t.Task.Hidden, "\n") + "\n",
	}
	call.Args = append([]string{}, always...)
	for _, option := range []string{"--message-file", "--config", "--env-file", "--aiderignore"} {
		name, err := t.Write(filepath.Join("aider", strings.TrimPrefix(option, "--")), []byte(files[option]))
		if err != nil {
			return call, err
		}
		call.Args = append(call.Args, option, name)
	}
	call.Args = append(call.Args, "--chat-history-file", filepath.Join(t.Home, "aider", "chat.md"),
		"--input-history-file", filepath.Join(t.Home, "aider", "input"))
	if !t.Task.Write {
		call.Args = append(call.Args, "--chat-mode", "ask", "--dry-run")
	}
	call.Option("--model", t.Model)
	return call, nil
}

var (
	// about matches the program's lines about itself.
	about = lazyregexp.New(`^(Aider v\d|Main model: |Model: |Weak model: |Editor model: |Git repo: |Repo-map: |Added .* to the chat|Use /help |Cost estimates|Dropping |Warning for |Did not apply)`)
	spent = lazyregexp.New(`^Tokens: .* sent, .* received\.(?: Cost: \$[0-9.]+ message, \$([0-9.]+) session\.)?`)
	wrong = lazyregexp.New(`^litellm\.(\w+?)(?:Error|Exception)?: `)
)

// statuses maps the program's names of endpoint errors to HTTP statuses.
var statuses = map[string]int{
	"Authentication": 401, "PermissionDenied": 403, "NotFound": 404, "RateLimit": 429, "BadRequest": 400,
	"ContextWindowExceeded": 400,
	"InternalServer":        500, "ServiceUnavailable": 503, "APIConnection": 0, "Timeout": 504,
}

func line(line []byte, s *program.Seen) {
	text := string(line)
	switch {
	case spent.MatchString(text):
		if usd, err := strconv.ParseFloat(spent.FindStringSubmatch(text)[1], 64); err == nil {
			s.Usage.CostUSD = &usd
		}
		s.Milestone(text)
	case wrong.MatchString(text):
		s.Milestone(text)
		s.Err = program.Refused(statuses[wrong.FindStringSubmatch(text)[1]], text,
			"OPENAI_API_KEY or ANTHROPIC_API_KEY")
	case about.MatchString(text):
		s.Milestone(text)
	default:
		s.Add(text + "\n")
	}
}

func exit(e proc.Exit, s *program.Seen) {
	if s.Err != nil && len(strings.TrimSpace(string(s.Text()))) > 0 && e.Status == 0 {
		s.Err = nil // it retried, and answered
	}
	if e.Status == 0 && !e.Flooded {
		s.End()
	}
}
