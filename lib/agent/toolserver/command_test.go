package toolserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/sandbox/sandboxtest"
)

// lentTo opens a gate with commands as a server, and goes through it.
func lentTo(t *testing.T, sandbox string, s config.Server) *programEnd {
	t.Helper()
	sandboxtest.Path(t)
	s.Name = "s"
	for _, c := range s.Commands {
		s.Tools = append(s.Tools, c.Name)
	}
	dir := t.TempDir()
	g, err := Open(t.Context(), Place{Dir: dir, Sandbox: sandbox}, []config.Server{s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return connect(t, g.Servers[0].Command[2], dir)
}

// use calls a tool, and returns the text and whether it is an error.
func (p *programEnd) use(tool string, arguments any) (string, bool) {
	p.Helper()
	call, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		p.Fatal(err)
	}
	var got struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	said := p.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":` + string(call) + `}`)
	if err := json.Unmarshal([]byte(said), &got); err != nil || len(got.Result.Content) != 1 {
		return said, true
	}
	return got.Result.Content[0].Text, got.Result.IsError
}

// A value is one argument, whatever is in it; what could be an option, or more than one line, is refused.
func TestHostileValues(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	hole := func(names ...string) (all []config.Hole) {
		for _, name := range names {
			all = append(all, config.Hole{Name: name})
		}
		return all
	}
	p := lentTo(t, "off", config.Server{Commands: []config.Command{
		{Name: "show", Argv: []string{"printf", "[%s]", "{a}", "--flag={b}"}, Holes: hole("a", "b")},
		{Name: "sort", Argv: []string{"sort", "{a}"}, Holes: hole("a")},
		{Name: "sorts", Argv: []string{"sort", "--", "{a}"}, Holes: hole("a")},
		{Name: "since", Argv: []string{"printf", "[%s]", "{a}"},
			Holes: []config.Hole{{Name: "a", Values: []string{"-1h", "-24h"}}}},
		{Name: "id", Argv: []string{"printf", "[%s]", "{a}"},
			Holes: []config.Hole{{Name: "a", Pattern: "[0-9]+|all"}}},
	}})
	p.ask(askHello)
	for _, tt := range []struct {
		tool string
		give any
		want string
		bad  bool
	}{
		{"show", map[string]string{"a": "$(touch " + mark + ")", "b": "`touch " + mark + "`; touch " + mark},
			"[$(touch " + mark + ")][--flag=`touch " + mark + "`; touch " + mark + "]", false},
		{"show", map[string]string{"a": "x --o {b}", "b": "-o {a}"}, "[x --o {b}][--flag=-o {a}]", false},
		{"show", map[string]string{"a": "x", "b": "x\ny"}, "line break", true},
		{"show", map[string]string{"a": "x\x00y", "b": "x"}, "control character", true},
		{"show", map[string]string{"a": strings.Repeat("x", 1<<20), "b": "x"}, "more than 4096 bytes", true},
		{"show", map[string]string{"a": "", "b": "x"}, "empty", true},
		{"show", map[string]string{"a": "x"}, `"b" is missing`, true},
		{"show", map[string]string{"a": "x", "b": "x", "c": "x"}, `no argument "c"`, true},
		{"show", map[string]any{"a": "x", "b": []string{"x", "y"}}, "object of strings", true},
		{"sort", map[string]string{"a": "-o" + mark}, `begins with "-"`, true},
		{"sort", map[string]string{"a": "--output=" + mark}, `begins with "-"`, true},
		{"sorts", map[string]string{"a": "--output=" + mark}, "status 2", true}, // there is no such file
		{"since", map[string]string{"a": "-24h"}, "[-24h]", false},
		{"since", map[string]string{"a": "-25h"}, "not one of", true},
		{"id", map[string]string{"a": "17"}, "[17]", false},
		{"id", map[string]string{"a": "17 all"}, "does not match", true},
		{"id", map[string]string{"a": "allx"}, "does not match", true},
	} {
		if got, bad := p.use(tt.tool, tt.give); bad != tt.bad || !strings.Contains(got, tt.want) ||
			!bad && got != tt.want {
			t.Errorf("%s of %.200v: %v, %q", tt.tool, tt.give, bad, got)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a value has made a file")
	}
	if log := p.log(); strings.Count(log, "\n") != 12 || !strings.Contains(log, `"tool":"sort","why":`) {
		t.Errorf("log %s", log)
	}
}

// A command runs within walls, with its variables, whose values are not in what it prints.
func TestCommandWithinWalls(t *testing.T) {
	sandboxtest.Path(t)
	t.Setenv("LOGS_TOKEN", "token-of-the-logs")
	t.Setenv("OTHER_TOKEN", "token-of-another")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("CONTENT"), 0o600); err != nil {
		t.Fatal(err)
	}
	peer, err := Connect(t.Context(), Place{Dir: t.TempDir(), Sandbox: "required"},
		config.Server{Name: "s", Env: []string{"LOGS_TOKEN"}, Commands: []config.Command{
			{Name: "print", Argv: []string{"bash", "-c", `env; echo "${#LOGS_TOKEN}"; cat ` + outside}},
			{Name: "gone", Argv: []string{"/nonexistent/program"}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if len(peer.Tools) != 1 || !strings.HasPrefix(fmt.Sprint(peer.Faults), "[tool gone of server s is left out: ") {
		t.Errorf("tools %v, faults %v", peer.Tools, peer.Faults)
	}
	got, failed, err := peer.Call(t.Context(), "print", []byte("{}"))
	if err != nil || !failed || !strings.Contains(got, "LOGS_TOKEN=($LOGS_TOKEN)") ||
		!strings.Contains(got, "\n17\n") || strings.Contains(got, "token-of") || strings.Contains(got, "CONTENT") {
		t.Errorf("%v, %v: %s", failed, err, got)
	}
}

// What a command prints, and how long it runs, is limited; its tools say what they take.
func TestCommandLimits(t *testing.T) {
	p := lentTo(t, "off", config.Server{Commands: []config.Command{
		{Name: "flood", Argv: []string{"yes", strings.Repeat("x", 100)}},
		{Name: "much", Argv: []string{"seq", "100000"}},
		{Name: "line", Argv: []string{"head", "-c", "9000000", "/dev/zero"}},
		{Name: "waits", Argv: []string{"sleep", "900"}, TimeoutSec: 1},
		{Name: "nothing", Description: "says nothing", Argv: []string{"true", "{a}"}, Holes: []config.Hole{
			{Name: "a", Description: "An id", Pattern: "[0-9]+"}}},
	}})
	p.ask(askHello)
	const a = `{"type":"string","description":"An id (It must match [0-9]+)","maxLength":4096}`
	if got := p.ask(askList); !strings.Contains(got, `{"name":"nothing","description":"says nothing","inputSchema":`+
		`{"additionalProperties":false,"properties":{"a":`+a+`},"required":["a"],"type":"object"}}`) {
		t.Errorf("list %s", got)
	}
	for tool, want := range map[string]string{"flood": "x\n(cut here", "much": "\n(cut here",
		"line": "\n(cut here", "nothing": "(it printed nothing)", "waits": "waits was ended after 1s"} {
		give := map[string]string{}
		if tool == "nothing" {
			give["a"] = "1"
		}
		got, bad := p.use(tool, give)
		if len(got) > maxPrint+100 || !strings.Contains(got, want) || bad != (tool == "waits") {
			t.Errorf("%s: %v, %d bytes, %.200s", tool, bad, len(got), got)
		}
	}
}
