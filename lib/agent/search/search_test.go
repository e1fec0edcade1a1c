package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func ask(t *testing.T, c *Client, dir, question string) (*draft.Return, error) {
	t.Helper()
	res, err := c.Run(context.Background(),
		agent.Task{Question: question, Codebase: dir, Check: func(v []byte) error {
			var r draft.Return
			if err := json.Unmarshal(v, &r); err != nil {
				return err
			}
			return r.Check()
		}})
	if err != nil {
		return nil, err
	}
	ret := new(draft.Return)
	if err := json.Unmarshal(res.Value, ret); err != nil {
		t.Fatal(err)
	}
	return ret, nil
}

var shop = map[string]string{
	"pay/retry.go":          "package pay\n\n// MaxRetries is how often a charge is tried again.\nconst MaxRetries = 5\n\nfunc charge() error {\n\treturn nil\n}\n",
	"pay/refund.go":         "package pay\n\nfunc refund(order string) error { return nil }\n",
	"web/session_store.py":  "SESSION_TTL = 3600  # seconds\n\ndef load_session(sid):\n    return None\n",
	"docs/deploy.md":        "# Deploy\n\nRun `make deploy` on the bastion host.\n",
	".env":                  "MAX_RETRIES=9\nSTRIPE_KEY=sk_live_abcdefghijklmnop\n",
	"node_modules/x/max.js": "const maxRetries = 7\n",
}

// TestReport answers a report by a name in it, though most of its words are of other things.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"pay/refund.go": "package pay\n\n// setRefund sets a refund.\nfunc setRefund() {}\n"}
	var said strings.Builder
	for i := range 40 {
		word := fmt.Sprintf("w%co%cd", 'a'+i%26, 'a'+i/26)
		files["doc/"+word+".go"] = "package doc\n\n// " + word + " is one.\nfunc do" + word + "() {}\n"
		fmt.Fprintf(&said, "%s ", word)
	}
	write(t, dir, files)
	ret, err := ask(t, New(), dir, "setRefund is not called\n\n"+said.String()+"on Monday, again and again.")
	if err != nil || !strings.HasPrefix(ret.EvidenceRefs[0].Ref, "pay/refund.go") {
		t.Errorf("%+v, %v", ret, err)
	}
}

func TestFindsAndQuotes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shop)
	c := New()
	for _, tt := range []struct{ question, ref, lang string }{
		{"how often is a charge tried again?", "pay/retry.go:3-8", "en"},
		{"what is MaxRetries set to?", "pay/retry.go:3-4", "en"},
		{"max retries?", "pay/retry.go:3-4", "en"},
		{"how long is the session ttl in seconds", "web/session_store.py:1", "en"},
		{"SESSION_TTL 是多少?", "web/session_store.py:1", "en"},
		{"berapa waktu SESSION_TTL di kode ini?", "web/session_store.py:1", "id"},
		{"where do I run make deploy?", "docs/deploy.md:1-3", "en"},
	} {
		ret, err := ask(t, c, dir, tt.question)
		if err != nil {
			t.Errorf("%q: %v", tt.question, err)
			continue
		}
		if ref := ret.EvidenceRefs[0].Ref; ref != tt.ref {
			t.Errorf("%q: %s, want %s", tt.question, ref, tt.ref)
		}
		if ret.DraftLanguage != tt.lang {
			t.Errorf("%q: %s, %s", tt.question, ret.DraftLanguage, ret.Confidence)
		}
		honest(t, dir, ret)
		if strings.Contains(ret.DraftReply, "sk_live") || strings.Contains(ret.DraftReply, "node_modules") {
			t.Errorf("the draft shows what it must not:\n%s", ret.DraftReply)
		}
	}
}

// honest checks that a return quotes only text that is in the files.
func honest(t *testing.T, dir string, ret *draft.Return) {
	t.Helper()
	for _, ref := range ret.EvidenceRefs {
		path, lines, _ := strings.Cut(ref.Ref, ":")
		b, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		var from, to int
		if n, _ := fmt.Sscanf(lines, "%d-%d", &from, &to); n == 1 {
			to = from
		}
		got := strings.Join(strings.Split(string(b), "\n")[from-1:to], "\n")
		for part := range strings.SplitSeq(ref.Quote, "\n"+dots) {
			if !strings.Contains(got, strings.TrimPrefix(part, "\n")) {
				t.Errorf("%s: quote %q, file %q", ref.Ref, ref.Quote, got)
			}
		}
		for i, name := range strings.Split(ref.SupportsClaim, "`") {
			if i%2 == 1 && !strings.Contains(ref.Quote, name) {
				t.Errorf("%s: %q does not stand in %q", ref.Ref, name, ref.Quote)
			}
		}
		if !slices.ContainsFunc(evidence.Citations(ret.DraftReply), func(p evidence.Place) bool {
			return p.Path == path && from <= p.Start && p.End <= to
		}) {
			t.Errorf("the draft does not name %s:\n%.400s", ref.Ref, ret.DraftReply)
		}
	}
}

func TestNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shop)
	c := New()
	for _, q := range []string{"what is the capital of Brazil?", "how do solar panels work?", "thanks!", "",
		"?", "在哪里?", "🙏"} {
		if ret, err := ask(t, c, dir, q); !errors.Is(err, agent.ErrNothing) {
			t.Errorf("%q: %v, %v", q, ret, err)
		}
	}
	if _, err := New().Run(context.Background(),
		agent.Task{Question: "x", Codebase: filepath.Join(dir, "none")}); err == nil ||
		errors.Is(err, agent.ErrNothing) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shop)
	ret, err := ask(t, New(), dir, "is MaxRetries read by loadChargePlan?")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(ret.DraftReply, "Nothing in the code is called `loadChargePlan`.\n\n") ||
		len(ret.OpenQuestions) != 1 || ret.Confidence != draft.Low {
		t.Errorf("%s %q\n%s", ret.Confidence, ret.OpenQuestions, ret.DraftReply)
	}
}

// What must not be posted is left out of a draft, however well it matches.
func TestDropsWhatMayNotBeShown(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.go":     "package a\n\n// the deploy webhook token\nconst webhook = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n",
		"b.md":     "the deploy webhook wakes @channel and @everyone\n",
		"c.go":     "package c\n\n// deploy webhook\u202e reversed\n",
		"ok.go":    "package ok\n\n// The deploy webhook is called once.\nfunc deployWebhook() {}\n",
		"@here.go": "package here\n\n// deploy webhook deploy webhook\n",
	})
	ret, err := ask(t, New(), dir, "where is the deploy webhook called?")
	if err != nil {
		t.Fatal(err)
	}
	if len(ret.EvidenceRefs) != 1 || !strings.HasPrefix(ret.EvidenceRefs[0].Ref, "ok.go:") {
		t.Errorf("refs %v", ret.EvidenceRefs)
	}
}

// TestNothingIsFree: a search that finds nothing reports that it cost nothing.
func TestNothingIsFree(t *testing.T) {
	res, err := New().Run(t.Context(), agent.Task{Question: "where is the zebra striped?", Codebase: t.TempDir()})
	if !errors.Is(err, agent.ErrNothing) || res.Usage.CostUSD == nil || *res.Usage.CostUSD != 0 {
		t.Errorf("%+v, %v", res.Usage, err)
	}
}

func TestSymlinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret.go": "package s // the flux capacitor voltage is 12\n"})
	dir := t.TempDir()
	write(t, dir, shop)
	if err := errors.Join(os.Symlink(filepath.Join(outside, "secret.go"), filepath.Join(dir, "s.go")),
		os.Symlink(outside, filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	if ret, err := ask(t, New(), dir, "what is the flux capacitor voltage?"); !errors.Is(err,
		agent.ErrNothing) {
		t.Errorf("%v, %v", ret, err)
	}
}

// TestFollowUps tests that follow-ups do not outweigh the question.
func TestFollowUps(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shop)
	messages := []string{"how often is a charge tried again?", "screen stops with error four on payment page",
		"my colleague has restarted her laptop", "Monday was fine, Tuesday broken",
		"customers in Norway complain loudly", "green banner blinks below the logo"}
	whole := strings.Join(messages, "\n")
	if _, err := ask(t, New(), dir, whole); !errors.Is(err, agent.ErrNothing) {
		t.Fatalf("together they are answered (%v): this tests nothing", err)
	}
	res, err := New().Run(context.Background(),
		agent.Task{Question: whole, Messages: messages, Codebase: dir})
	if err != nil {
		t.Fatal(err)
	}
	ret := new(draft.Return)
	if err := json.Unmarshal(res.Value, ret); err != nil ||
		!strings.HasPrefix(ret.EvidenceRefs[0].Ref, "pay/retry.go") {
		t.Errorf("%+v, %v", ret, err)
	}
}

// TestQuotesAreEvidence: what a draft quotes of a place is what its evidence quotes, an address or a number
// in it too; a block is quoted to its end, and dots say where a place continues.
func TestQuotesAreEvidence(t *testing.T) {
	far := strings.Repeat("\tother()\n", 25)
	dir := t.TempDir()
	write(t, dir, map[string]string{"near.go": "package near\n\n// zebra distance of stripes, see\n// https://example.com/zebra.go\nfunc zebra(stripes int) int {\n" +
		"\tcode := 1\n\tfor range stripes {\n\t\tcode += 41\n\t}\n\n\treturn code\n}\n\nfunc other() {\n" + far + "}\n",
		"far.go": "package near\n\nfunc stripes() {\n" + far + "\t// the zebra distance begins here\n\tdistance := zebra(17)\n\tuse(distance)\n" + far + "}\n"})
	ret, err := ask(t, New(), dir, "which distance has a zebra of many stripes")
	if err != nil {
		t.Fatal(err)
	}
	honest(t, dir, ret)
	if !strings.Contains(ret.DraftReply, "return code\n}") || !strings.Contains(ret.DraftReply, dots) {
		t.Errorf("%s", ret.DraftReply)
	}
	for i, body := range strings.Split(ret.DraftReply, "\n```") {
		body, quoted := strings.CutPrefix(strings.TrimSuffix(body, "\n"+dots), "\n")
		if i%2 == 0 || !quoted {
			continue
		}
		if !slices.ContainsFunc(ret.EvidenceRefs, func(r draft.Ref) bool {
			return unindent(strings.Split(r.Quote, "\n")) == body
		}) {
			t.Errorf("no evidence quotes\n%s", body)
		}
	}
}

// TestLeftOut: who finds nothing says how many files were not searched.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	for i := range codesearch.MaxBytes/codesearch.MaxFile + 2 {
		name := filepath.Join(dir, fmt.Sprintf("%d.go", i))
		err := errors.Join(os.WriteFile(name, nil, 0o644), os.Truncate(name, codesearch.MaxFile))
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := ask(t, New(), dir, "where is the zebra striped?")
	if !errors.Is(err, agent.ErrNothing) || !strings.Contains(err.Error(), ", 2 left out: ") {
		t.Error(err)
	}
}
