package validate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// line is a return as a record, with more members.
func line(t *testing.T, ret *draft.Return, more string) string {
	t.Helper()
	b, err := json.Marshal(ret)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "}") + more + "}\n"
}

func TestEach(t *testing.T) {
	bad := good()
	bad.EvidenceRefs[0].Ref = "pay/gone.go:4"
	pass, bounce := line(t, good(), `,"key":"k","message_id":"7"`), line(t, bad, "")
	for _, tt := range []struct {
		name, in string
		status   int
		says     string
		verdicts string
	}{
		{"all pass", pass + pass, 0, "", "k/7:pass k/7:pass"},
		{"one does not", pass + bounce, sysexit.No, "1 of 2 did not pass; the first: bounce: " +
			"reference 1, pay/gone.go:4, is fabricated: there is no such file", "k/7:pass /:bounce"},
		{"one is not a return", pass + "{}\n" + bounce, sysexit.Data, "1 record refused", "k/7:pass /:bounce"},
	} {
		var out bytes.Buffer
		var said string
		s := &Stage{Validator: &Validator{Now: clock}, Codebase: codebase(t), UUID: func() string {
			return "u"
		}, Out: &out}
		err := s.Each(t.Context(), stream.Input{Stdin: strings.NewReader(tt.in), After: -1,
			Say: func(f string, a ...any) { said += fmt.Sprintf(f, a...) }})
		status, _ := sysexit.Of(err)
		if err == nil {
			status = 0
		}
		if status != tt.status || err != nil && err.Error() != tt.says {
			t.Errorf("%s: %v, status %d", tt.name, err, status)
		}
		if refused := strings.Contains(said, "is not a return"); refused != strings.Contains(tt.in, "{}\n") {
			t.Errorf("%s: said %s", tt.name, said)
		}
		var got []string
		for _, l := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			var v struct {
				Key     string `json:"key"`
				Message string `json:"message_id"`
				Verdict string `json:"verdict"`
			}
			if err := json.Unmarshal([]byte(l), &v); err != nil {
				t.Fatal(err)
			}
			got = append(got, v.Key+"/"+v.Message+":"+v.Verdict)
		}
		if strings.Join(got, " ") != tt.verdicts {
			t.Errorf("%s: wrote %s", tt.name, got)
		}
	}
}

type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestEachEnds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		codebase string
		out      io.Writer
		status   int
	}{
		{"a codebase that is not there", "/nonexistent", io.Discard, sysexit.NoInput},
		{"a reader that is gone", codebase(t), noRoom{}, sysexit.IO},
	} {
		s := &Stage{Validator: &Validator{Now: clock}, Codebase: tt.codebase, UUID: func() string {
			return "u"
		}, Out: tt.out}
		err := s.Each(t.Context(), stream.Input{Stdin: strings.NewReader(line(t, good(), "")), After: -1})
		if status, _ := sysexit.Of(err); err == nil || status != tt.status {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// watched is an agent that passes everything and remembers how it was run.
type watched struct {
	says
	dirs   *[]string
	capped *bool
}

func (w watched) Run(ctx context.Context, task agent.Task) (agent.Result, error) {
	if _, err := os.Stat(task.Dir); err != nil {
		return agent.Result{}, err
	}
	*w.dirs = append(*w.dirs, task.Dir+" "+task.SessionID)
	_, *w.capped = ctx.Deadline()
	return w.says.Run(ctx, task)
}

// TestRunDirs: each run of the agent has its own folder and name; folders that are not kept are removed.
func TestRunDirs(t *testing.T) {
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	tmp, keep := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	t.Setenv("TMPDIR", tmp)
	for _, tt := range []struct {
		keep string
		cap  time.Duration
		want string
	}{{"", 0, filepath.Join(tmp, "tri-validate-")},
		{keep, time.Hour, filepath.Join(keep, "validate-2") + " u1"}} {
		var dirs []string
		var capped bool
		n := 0
		a := watched{says{value: answer(t, nil)}, &dirs, &capped}
		s := &Stage{Validator: &Validator{Agent: a, Prompts: prompts, Now: clock}, Codebase: codebase(t),
			Keep: tt.keep, Cap: tt.cap,
			UUID: func() string { n++; return fmt.Sprint("u", n) }, Out: io.Discard}
		if err := s.Each(t.Context(), stream.Input{Stdin: strings.NewReader("\n" + line(t, good(), "")),
			After: -1}); err != nil {
			t.Fatal(err)
		}
		if len(dirs) != 1 || !strings.HasPrefix(dirs[0], tt.want) || capped != (tt.cap > 0) {
			t.Errorf("ran in %q, capped %v, want %s", dirs, capped, tt.want)
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(keep, "validate-2")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(tmp, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Stage{Validator: &Validator{Agent: says{}}, Keep: file}
	_, remove, err := s.runDir(ndjson.Record{Line: 1})
	if status, _ := sysexit.Of(err); status != sysexit.IO || remove == nil {
		t.Errorf("a file as folder: %v", err)
	}
	s.UUID, s.Out = func() string { return "u" }, io.Discard
	err = s.Each(t.Context(), stream.Input{Stdin: strings.NewReader(line(t, good(), "")), After: -1})
	if status, _ := sysexit.Of(err); status != sysexit.IO {
		t.Errorf("judged in it: %v", err)
	}
	s.Agent = nil
	if dir, remove, err := s.runDir(ndjson.Record{Line: 1}); dir != "" || remove == nil || err != nil {
		t.Errorf("code alone has a folder: %s, %v", dir, err)
	}
}

func TestParse(t *testing.T) {
	for in, says := range map[string]string{
		"[": "unexpected end", `{"draft_reply":"x"}`: "has no evidence_refs", `{"evidence_refs":[]}`: "has no draft_reply",
		`{"draft_reply":5,"evidence_refs":[]}`:             "cannot unmarshal",
		`{"draft_reply":"","evidence_refs":[],"others":5}`: "cannot unmarshal",
	} {
		if ret, _, err := parse([]byte(in)); err == nil || ret != nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", in, err, says)
		}
	}
	ret, id, err := parse([]byte(`{"draft_reply":"d","evidence_refs":[{"ref":"r"}],"key":"k","message_id":"7","others":[{"key":"o","summary":"s"}]}`))
	if err != nil || ret.DraftReply != "d" || len(ret.EvidenceRefs) != 1 || id.Key != "k" ||
		id.MessageID != "7" || len(id.others) != 1 || id.others[0] != (Other{"o", "s"}) {
		t.Errorf("%+v %+v %v", ret, id, err)
	}
}

func aRun(t *testing.T) *run.Run {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Begin(h, "v-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.End(), h.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestRunsOfThreads: the agent of a thread's validation has the folder, the name
// and the lock of the run, and knows the other threads; an approved answer needs
// no agent, nor does a return without a run.
func TestRunsOfThreads(t *testing.T) {
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	r := aRun(t)
	hints := []thread.Hint{{Source: "k9", Text: "another conclusion"}}
	before := good()
	before.Before = &draft.Before{}
	for _, tt := range []struct {
		name  string
		judge func(v *Validator) (*verdict.Verdict, error)
		asked bool
		model string
	}{
		{"a thread", func(v *Validator) (*verdict.Verdict, error) {
			return v.Thread(t.Context(), &thread.Thread{InvestigatorReturn: good(), Codebase: codebase(t)},
				good().Question, hints, r)
		}, true, "breaker-1"},
		{"answered before", func(v *Validator) (*verdict.Verdict, error) {
			return v.Thread(t.Context(), &thread.Thread{InvestigatorReturn: before, Codebase: codebase(t)},
				good().Question, hints, r)
		}, false, "code"},
	} {
		var task agent.Task
		v := &Validator{Agent: says{value: answer(t, nil), task: &task}, Prompts: prompts, Now: clock}
		got, err := tt.judge(v)
		if err != nil {
			t.Fatal(err)
		}
		if got.ValidatorModel != tt.model || got.Verdict != verdict.Pass {
			t.Errorf("%s: %s by %s %q", tt.name, got.Verdict, got.ValidatorModel, got.Reasons)
		}
		if !tt.asked {
			if task.Prompt != "" {
				t.Errorf("%s: the agent was asked", tt.name)
			}
			continue
		}
		if task.Dir != r.Dir() || task.SessionID != r.SessionID || task.Hold != r.LockFile() ||
			!strings.Contains(task.Prompt, "another conclusion") || !strings.Contains(task.Prompt, "k9") {
			t.Errorf("%s: task %+v", tt.name, task)
		}
		if v.Agent == nil {
			t.Errorf("%s: the validator has lost its agent", tt.name)
		}
	}
}
