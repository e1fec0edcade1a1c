package codex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/program"
)

// served runs a script as the app-server. It opens a thread and a turn; words are said when the
// script makes a file `say-KIND`.
func served(t *testing.T, script string) (res agent.Result, said, heard string, err error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	text := `D='` + dir + `'
take() { read -r l; echo "$l" >>$D/in; }
ok() { echo '{"id":'$1',"result":'"${2:-{\}}"'}'; }
say() { touch $D/say-$1; }
turn() { echo '{"method":"turn/'$1'","params":{"turn":{"id":"t-'$2'","status":"'$3'"}}}'; }
user() { echo '{"method":"item/completed","params":{"item":{"type":"userMessage","clientId":"w-'$1'"}}}'; }
agent() { echo '{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"'$1'"}}}'; echo '{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"total":{"inputTokens":5,"outputTokens":7}}}}'; }
`
	if !strings.HasPrefix(script, "#") {
		text += `take; ok 1; take; take; ok 2 '{"thread":{"id":"th-1"},"model":"stub"}'; take; ok 3; turn started 1 inProgress
`
	}
	if err := os.WriteFile(path, []byte(text+script+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	words := make(chan agent.Word)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			names, _ := filepath.Glob(filepath.Join(dir, "say-*")) // the pattern is constant
			for _, name := range names {
				kind := strings.TrimPrefix(filepath.Base(name), "say-")
				switch err := os.Remove(name); {
				case kind == "cancel":
					cancel()
				case err == nil:
					words <- agent.Word{ID: "w-" + kind, Kind: kind, Text: "only " + kind}
				}
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	var ears []string
	res, err = newClient(t, []string{"bash", path}, "off").Run(ctx, agent.Task{
		Prompt: "where?", Codebase: t.TempDir(), Dir: t.TempDir(), Words: words,
		Heard: func(id, how string) { ears = append(ears, strings.TrimPrefix(id, "w-")+" "+how) },
	})
	in, _ := os.ReadFile(filepath.Join(dir, "in")) // none if it read nothing
	return res, string(in), strings.Join(ears, ", "), err
}

func TestServer(t *testing.T) {
	for _, tt := range []struct{ name, script, want, text, heard string }{
		{"nothing is said", `agent done; turn completed 1 completed; cat >/dev/null`, "where?", "done", ""},
		{"a word", `say append; take; ok 4; user append; agent done; turn completed 1 completed; cat >/dev/null`, "turn/steer", "done", "append sent, append taken"},
		{"a correction", `say redirect; take; ok 4; turn completed 1 interrupted; take; ok 5; turn started 2 inProgress; user redirect; agent done; turn completed 2 completed; cat >/dev/null`,
			"turn/interrupt", "done", "redirect sent, redirect taken"},
		{"a word that comes too late",
			`say append; take; echo '{"id":4,"error":{"code":-32600,"message":"no active turn to steer"}}'; agent first; turn completed 1 completed
take; ok 5; turn started 2 inProgress; user append; agent second; turn completed 2 completed; cat >/dev/null`,
			"only append", "second", "append sent, append sent, append taken"},
		{"a word before the turn",
			`say append; take; user append; agent done; turn completed 1 completed; cat >/dev/null`,
			"turn/steer", "done", "append sent, append taken"},
	} {
		res, said, heard, err := served(t, tt.script)
		if err != nil || res.Text != tt.text || heard != tt.heard || !strings.Contains(said, tt.want) ||
			res.SessionID != "th-1" || res.Usage.InputTokens != 5 {
			t.Errorf("%s: %q, %q, %q, %+v, %v", tt.name, res.Text, said, heard, res.Usage, err)
		}
	}
}

// TestCancelled: the turn in progress is interrupted, words that wait begin no other, and what it
// used is known.
func TestCancelled(t *testing.T) {
	begin := time.Now()
	res, said, _, err := served(t, `agent so far; say append; take; ok 4; say cancel; take; ok 5
turn completed 1 interrupted; sleep 900`)
	if !errors.Is(err, context.Canceled) || time.Since(begin) > time.Second ||
		!strings.Contains(said, "turn/interrupt") || strings.Count(said, "turn/start") != 1 ||
		res.Usage.InputTokens != 5 {
		t.Errorf("%q, %+v, %v after %v", said, res.Usage, err, time.Since(begin))
	}
}

func TestServerFails(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         error
		says         string
	}{
		{"no app-server", "#\n" + `echo "error: unrecognized subcommand 'app-server'" >&2; exit 2`,
			agent.ErrNoSteer, ""},
		{"another protocol",
			"#\n" + `take; echo '{"id":1,"error":{"code":-32601,"message":"no"}}'; cat >/dev/null`,
			agent.ErrNoSteer, ""},
		{"the turn fails",
			`echo '{"method":"turn/completed","params":{"turn":{"id":"t-1","status":"failed","error":{"message":"unexpected status 429 slow"}}}}'; cat >/dev/null`, nil, "429"},
		{"a hostile name",
			"#\n" + `take; ok 1; take; take; ok 2 '{"thread":{"id":"../../x"}}'; cat >/dev/null`,
			nil, "no usable name"},
		{"it dies", `kill -9 $$`, nil, "137"},
	} {
		_, _, _, err := served(t, tt.script)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) ||
			!strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzServer(f *testing.F) {
	for _, text := range []string{
		`{"id":1,"result":{}}`, `{"method":"turn/completed","params":{"turn":{"status":"completed"}}}`,
		`{"id":"x","method":"ask"}`,
		`{"method":"item/started","params":{"item":{"type":"commandExecution","commandActions":[{"type":"read","path":"a"}]}}}`, "{", "null",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 {
			return
		}
		call := new(program.Call)
		serve(program.Turn{}, call, nil)
		s := new(program.Seen)
		call.Talk(discard{}, s)
		call.Line(text, s)
		call.Line(text, s)
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
