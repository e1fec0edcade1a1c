package lens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/judge/evidence"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/discussion"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/persona"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

// script answers by the words of the prompt, and counts.
type script struct {
	asked  atomic.Int64
	answer func(prompt string) (string, error)
}

func (s *script) Run(_ context.Context, t agent.Task) (agent.Result, error) {
	s.asked.Add(1)
	res := agent.Result{Model: "scripted", SessionID: t.SessionID,
		Usage: draft.Usage{InputTokens: 100, OutputTokens: 10, CostUSD: new(0.01), Turns: 1}}
	value, err := s.answer(t.Prompt)
	if err == nil && t.Check != nil {
		err = t.Check([]byte(value))
	}
	if err != nil {
		return res, err
	}
	res.Value = []byte(value)
	return res, nil
}

var ref = verdict.Objection{Ref: "retry.go:1", Claim: "retries are off", Result: "contradicts",
	Note: "It is five."}

func saying(all ...verdict.Objection) string {
	b, err := json.Marshal(map[string]any{"says": append([]verdict.Objection{}, all...)})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func room(t *testing.T, home string, who agent.Agent) (*Room, Subject) {
	t.Helper()
	h, err := durable.MakeHome(home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Validator.Agent, cfg.Validator.Model = "api", "m"
	r, err := Open(h, cfg, prompts, Room{Now: time.Now, Getenv: func(string) string { return "" },
		New: func(config.Agent, string) (agent.Agent, error) { return who, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Personas {
		r.Personas[i].Active = true
	}
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "retry.go"), []byte("const Retries = 5\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	return r, Subject{Trigger: persona.Draft, Ref: "k", SHA256: strings.Repeat("a", 64),
		Words: "By default retries\nare off (retry.go:1).", Codebase: code,
		Parts: []prompt.Text{prompt.Quote("return", "By default retries are off.")}, Key: "k", Person: "u"}
}

// spent returns the entries of the spend log, and their sums.
func spent(t *testing.T, h *durable.Home) (reserves, settles int, usd float64) {
	t.Helper()
	err := h.Lines(budget.LogName, 0, func(line []byte) error {
		var e budget.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.Work != budget.Panel {
			t.Errorf("%s", line)
		}
		switch e.Kind {
		case budget.Reserve:
			reserves++
		case budget.Settle:
			settles++
			usd += *e.CostUSD
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return reserves, settles, usd
}

func TestLook(t *testing.T) {
	who := &script{answer: func(p string) (string, error) {
		if strings.Contains(p, "write its opposite") {
			return saying(ref), nil
		}
		return saying(), nil
	}}
	r, s := room(t, filepath.Join(t.TempDir(), "home"), who)
	for range 2 { // the second time nothing is asked again
		looks, err := r.Look(context.Background(), s, []string{"polarity", "numbers"})
		if err != nil || len(looks) != 2 || looks[0].Persona != "Dev" || len(looks[0].Says) != 1 ||
			looks[0].Says[0] != ref || len(looks[1].Says) != 0 {
			t.Fatalf("%+v, %v", looks, err)
		}
	}
	if n := who.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	if re, se, usd := spent(t, r.Home); re != 2 || se != 2 || usd != 0.02 {
		t.Errorf("%d reserved, %d settled, $%v", re, se, usd)
	}
	s.SHA256 = strings.Repeat("b", 64) // another draft
	if _, err := r.Look(context.Background(), s, []string{"polarity"}); err != nil || who.asked.Load() != 3 {
		t.Errorf("%v, asked %d times", err, who.asked.Load())
	}
}

// TestNonsense: what is not a typed answer about the draft's own words and a file that is there objects to
// nothing.
func TestNonsense(t *testing.T) {
	other := func(change func(*verdict.Objection)) string {
		o := ref
		change(&o)
		return saying(o)
	}
	for name, answer := range map[string]string{
		"SKIP":             "SKIP",
		"prose":            "APPROVE: ship it",
		"empty":            "{}",
		"unknown key":      `{"says":[],"verdict":"pass"}`,
		"twice":            `{"says":[],"says":[]}`,
		"other words":      other(func(o *verdict.Objection) { o.Claim = "the moon is full" }),
		"no claim":         other(func(o *verdict.Objection) { o.Claim = "" }),
		"no such file":     other(func(o *verdict.Objection) { o.Ref = "gone.go:1" }),
		"outside":          other(func(o *verdict.Objection) { o.Ref = "../../etc/passwd:1" }),
		"unknown result":   other(func(o *verdict.Objection) { o.Result = "supports" }),
		"no note":          other(func(o *verdict.Objection) { o.Note = " " }),
		"too many":         saying(ref, ref, ref, ref, ref, ref),
		"a narrative note": other(func(o *verdict.Objection) { o.Note = strings.Repeat("x", maxNote+1) }),
	} {
		who := &script{answer: func(string) (string, error) { return answer, nil }}
		r, s := room(t, filepath.Join(t.TempDir(), "home"), who)
		looks, err := r.Look(context.Background(), s, []string{"polarity"})
		if err != nil || looks[0].Err == nil || len(looks[0].Says) > 0 {
			t.Errorf("%s: %+v, %v", name, looks, err)
		}
	}
}

// TestSpent: a lens without a budget is not asked, and is asked once there is one.
func TestSpent(t *testing.T) {
	who := &script{answer: func(string) (string, error) { return saying(ref), nil }}
	r, s := room(t, filepath.Join(t.TempDir(), "home"), who)
	r.Config.Budget.PerDay.USD = 0.1 // a run without history reserves more
	looks, err := r.Look(context.Background(), s, []string{"polarity"})
	if err != nil || looks[0].Err == nil || who.asked.Load() != 0 {
		t.Fatalf("%+v, %v, asked %d times", looks, err, who.asked.Load())
	}
	r.Config.Budget.PerDay.USD = 10
	if looks, err = r.Look(context.Background(), s, []string{"polarity"}); err != nil ||
		len(looks[0].Says) != 1 {
		t.Errorf("%+v, %v", looks, err)
	}
}

func TestInactive(t *testing.T) {
	who := &script{}
	r, s := room(t, filepath.Join(t.TempDir(), "home"), who)
	r.Personas = persona.Defaults()
	if _, err := r.Look(context.Background(), s, []string{"polarity"}); err == nil || who.asked.Load() > 0 {
		t.Errorf("%v, asked %d times", err, who.asked.Load())
	}
}

// TestRoadmap: of an issue everybody is shown the file, the lead all that is pending and the others a part;
// the lead says what is not in it. Of a draft none is shown.
func TestRoadmap(t *testing.T) {
	var prompts []string
	who := &script{answer: func(p string) (string, error) {
		prompts = append(prompts, p)
		if strings.Contains(p, "You decide after") {
			return `{"decision":"HUMAN","reasons":[]}`, nil
		}
		return saying(), nil
	}}
	r, s := room(t, filepath.Join(t.TempDir(), "home"), who)
	body := "## Later\n" + strings.Repeat("- [ ] roadwork\n", 6)
	if err := os.WriteFile(filepath.Join(s.Codebase, "ROADMAP.md"), []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Look(context.Background(), s, []string{"polarity"}); err != nil {
		t.Fatal(err)
	}
	s.Trigger = persona.IssueReview
	for _, name := range []string{"Priya", "Carlos"} {
		p, err := persona.Find(r.Personas, name)
		if err != nil {
			t.Fatal(err)
		}
		a := discussion.Ask{Member: discussion.Member{Persona: p.ID, Lens: s.Trigger}, Round: 1,
			RunID: discussion.RunID("d", p.ID, s.Trigger, 1)}
		if name == "Carlos" {
			_, err = r.Rule(context.Background(), s, a, discussion.Discussion{})
		} else {
			_, err = r.Contribute(context.Background(), s, a, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{0, 6 + 5, 6 + 6} { // the file itself, and what is pending
		if n := strings.Count(prompts[i], "roadwork"); n != want {
			t.Errorf("prompt %d shows %d items, want %d", i, n, want)
		}
	}
	if !strings.Contains(prompts[2], "what is proposed is not in it, a reason says so") {
		t.Error(prompts[2])
	}
}

// TestMemory: a persona is shown notes of the codebase whose lines are unchanged, inside a fence; one that
// looks at a draft is shown none; a broken memory costs only that part.
func TestMemory(t *testing.T) {
	r, s := room(t, filepath.Join(t.TempDir(), "home"), &script{})
	s.Trigger, s.Title = persona.IssueReview, "raise the gateway limit"
	r.Config.Team.Approvers = []string{"ana"}
	if err := os.WriteFile(filepath.Join(s.Codebase, "g.go"), []byte("const Limit = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(s.Codebase)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	refs := evidence.Stamp(root, evidence.Repo{}, []draft.Ref{{Kind: draft.KindFile, Ref: "g.go:1"}}, r.Now())
	if err := memory.Say(r.Home, decision.PolicyOf(r.Config), memory.Word{Kind: memory.Note, By: "ana",
		Text: "the gateway limit follows ops", Category: memory.Decision, Codebase: s.Codebase,
		Refs: refs}); err != nil {
		t.Fatal(err)
	}
	shown := func() string { return fmt.Sprint(r.parts(t.Context(), s, &r.Personas[0])) }
	if got := shown(); !strings.Contains(got, "the gateway limit follows ops (ana, ") ||
		!strings.Contains(got, "begin memory") {
		t.Error(got)
	}
	s.Trigger = persona.Draft
	if got := shown(); strings.Contains(got, "follows ops") {
		t.Error(got)
	}
	s.Trigger = persona.IssueReview
	if err := os.WriteFile(filepath.Join(s.Codebase, "g.go"), []byte("const Limit = 6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(); strings.Contains(got, "follows ops") {
		t.Error(got)
	}
	if err := os.WriteFile(r.Home.Path(memory.LogName), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(); !strings.Contains(got, "not used: it cannot be read") {
		t.Error(got)
	}
}

// TestTaken: a run that was published and not settled, as a kill between the two leaves it, is taken and
// settled once.
func TestTaken(t *testing.T) {
	who := &script{answer: func(string) (string, error) { return saying(ref), nil }}
	r, s := room(t, filepath.Join(t.TempDir(), "home"), who)
	want, err := r.Look(context.Background(), s, []string{"polarity"})
	if err != nil {
		t.Fatal(err)
	}
	log, err := r.Home.ReadFile(budget.LogName)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(log), "\n") // without the settlement
	if err := errors.Join(r.Home.Remove("."+budget.LogName+".sum"),
		r.Home.Replace(budget.LogName, []byte(first+"\n"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := r.Look(context.Background(), s, []string{"polarity"})
		if err != nil || fmt.Sprint(got[0].Says) != fmt.Sprint(want[0].Says) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if re, se, usd := spent(t, r.Home); re != 1 || se != 1 || usd != 0.01 || who.asked.Load() != 1 {
		t.Errorf("%d reserved, %d settled, $%v, asked %d times", re, se, usd, who.asked.Load())
	}
	ids, err := run.IDs(r.Home)
	if err != nil || len(ids) != 1 || !run.IsID(ids[0]) {
		t.Errorf("%v, %v", ids, err)
	}
}
