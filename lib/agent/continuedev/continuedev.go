// Package continuedev runs Continue: `cn -p`, with an endpoint of the OpenAI or Anthropic kind.
// Its behaviour was observed with version 1.5.47 and a scripted model (scripts/peers/agents
// repeats this):
//
//   - it reads its prompt from standard input only if no argument follows -p, not even an
//     option's;
//   - it reports nothing while it works, and at the end one JSON object, its own if the
//     answer is not JSON; an error is printed on standard error;
//   - without a person to ask it allows every tool, including commands: a file of rules
//     denies what no argument allows;
//   - the session's name and tokens are in a file in its home; the price there is an
//     estimate;
//   - it resumes only the newest session of its home.
package continuedev

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
	"tri/lib/base/lazyregexp"
)

// tools maps a task's tools to the names that the program has for them.
var tools = map[string][]string{"Read": {"Read", "List"}, "Grep": {"Search"}, "Glob": {"List"},
	"Write": {"Edit", "MultiEdit", "Write"}}

const (
	sessions   = ".continue/sessions"
	maxSession = 64 << 20 // size of its file, in bytes
	maxReturn  = 4 << 20  // of its output, in bytes
)

var anthropic = program.Model{Key: "ANTHROPIC_API_KEY", Header: program.XAPIKey, Base: "ANTHROPIC_BASE_URL",
	Usual: "https://api.anthropic.com/v1"}

// New takes program, model and environment from cfg. The endpoint is OPENAI_BASE_URL or, for a
// model whose name begins with "claude", Anthropic's.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "continue", func(c *program.Client) {
		c.AssignsSessionID, c.Servers, c.Since = true, true, program.TokensSince
		c.Models = []program.Model{program.OpenAI, anthropic}
		c.Can, c.Start = agent.Capabilities{Resumes: true, Writes: true, Servers: true, Narrows: true}, call
	})
}

func call(t program.Turn) (program.Call, error) {
	call := program.Call{
		Set: []string{"CONTINUE_TELEMETRY_ENABLED=0", "NO_COLOR=1"}, MaxOutput: maxReturn,
		Line: func(line []byte, s *program.Seen) { s.Add(string(line) + "\n") },
		Exit: func(e proc.Exit, s *program.Seen) { end(t, e, s) },
	}
	if t.Again {
		if err := newest(t.Home, t.Session); err != nil {
			return call, err
		}
	}
	model, reach := model(t)
	call.Reach = reach
	file, err := t.WriteJSON("continue.yaml", map[string]any{ // JSON is YAML
		"name": "tri", "version": "1", "schema": "v1", "models": []any{model}, "mcpServers": servers(t),
	})
	if err != nil {
		return call, err
	}
	if _, err := t.Write(".continue/permissions.yaml",
		[]byte("allow: []\nask: []\nexclude: [\"*\"]\n")); err != nil {
		return call, err
	}
	call.Args = []string{"--config", file, "--format", "json"}
	for _, name := range allowed(t) {
		call.Args = append(call.Args, "--allow", name)
	}
	if t.Again {
		call.Args = append(call.Args, "--resume")
	}
	call.Args = append(call.Args, "-p")
	return call, nil
}

// model returns the one model of its configuration, and its endpoint.
func model(t program.Turn) (map[string]any, []string) {
	name, provider, at := cmp.Or(t.Model, "default"), "openai", program.OpenAI
	if strings.HasPrefix(name, "claude") {
		provider, at = "anthropic", anthropic
	}
	return map[string]any{
		"name": name, "provider": provider, "model": name, "apiBase": cmp.Or(t.Base(at.Base), at.Usual),
		"apiKey": "${{ secrets." + at.Key + " }}",
		"roles":  []string{"chat", "edit", "apply"},
	}, t.Endpoint(at.Usual, at.Base)
}

// allowed returns the only tools that it may use.
func allowed(t program.Turn) []string {
	all := program.Tools(t, tools)
	for _, command := range program.Commands(t.Task) {
		all = append(all, "Bash("+command+"*)")
	}
	for _, s := range t.Task.Servers {
		all = append(all, s.Tools...)
	}
	return all
}

// servers returns the tool servers in the program's format.
func servers(t program.Turn) []map[string]any {
	list := []map[string]any{}
	for name, s := range t.Servers() {
		s["name"] = name
		list = append(list, s)
	}
	return list
}

// end reads the results that are available only after the exit.
func end(t program.Turn, e proc.Exit, s *program.Seen) {
	if name, err := last(t.Home); err == nil {
		readSession(t.Home, name, s)
	}
	var said struct {
		Status   string  `json:"status"`
		Message  string  `json:"message"`
		Response *string `json:"response"`
		Note     string  `json:"note"`
	}
	switch {
	case failed(e.Stderr, &said) && said.Status == "error":
		s.Err = apiError(said.Message)
	case e.Status == 0 && !e.Flooded:
		if json.Unmarshal([]byte(s.Text()), &said) == nil && said.Response != nil && said.Note != "" {
			s.Say(*said.Response) // text, which the program wrapped in an object of its own
		}
		s.End()
	}
}

// failed parses the last line of standard error.
func failed(stderr string, into any) bool {
	stderr = strings.TrimSpace(stderr)
	return json.Unmarshal([]byte(stderr[strings.LastIndexByte(stderr, '\n')+1:]), into) == nil
}

var status = lazyregexp.New(`^(\d{3})\b`)

func apiError(message string) error {
	code := 0
	if m := status.FindStringSubmatch(message); m != nil {
		code, _ = strconv.Atoi(m[1]) // three digits
	}
	return program.Refused(code, message, "OPENAI_API_KEY")
}

// last returns the file of the newest session of its home, the one that it resumes. The agent can
// write to home, so no link out of it is followed, and no pipe waited for.
func last(home string) (name string, err error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return "", err
	}
	defer root.Close()
	dir, err := root.OpenFile(sessions, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	files, err := dir.Readdir(1000)
	if err != nil {
		return "", err
	}
	files = slices.DeleteFunc(files, func(f os.FileInfo) bool {
		return !f.Mode().IsRegular() || path.Ext(f.Name()) != ".json" || f.Name() == "sessions.json" ||
			f.Size() > maxSession
	})
	if len(files) == 0 {
		return "", os.ErrNotExist
	}
	return slices.MaxFunc(files, func(a, b os.FileInfo) int {
		return a.ModTime().Compare(b.ModTime())
	}).Name(), nil
}

// newest refuses to resume a session that is not the newest.
func newest(home, want string) error {
	if name, err := last(home); err != nil || name != want+".json" {
		return program.NoSession("it can only continue the newest session of its home, which is " + name)
	}
	return nil
}

// readSession reads name and tokens of the session from its file.
func readSession(home, name string, s *program.Seen) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer root.Close()
	f, err := root.OpenFile(path.Join(sessions, name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var kept struct {
		SessionID string `json:"sessionId"`
		Usage     struct {
			Prompt     int64 `json:"promptTokens"`
			Completion int64 `json:"completionTokens"`
		} `json:"usage"`
	}
	if json.NewDecoder(io.LimitReader(f, maxSession)).Decode(&kept) != nil || kept.SessionID+".json" != name {
		return
	}
	s.Session(kept.SessionID)
	if u := kept.Usage; u.Prompt > 0 || u.Completion > 0 {
		s.Usage.InputTokens, s.Usage.OutputTokens, s.Told = u.Prompt, u.Completion, true
	}
}
