package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/rpc"
	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	record "tri/lib/record/run"
)

// speaker is the test binary as a program that speaks the protocol.
type speaker struct{ in *bufio.Reader }

// hear returns the next message to the program.
func (p *speaker) hear() rpc.Message {
	line, err := p.in.ReadString('\n')
	if err != nil {
		os.Exit(0)
	}
	var h rpc.Message
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		panic(err)
	}
	return h
}

// note keeps text where the test finds it.
func (p *speaker) note(name, text string) {
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), name), []byte(text), 0o600); err != nil {
		panic(err)
	}
}

func (p *speaker) say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (p *speaker) answer(result string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, p.hear().ID, result)
}

// ask asks the client and gives its answer back, as it came.
func (p *speaker) ask(method, params string) string {
	p.say(`{"jsonrpc":"2.0","id":"ask","method":%q,"params":%s}`, method, params)
	h := p.hear()
	if h.Error != nil {
		return "error: " + h.Error.Error()
	}
	return string(h.Result)
}

// open answers up to the prompt, and gives that back.
func (p *speaker) open(loads string) rpc.Message {
	p.answer(`{"protocolVersion":1,"agentCapabilities":{"loadSession":` + loads + `}}`)
	h := p.hear()
	p.say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s-1"}}`, h.ID)
	return p.hear()
}

func (p *speaker) end(id json.RawMessage, text, why string) {
	p.say("%s", chunk("agent_message_chunk", text))
	p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":%q}}`, id, why)
}

const options = `"options":[{"optionId":"always","kind":"allow_always"},{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]`

var scenes = map[string]func(p *speaker){
	"asks": func(p *speaker) {
		prompt := p.open("true")
		var got strings.Builder
		for _, kind := range []string{"read", "search", "edit", "delete", "execute", "fetch", "other", ""} {
			fmt.Fprintln(&got, kind, p.ask("session/request_permission",
				`{"toolCall":{"kind":"`+kind+`","title":"t"},`+options+`}`))
		}
		for _, title := range []string{"peer_find", "find (peer MCP Server)", "find", "peer_erase"} {
			fmt.Fprintln(&got, title, p.ask("session/request_permission",
				`{"toolCall":{"kind":"other","title":"`+title+`"},`+options+`}`))
		}
		fmt.Fprintln(&got, "as Qwen Code",
			p.ask("session/request_permission",
				`{"toolCall":{"kind":"other","title":"{}"},"options":[{"optionId":"all","kind":"allow_always","name":"Always Allow in project: find"},{"optionId":"yes","kind":"allow_once","name":"Allow"}]}`))
		fmt.Fprintln(&got, "shell", p.ask("session/request_permission",
			`{"toolCall":{"kind":"execute","title":"peer_find"},`+options+`}`))
		fmt.Fprintln(&got, "no options", p.ask("session/request_permission",
			`{"toolCall":{"kind":"read"},"options":[]}`))
		for _, params := range []string{`{"path":"a.txt"}`, `{"path":"a.txt","line":2,"limit":1}`,
			`{"path":".env"}`, `{"path":"none.txt"}`, `{"path":"../x"}`, `{"path":".agents/n"}`,
			`{"path":7}`} {
			fmt.Fprintln(&got, "read", params, p.ask("fs/read_text_file", params))
		}
		for _, path := range []string{"new.txt", "../out.txt", ".git/hooks/x"} {
			fmt.Fprintln(&got, "write", path,
				p.ask("fs/write_text_file", `{"path":"`+path+`","content":"made"}`))
		}
		fmt.Fprintln(&got, "terminal", p.ask("terminal/create", `{"command":"id"}`))
		p.note("got", got.String())
		p.end(prompt.ID, `{"answer":42}`, "end_turn")
	},
	"waits": func(p *speaker) {
		prompt := p.open("true")
		p.note("begun", "")
		h := p.hear()
		p.note("got", h.Method+string(h.Params))
		p.end(prompt.ID, "", "cancelled")
	},
	"forgets": func(p *speaker) {
		prompt := p.open("false")
		text := `{"answer":42}`
		if !strings.Contains(string(prompt.Params), "twice as good") {
			text = `{"answer":"many"}`
		}
		p.note("got", string(prompt.Params))
		p.end(prompt.ID, text, "end_turn")
	},
	"tells as Qwen Code": func(p *speaker) {
		prompt := p.open("true")
		for range 2 {
			p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":5,"outputTokens":7}}}}}`)
		}
		p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","status":"pending","title":"read","kind":"read","rawInput":{}}}}`)
		p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress","rawInput":{"filePath":"a.txt"}}}}`)
		p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}}}`)
		p.end(prompt.ID, `{"answer":42}`, "end_turn")
	},
	"last words before a tool": func(p *speaker) {
		prompt := p.open("false")
		p.say("%s", chunk("agent_message_chunk", `{"answer":42}`))
		p.say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","title":"Read a"}}}`)
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, prompt.ID)
	},
	// Gemini CLI replays the history of a loaded session after its answer.
	"tells of old late": func(p *speaker) {
		p.answer(`{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
		h := p.hear()
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s-1"}}`, h.ID)
		past := [][2]string{{"user_message_chunk", "hi"}, {"agent_message_chunk", "long ago {}"},
			{"user_message_chunk", "what?"}, {"agent_message_chunk", `{"answer":"many"}`}}
		if h.Method == "session/new" {
			past = nil
		}
		for h = p.hear(); ; h = p.hear() {
			if len(past) > 0 {
				p.say("%s", chunk(past[0][0], past[0][1]))
				past = past[1:]
			}
			if h.Method == "session/prompt" {
				break
			}
			p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, h.ID)
		}
		if strings.Contains(string(h.Params), "what?") {
			p.end(h.ID, `{"answer":"many"}`, "end_turn")
			return
		}
		p.end(h.ID, `{"answer":42}`, "end_turn")
	},
	// Words: as opencode, which folds a second prompt into the turn; as Qwen Code, which ends the first
	// with an error; two turns; and a correction, by a cancelled turn.
	"folds": func(p *speaker) {
		first := p.open("true")
		p.note("begun", "")
		second := p.hear()
		p.note("got", string(second.Params))
		p.say("%s", chunk("agent_message_chunk", `{"answer":42}`))
		for _, h := range []rpc.Message{first, second} {
			p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, h.ID)
		}
	},
	"aborts": func(p *speaker) {
		first := p.open("true")
		p.note("begun", "")
		second := p.hear()
		p.note("got", string(second.Params))
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Request was aborted."}}`, first.ID)
		p.end(second.ID, `{"answer":42}`, "end_turn")
	},
	"two turns": func(p *speaker) {
		first := p.open("true")
		p.note("begun", "")
		second := p.hear()
		p.note("got", string(second.Params))
		p.end(first.ID, `{"answer":"many"}`, "end_turn")
		p.end(second.ID, `{"answer":42}`, "end_turn")
	},
	"is corrected": func(p *speaker) {
		first := p.open("true")
		p.note("begun", "")
		cancel := p.hear()
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`, first.ID)
		second := p.hear()
		p.note("got", cancel.Method+string(second.Params))
		p.end(second.ID, `{"answer":42}`, "end_turn")
	},
	"fails when told": func(p *speaker) {
		first := p.open("true")
		p.note("begun", "")
		second := p.hear()
		p.note("got", string(second.Params))
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"aborted"}}`, first.ID)
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the model is gone"}}`, second.ID)
		p.hear()
	},
	"old":      func(p *speaker) { p.answer(`{"protocolVersion":0}`); p.hear() },
	"no hello": func(p *speaker) { p.answer(`"hi"`); p.hear() },
	"hostile id": func(p *speaker) {
		p.answer(`{"protocolVersion":1}`)
		p.answer(`{"sessionId":"../../x"}`)
		p.hear()
	},
	"not in": func(p *speaker) {
		p.answer(`{"protocolVersion":1}`)
		p.refuse(needsLogin, "log in first")
	},
	"model fails": func(p *speaker) { p.refusePrompt(rpc.Internal, "the model is gone") },
	"too long":    func(p *speaker) { p.end(p.open("true").ID, "", "max_tokens") },
	"refuses":     func(p *speaker) { p.end(p.open("true").ID, "", "refusal") },
	"odd":         func(p *speaker) { p.end(p.open("true").ID, "", "lunch") },
}

func (p *speaker) refuse(code int, message string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, p.hear().ID, code, message)
	p.hear()
}

func (p *speaker) refusePrompt(code int, message string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, p.open("true").ID, code, message)
	p.hear()
}

// scene runs one, and gives back what the program noted.
func scene(t *testing.T, ctx context.Context, name string,
	change func(*agent.Task)) (agent.Result, string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600),
		os.WriteFile(filepath.Join(dir, ".env"), []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	task := agent.Task{
		Prompt: "what?", Codebase: dir, Dir: t.TempDir(), Tools: []string{"Read"}, Schema: []byte(`{}`),
		Hidden: []string{".agents"},
		Check: func(v []byte) error {
			if string(v) != `{"answer":42}` {
				return errors.New("should be twice as good")
			}
			return nil
		},
	}
	if change != nil {
		change(&task)
	}
	c := newClient(t, []string{self, "acp-scene", name}, "off")
	if task.Words != nil {
		c.steer = config.SteerPrompt
	}
	res, err := c.Run(ctx, task)
	got, rerr := os.ReadFile(filepath.Join(task.Dir, "home", "got"))
	if rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		t.Fatal(rerr)
	}
	return res, string(got), err
}

func TestTellsThatTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, got, err := scene(t, ctx, "waits", func(task *agent.Task) {
		go func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(task.Dir, "home", "begun")); err == nil {
					cancel()
				}
				time.Sleep(5 * time.Millisecond)
			}
		}()
	})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(got, "session/cancel") ||
		!strings.Contains(got, `"s-1"`) {
		t.Errorf("told %q, %v", got, err)
	}
}

// A program without sessions receives the whole prompt again, and cannot resume.
func TestForgets(t *testing.T) {
	res, got, err := scene(t, context.Background(), "forgets", nil)
	if err != nil || string(res.Value) != `{"answer":42}` || res.Usage.Turns != 2 ||
		!res.Usage.TokensUnknown || res.Usage.CostUSD != nil {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, want := range []string{"what?", `{\"answer\":\"many\"}`, "twice as good"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	_, _, err = scene(t, context.Background(), "forgets", func(t *agent.Task) {
		t.Resume, t.SessionID = true, "s-1"
	})
	if !errors.Is(err, agent.ErrNoResume) {
		t.Errorf("resume: %v", err)
	}
}

func TestTokensOfEachCallAndToolsToldLate(t *testing.T) {
	var tools []string
	res, _, err := scene(t, context.Background(), "tells as Qwen Code", func(t *agent.Task) {
		t.Watch = func(e agent.Event) {
			if e.Kind == agent.Tool {
				tools = append(tools, e.Tool+" "+e.Text)
			}
		}
	})
	if u := res.Usage; err != nil || u.InputTokens != 10 || u.OutputTokens != 14 || u.TokensUnknown {
		t.Errorf("%+v, %v", res, err)
	}
	if len(tools) != 1 || tools[0] != "read a.txt" {
		t.Errorf("tools %q", tools)
	}
}

func TestLastWords(t *testing.T) {
	if res, _, err := scene(t, context.Background(), "last words before a tool", nil); err != nil ||
		string(res.Value) != `{"answer":42}` {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		status     int
		want       string
	}{
		{"old", agent.ToolError, sysexit.Unavailable, "version 0"},
		{"no hello", agent.ToolError, sysexit.Unavailable, "its hello"},
		{"hostile id", agent.ToolError, sysexit.Unavailable, "no usable name"},
		{"not in", agent.ToolError, sysexit.Config, "log in first"},
		{"model fails", agent.ToolError, sysexit.Unavailable, "the model is gone"},
		{"too long", agent.Timeout, sysexit.Unavailable, "max_tokens"},
		{"refuses", agent.Abort, sysexit.Unavailable, "refuses"},
		{"odd", agent.Unknown, sysexit.Unavailable, "lunch"},
	} {
		_, _, err := scene(t, context.Background(), tt.name, nil)
		if status, _ := sysexit.Of(err); err == nil || status != tt.status ||
			agent.FailureKind(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: status %d, kind %s, %v", tt.name, status, agent.FailureKind(err), err)
		}
	}
}

// TestWords: what is said is a second prompt, whatever the program makes of the first.
func TestWords(t *testing.T) {
	for name, kind := range map[string]string{
		"folds": record.Append, "aborts": record.Append, "two turns": record.Append,
		"is corrected": record.Redirect, "fails when told": record.Append,
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		words := make(chan agent.Word)
		var ears []string
		res, got, err := scene(t, ctx, name, func(task *agent.Task) {
			task.Words = words
			task.Heard = func(_, how string) { ears = append(ears, how) }
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(task.Dir, "home", "begun")); err == nil {
						words <- agent.Word{ID: "w-1", Kind: kind, Text: "only the auth service"}
						return
					}
					time.Sleep(2 * time.Millisecond)
				}
			}()
		})
		cancel()
		heard := strings.Join(ears, " ")
		if name == "fails when told" {
			if err == nil || !strings.Contains(err.Error(), "the model is gone") || heard != "sent" {
				t.Errorf("%s: heard %q, %v", name, heard, err)
			}
			continue
		}
		if err != nil || string(res.Value) != `{"answer":42}` || heard != "sent taken" ||
			!strings.Contains(got, "auth service") ||
			strings.HasPrefix(got, "session/cancel") != (kind == record.Redirect) {
			t.Errorf("%s: %q, %q, heard %q, %v", name, res.Value, got, heard, err)
		}
	}
}
