package validate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

func TestSpoken(t *testing.T) {
	for text, want := range map[string]string{
		"where is the door": "en", "apa itu ini": "id", "MaxRetries": "", "": "", "the apa": "en",
		"the apa itu": "id", "It doesn't": "en", "doesn't": "en",
	} {
		if got := spoken(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestScope(t *testing.T) {
	ret := func(reply string) *draft.Return { return &draft.Return{DraftReply: reply} }
	cited := ret("It is so in the code that we have.")
	cited.EvidenceRefs = []draft.Ref{{SupportsClaim: "the cookie", Quote: "the jar"}}
	for _, tt := range []struct {
		name, question string
		ret            *draft.Return
		found          []evidence.Finding
		major          bool
	}{
		{"about it", "where is the session cookie stored by the login page?",
			ret("The session lives in the browser."), nil, false},
		{"another form of a word", "how are the charges retried by the worker?",
			ret("The worker has a charge and tries it."), nil, false},
		{"about something else", "where is the session cookie stored by the login page?",
			ret("The invoice is printed at night."), nil, true},
		{"the summary is about it", "where is the session cookie stored by the login page?",
			&draft.Return{DraftReply: "It is in the jar.", SummaryForOrchestrator: "Cookies."}, nil, false},
		{"the gloss is about it", "where is the session cookie stored by the login page?",
			&draft.Return{DraftReply: "It is in the jar.", QuestionGloss: "a cookie"}, nil, false},
		{"the claim is about it", "where is the session cookie stored by the login page?", cited,
			[]evidence.Finding{{}}, false},
		{"the quote is about it", "where is the glass jar kept by the kitchen staff?", cited,
			[]evidence.Finding{{}}, false},
		{"the file is about it", "where is the glass bottle kept by the kitchen staff?", cited,
			[]evidence.Finding{{Path: "bottle.go"}}, false},
		{"the line is about it", "where is the glass bottle kept by the kitchen staff?", cited,
			[]evidence.Finding{{Lines: []string{"x", "Bottle"}}}, false},
		{"nothing is about it", "where is the glass bottle kept by the kitchen staff?", cited,
			[]evidence.Finding{{Path: "a.go", Lines: []string{"x"}}}, true},
		{"two languages", "where is the session cookie stored by the login page?",
			ret("apa itu ini dan kenapa"), nil, false},
		{"names in two languages", "kenapa `FooBar` dan `BazQux` gagal?",
			ret("The invoice is printed at night."), nil, true},
		{"one name is not enough", "kenapa `FooBar` gagal?", ret("The invoice is printed at night."),
			nil, false},
		{"a short question", "which ops do we use?", ret("The invoice is printed at night."), nil, false},
		{"no language to tell", "cookie jar shelf bottle?", ret("weather south sunny"), nil, false},
		{"names beside few words", "where is `FooBar` or `BazQux`?",
			ret("The invoice is printed at night."), nil, true},
		{"a word that stands in any talk",
			"who can change the password of the guest network for new visitors?",
			ret("The worker will change the state of the job."), nil, true},
		{"two such words", "who can change the number of the gate that visitors use?",
			ret("The worker will change the number of the job."), nil, false},
		{"few words, one such", "can I change the gate?", ret("The worker will change the state."),
			nil, false},
		{"a third language", "¿quién aprueba los gastos de viaje del equipo de ventas?",
			ret("El bloqueo se queda con el proceso que lo tomó."), nil, true},
		{"a script without spaces", "新しいオフィスの駐車カードはどこで受け取れますか", ret("プロンプトは標準入力で渡されます。"), nil, true},
		{"a number is not a subject", "kenapa 42 dan 43 gagal?",
			ret("The invoice is printed at night."), nil, false},
	} {
		drift, note := scope(tt.question, tt.ret, tt.found)
		if (drift == verdict.Major) != tt.major || (note != "") != tt.major ||
			!tt.major && drift != verdict.None {
			t.Errorf("%s: %s %q", tt.name, drift, note)
		}
	}
	_, note := scope("why do alpha bravo charlie delta echo foxtrot golf fail with the invoice service?",
		ret("The weather is fine in the south."), nil)
	if note == "" || strings.Count(note, ",") != 4 {
		t.Errorf("five words are told: %s", note)
	}
}

func TestOverlap(t *testing.T) {
	ret := good()
	for _, tt := range []struct {
		name    string
		others  []Other
		want    string
		explain bool
	}{
		{"nothing open", nil, verdict.NoOverlap, false},
		{"one word shared", []Other{{"a", "The charge lives an hour."}}, verdict.NoOverlap, false},
		{"two words shared", []Other{{"a", "A charge is tried."}}, verdict.Consistent, false},
		{"the draft is contradicted", []Other{{"a", "The cookie lives an hour."},
			{"b", "A charge is tried again 9 times."}}, verdict.Contradicting + "b", true},
	} {
		got, note := overlap(Request{Return: ret, Question: "how often is a charge tried again?",
			Others: tt.others})
		if got != tt.want || (note != "") != tt.explain {
			t.Errorf("%s: %s %q", tt.name, got, note)
		}
	}
}

// TestUnsafe: texts saved or shown beside the draft must contain no secret and no invisible character, and
// may mention people.
func TestUnsafe(t *testing.T) {
	src := safety.Sources{Secrets: []string{"open-sesame-now"}}
	note := "@here see http://x.test/a"
	for _, tt := range []struct {
		name string
		hurt func(*draft.Return)
		want string
	}{
		{"good", func(*draft.Return) {}, ""},
		{"mentions in the summary", func(r *draft.Return) { r.SummaryForOrchestrator = note }, ""},
		{"secret in the summary", func(r *draft.Return) {
			r.SummaryForOrchestrator = "open-sesame-now"
		}, "summary_for_orchestrator"},
		{"secret in the file", func(r *draft.Return) {
			r.ProposedTriageFile = &draft.TriageFile{Content: "open-sesame-now"}
		}, "proposed_triage_file"},
		{"mentions in the file", func(r *draft.Return) {
			r.ProposedTriageFile = &draft.TriageFile{Content: note}
		}, ""},
		{"secret in a question", func(r *draft.Return) {
			r.OpenQuestions = []string{"why?", "open-sesame-now"}
		}, "open_questions"},
		{"no draft, as it wants a longer look", func(r *draft.Return) {
			r.DraftReply, r.EscalationRequested = " ", true
		}, ""},
		{"no draft", func(r *draft.Return) { r.DraftReply = "" }, "empty"},
		{"a bad draft and a wish", func(r *draft.Return) {
			r.DraftReply, r.EscalationRequested = "open-sesame-now", true
		}, "secret"},
	} {
		ret := good()
		tt.hurt(ret)
		got := fmt.Sprint(unsafe(ret, src))
		if (got == "[]") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %q", tt.name, got, tt.want)
		}
	}
}

// TestRequestDefaults: a request's own question and rubric come before the return's.
func TestRequestDefaults(t *testing.T) {
	if _, err := (&Validator{Now: clock}).Run(t.Context(), Request{}); err == nil {
		t.Error("judged nothing")
	} else if status, _ := sysexit.Of(err); status != sysexit.Data {
		t.Errorf("%v", err)
	}
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ question, rubric, want, wantRubric string }{
		{"", "", "how often is a charge tried again?", "the return's rubric"},
		{"how often is a charge tried, please?", "my rubric", "how often is a charge tried, please?",
			"my rubric"},
	} {
		ret := good()
		ret.Rubric = "the return's rubric"
		var task agent.Task
		judge(t, &Validator{Agent: says{value: answer(t, nil), task: &task}, Prompts: prompts},
			Request{Return: ret, Question: tt.question, Rubric: tt.rubric, Codebase: codebase(t)})
		if task.Question != tt.want || !strings.Contains(task.Prompt, tt.want) ||
			!strings.Contains(task.Prompt, tt.wantRubric) {
			t.Errorf("%q, %q: asked %q", tt.question, tt.rubric, task.Question)
		}
	}
}

// TestAgentCannotBeAsked: without prompts, or when its template is broken, the
// draft is a person's to judge.
func TestAgentCannotBeAsked(t *testing.T) {
	got := judge(t, &Validator{Agent: says{value: answer(t, nil)}},
		Request{Return: good(), Codebase: codebase(t)})
	if got.Verdict != verdict.Escalate ||
		!strings.Contains(strings.Join(got.Reasons, ""), "it has no prompts") {
		t.Errorf("%s %q", got.Verdict, got.Reasons)
	}
	last := got.Checks[len(got.Checks)-1]
	if last.Name != "agent" || last.Result != verdict.Fail || !strings.Contains(last.Note, "no prompts") {
		t.Errorf("%+v", last)
	}
	prompts, err := prompt.Load("")
	if err != nil {
		t.Fatal(err)
	}
	v := &Validator{Prompts: prompts}
	if text := v.Prompts.Repair(errors.New("no verdict there")); !strings.Contains(text, "no verdict there") ||
		text == "no verdict there" {
		t.Errorf("asked to mend: %q", text)
	}
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	out, err := (&Validator{Agent: says{err: context.DeadlineExceeded}, Prompts: prompts,
		Now: clock}).Run(late, Request{Return: good(), Codebase: codebase(t)})
	if err != nil || out.Verdict != verdict.Escalate {
		t.Errorf("an agent that ran out of time: %+v, %v", out, err)
	}
}

// TestRead takes from an agent what an agent may say.
func TestRead(t *testing.T) {
	v, err := read([]byte(answer(t, map[string]any{"checks": []any{map[string]any{"name": "x"}},
		"validator_model": "me", "validated_at": "now", "usage": map[string]any{},
		"drill": map[string]any{}})))
	if err != nil || v.Checks != nil || v.ValidatorModel != "" || v.ValidatedAt != "" || v.Usage != nil ||
		v.Drill != nil {
		t.Errorf("%+v, %v", v, err)
	}
	for _, bad := range []string{"", "[]", `{"verdict":5}`, `{"verdict":"pass","verdict":"pass"}`,
		answer(t, map[string]any{"verdict": "maybe"}), answer(t, map[string]any{"usage": 5})} {
		if _, err := read([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
