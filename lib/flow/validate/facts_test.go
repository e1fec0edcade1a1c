package validate

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
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
