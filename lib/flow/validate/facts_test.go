package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/judge/evidence"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

func facts(t *testing.T, r Request) verdict.Facts {
	t.Helper()
	if r.Question == "" {
		r.Question = r.Return.Question
	}
	f, err := (&Validator{}).facts(r)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFacts: what code finds out, before anybody weighs it.
func TestFacts(t *testing.T) {
	dir := codebase(t)
	if err := os.WriteFile(filepath.Join(dir, "pay/other.go"), []byte("package pay\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ret := good()
	ret.DraftReply += " See pay/other.go and pay/none.go."
	f := facts(t, Request{Return: ret, Codebase: dir})
	if !slices.Contains(f.Untraced, "pay/none.go") || slices.Contains(f.Untraced, "pay/other.go") {
		t.Errorf("nowhere: %q", f.Untraced)
	}
	if !slices.ContainsFunc(f.Traced, func(tr verdict.Trace) bool {
		return strings.HasSuffix(tr.What, " MaxRetries") && tr.To != ""
	}) {
		t.Errorf("traced: %+v", f.Traced)
	}
	f = facts(t, Request{Return: good()})
	if len(f.Refs) != 1 || f.Refs[0].Result != evidence.Uncheckable || f.Refs[0].Note == "" {
		t.Errorf("without a codebase: %+v", f.Refs)
	}
	bare := good()
	bare.EvidenceRefs = nil
	if f = facts(t, Request{Return: bare, Codebase: "/nonexistent"}); len(f.Refs) != 0 {
		t.Errorf("nothing is cited: %+v", f.Refs)
	}
}

// TestWishes: a longer look is asked for with a reason, and only by who asks; a
// draft that is empty for it is not judged as one.
func TestWishes(t *testing.T) {
	reason := "only the log tells"
	for _, tt := range []struct {
		name    string
		request bool
		reason  *string
		draft   string
		asks    string
		empty   bool
	}{
		{"none", false, nil, good().DraftReply, "", false},
		{"a reason without a wish", false, &reason, good().DraftReply, "", false},
		{"a wish without a reason", true, nil, good().DraftReply, "", false},
		{"both", true, &reason, good().DraftReply, reason, false},
		{"and no draft", true, &reason, " \n", reason, true},
		{"no draft and no wish", false, nil, "", "", false},
	} {
		ret := good()
		ret.EscalationRequested, ret.EscalationReason, ret.DraftReply = tt.request, tt.reason, tt.draft
		f := facts(t, Request{Return: ret, Codebase: codebase(t),
			Question: "where is the session cookie stored by the login page?"})
		if f.Asks != tt.asks || f.Empty != tt.empty || tt.empty && f.Drift != "" ||
			!tt.empty && f.Drift == "" {
			t.Errorf("%s: asks %q, empty %v, drift %q", tt.name, f.Asks, f.Empty, f.Drift)
		}
	}
	both := good()
	both.DraftReply += " The marketing department also wants brighter colours on the landing page next spring."
	f := facts(t, Request{Return: both, Codebase: codebase(t),
		Question: "where is the session cookie stored by the login handler?"})
	if f.Drift != verdict.Major || !strings.HasPrefix(f.DriftNote, "nothing of what was asked") {
		t.Errorf("off the subject comes first: %s %q", f.Drift, f.DriftNote)
	}
}

// TestRunsThatCannotBe: an error of a run is one of who asks for it.
func TestRunsThatCannotBe(t *testing.T) {
	v := &Validator{Now: clock, Agent: says{value: answer(t, nil)}}
	if _, err := v.Thread(t.Context(), &thread.Thread{InvestigatorReturn: good(), Codebase: "/nonexistent"},
		"q", nil, aRun(t)); err == nil {
		t.Error("a thread without its codebase was judged")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, _, err := (&Stage{Validator: v}).runDir(ndjson.Record{})
	if status, _ := sysexit.Of(err); status != sysexit.IO {
		t.Errorf("no temporary folder: %v", err)
	}
}

// TestCodebaseIsClosed: a dispatcher judges for months.
func TestCodebaseIsClosed(t *testing.T) {
	dir := codebase(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close it, some day
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	refs := []draft.Ref{{Kind: draft.KindFile, Ref: "pay/retry.go:4"}, {Kind: draft.High}}
	before := open()
	for range 20 {
		if _, _, err := resolve(dir, refs); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+5 {
		t.Errorf("%d files open before, %d after", before, after)
	}
}

// TestTeam: references to the team's notes and memory are checked as those to code are.
func TestTeam(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.md")
	for name, text := range map[string]string{
		filepath.Join(dir, "triage", "wait.md"):  "# Waits\n\nA charge waits 40 seconds for the bank.\n",
		filepath.Join(dir, "handbook", "who.md"): "Refunds are made by the night shift.\n",
		outside:                                  "A charge waits 40 seconds for the bank.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "triage", "out.md")); err != nil {
		t.Fatal(err)
	}
	home, err := durable.OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	known, forgot := "Invoices are kept for seven years.", "Invoices are kept for two years."
	lines := ""
	for _, text := range []string{known, forgot} {
		lines += fmt.Sprintf(`{"at":"2026-01-02T03:04:05Z","kind":"note","by":"ann","text":%q,"category":"DECISION"}`+
			"\n", text)
	}
	write := func() []memory.Entry {
		if err := os.WriteFile(home.Path(memory.LogName), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := memory.Read(home, decision.Policy{})
		if err != nil || len(all) != 2 {
			t.Fatal(all, err)
		}
		return all
	}
	all := write()
	lines += fmt.Sprintf(`{"at":"2026-01-02T03:04:06Z","kind":"forget","by":"ann","id":%q}`+"\n", all[1].ID)
	write()
	v := (&Validator{}).Team(home, &config.Config{Knowledge: []string{filepath.Join(dir, "handbook")}})
	for _, c := range []struct{ kind, ref, quote, claim, want string }{
		{draft.KindTriageFile, "triage/wait.md:3", "", "A charge waits 40 seconds for the bank.", evidence.Supports},
		{draft.KindTriageFile, "wait.md", "A charge waits 40 seconds", "A charge waits 40 seconds for the bank.",
			evidence.Supports},
		{draft.KindTriageFile, "who.md:1", "", "The night shift makes refunds.", evidence.Supports},
		{draft.KindTriageFile, "wait.md:3", "", "A charge waits 90 seconds for the bank.", evidence.Uncheckable},
		{draft.KindTriageFile, "wait.md:3", "waits 90 seconds", "A charge waits for the bank.", evidence.Fabricated},
		{draft.KindTriageFile, "none.md:3", "", "A charge waits.", evidence.Fabricated},
		{draft.KindTriageFile, "../memory.ndjson:1", "", "Invoices are kept.", evidence.Fabricated},
		{draft.KindTriageFile, "out.md:1", "", "A charge waits 40 seconds for the bank.", evidence.Fabricated},
		{draft.KindMemory, all[0].ID, known, "Invoices are kept for seven years.", evidence.Supports},
		{draft.KindMemory, all[0].ID, "kept for nine years", "Invoices are kept for nine years.",
			evidence.Fabricated},
		{draft.KindMemory, all[1].ID, forgot, "Invoices are kept for two years.", evidence.Fabricated},
		{draft.KindMemory, "m-000000000000", known, "Invoices are kept for seven years.", evidence.Fabricated},
	} {
		refs := []draft.Ref{{Kind: c.kind, Ref: c.ref, Quote: c.quote, SupportsClaim: c.claim}}
		found := make([]evidence.Finding, 1)
		if err := v.team(refs, found); err != nil || found[0].Result != c.want || found[0].Note == "" ||
			found[0].Stands != strings.HasSuffix(found[0].Note, "it is not the code") {
			t.Errorf("%s %s, %q: %s %q %v", c.kind, c.ref, c.claim, found[0].Result, found[0].Note, err)
		}
	}
	found := []evidence.Finding{{Result: evidence.Uncheckable}}
	if err := (&Validator{}).team([]draft.Ref{{Kind: draft.KindTriageFile, Ref: "x.md:1"}}, found); err != nil ||
		found[0].Result != evidence.Uncheckable {
		t.Error(found, err)
	}
}
