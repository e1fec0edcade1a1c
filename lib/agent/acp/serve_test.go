package acp

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/sandbox/sandboxtest"
	"tri/lib/judge/codebase"
)

func TestAnswersByTheRule(t *testing.T) {
	sandboxtest.Path(t)
	for _, write := range []bool{false, true} {
		var codebase string
		res, got, err := scene(t, context.Background(), "asks", func(t *agent.Task) {
			t.Write, codebase = write, t.Codebase
			t.Servers = []config.Server{{Name: "peer", Command: []string{"false"}, Tools: []string{"find"}}}
		})
		if err != nil || string(res.Value) != `{"answer":42}` || res.SessionID != "s-1" {
			t.Fatalf("%+v, %v", res, err)
		}
		changes, file := `"no"`, "nothing may be written"
		if write {
			changes, file = `"yes"`, "{}"
		}
		for _, want := range []string{
			`read {"outcome":{"optionId":"yes"`, `search {"outcome":{"optionId":"yes"`,
			`edit {"outcome":{"optionId":` + changes, `delete {"outcome":{"optionId":` + changes,
			`execute {"outcome":{"optionId":"no"`, `fetch {"outcome":{"optionId":"no"`,
			`other {"outcome":{"optionId":"no"`, "\n {\"outcome\":{\"optionId\":\"no\"",
			`peer_find {"outcome":{"optionId":"yes"`, `find (peer MCP Server) {"outcome":{"optionId":"yes"`,
			"\nfind {\"outcome\":{\"optionId\":\"no\"",
			`peer_erase {"outcome":{"optionId":"no"`, `shell {"outcome":{"optionId":"no"`,
			`as Qwen Code {"outcome":{"optionId":"yes"`,
			`no options {"outcome":{"outcome":"cancelled"`,
			`{"path":"a.txt"} {"content":"one\ntwo\nthree\n"}`, `"limit":1} {"content":"two\n"}`,
			`{"path":".env"} error: `, `{"path":"none.txt"} error: Resource not found: `,
			`{"path":"../x"} error: `, `{"path":".agents/n"} error: `, `{"path":7} error: `,
			"terminal error: ",
			"write new.txt " + map[bool]string{true: file, false: "error: " + file}[write],
			"write ../out.txt error: ", "write .git/hooks/x error: ",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("write %v: %q is not in\n%s", write, want, got)
			}
		}
		if strings.Contains(got, "secret") {
			t.Error("a secret was read")
		}
		if text, err := os.ReadFile(filepath.Join(codebase, "new.txt")); (err == nil &&
			string(text) == "made") != write {
			t.Errorf("write %v: %q, %v", write, text, err)
		}
	}
}

// Whatever a program asks, it gets an answer and nothing outside the codebase.
func FuzzServe(f *testing.F) {
	dir := f.TempDir()
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		f.Fatal(err)
	}
	tree, err := codebase.Open(dir, nil, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { tree.Close() })
	for _, seed := range [][2]string{
		{"fs/read_text_file", `{"path":"../outside","line":-1,"limit":-1}`},
		{"fs/write_text_file", `{"path":"../outside","content":"x"}`},
		{"session/request_permission", `{"options":[{}]}`}, {"fs/read_text_file", `[]`},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		if bytes.Contains(params, []byte("content")) && len(params) > 1<<10 {
			return
		}
		c := &conversation{tree: tree}
		c.turn.Task.Write = true
		if method == "session/request_permission" {
			return // it emits an event, for which it needs a run
		}
		result, _ := c.serve(method, params)
		if o, ok := result.(object); ok && o["content"] == "outside" {
			t.Errorf("%s %q read outside", method, params)
		}
		if text, err := os.ReadFile(outside); err != nil || string(text) != "outside" {
			t.Fatalf("%s %q wrote outside: %q, %v", method, params, text, err)
		}
	})
}
