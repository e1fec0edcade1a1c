package dispatch

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/stream"
	"tri/lib/judge/evidence"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/memory"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

const retried = "how often does the gateway retry a payment?"

// library is a bench with a codebase, and one question that was answered from it.
type library struct {
	*bench
	dir      string
	stands   string // what code says of an earlier answer
	approver string
	cuts     []int // of every draft
}

func newLibrary(t *testing.T, asked, approver string, cuts ...int) *library {
	l := &library{bench: newBench(t), dir: t.TempDir(), stands: verdict.Pass, approver: approver, cuts: cuts}
	l.cfg.Codebases = []config.Codebase{{Name: "shop", Path: l.dir}}
	l.write("package pay\n\n// Limit is how often a payment is retried.\nconst Limit = 5\n")
	l.add("1", "ana", "", event.Actionable, asked)
	l.start()
	l.decide(decision.Approve, "1", "")
	th := l.thread("1")
	claim := decision.Record{Kind: decision.Claim, By: "tri-reply", Via: "code", At: "2026-11-20T09:00:00Z",
		Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256}
	if _, err := decision.Append(l.home, claim); err != nil {
		t.Fatal(err)
	}
	l.reply(outbox.Reply{Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256, Outcome: outbox.Posted,
		PostedMessageID: "77", PostedAt: "2026-11-20T09:00:00Z", ReplyText: *th.DraftPending,
		ApprovedBy: approver, ReadBy: []string{approver}, Platform: "local", ChatID: "dev"})
	l.start()
	return l
}

func (l *library) write(text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, "pay.go"), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l *library) reply(r outbox.Reply) {
	l.t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		l.t.Fatal(err)
	}
	f, err := os.OpenFile(l.home.Path("replies.ndjson"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		l.t.Fatal(err)
	}
}

func (l *library) start() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	o := l.options()
	o.Input = stream.Input{Files: []string{l.home.Path("events-classified.ndjson")}}
	o.Investigate = func(context.Context, *thread.Thread, []Hint, *run.Run) (*draft.Return, error) {
		l.runs.Add(1)
		root, err := os.OpenRoot(l.dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		repo, err := evidence.OpenRepo(l.dir)
		if err != nil {
			return nil, err
		}
		refs := evidence.Stamp(root, repo,
			[]draft.Ref{{Kind: draft.KindFile, Ref: "pay.go:4", Quote: "const Limit = 5"}}, time.Now())
		return &draft.Return{Confidence: "high", DraftReply: "Five times: `pay.go:4`.",
			SummaryForOrchestrator: "s", ResearchNotes: "n", EvidenceRefs: refs, Cuts: l.cuts,
			Usage: &draft.Usage{CostUSD: new(0.3)}}, nil
	}
	o.Stands = func(_ context.Context, t *thread.Thread) (*verdict.Verdict, error) {
		return &verdict.Verdict{Verdict: l.stands}, nil
	}
	if err := Run(ctx, o); err != nil {
		l.t.Fatal(err)
	}
	if ctx.Err() != nil {
		l.t.Fatal("stuck; said: " + l.say.String())
	}
}

func TestAnsweredBefore(t *testing.T) {
	l := newLibrary(t, retried, "boss")
	l.add("5", "ben", "", event.Actionable, "Hi all, How often does the gateway retry a payment, please?")
	l.start()
	th := l.thread("5")
	if l.runs.Load() != 1 || th.Status != thread.PendingUser ||
		th.Badge != "answered before on 2026-11-20, evidence still stands" {
		t.Fatalf("%d runs, %s %q (%s)", l.runs.Load(), th.Status, th.Badge, th.InvestigatorError)
	}
	if ret := th.InvestigatorReturn; *th.DraftPending != "Five times: `pay.go:4`." ||
		ret.Before.By != "boss" || *ret.Usage.CostUSD != 0 {
		t.Errorf("%+v", ret)
	}
	if n, _ := l.offers("5"); n != 1 {
		t.Errorf("%d offers", n)
	}
	spent, err := l.home.ReadFile("spend.ndjson")
	if err != nil || strings.Count(string(spent), `"reserve"`) != 1 {
		t.Errorf("%v: reserved for what costs nothing:\n%s", err, spent)
	}
	l.start()
	if done, err := Rebuild(l.home); err != nil || done.Changed+done.Removed > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if l.decide(decision.Redo, "5", "look again"); l.runs.Load() != 1 {
		t.Fatal(l.runs.Load())
	}
	if l.start(); l.runs.Load() != 2 { // a person wants a look
		t.Errorf("%d runs after a redo", l.runs.Load())
	}
}

// TestEditedBefore: an earlier answer that an approver wrote is not cut where the draft before it was, and is
// offered.
func TestEditedBefore(t *testing.T) {
	for said, cuts := range map[string]int{"Five times: `pay.go:4`.": 1, "Five: `pay.go:4`.": 0, "Five.": 0} {
		l := newLibrary(t, retried, "boss", 12)
		first := l.thread("1")
		l.reply(outbox.Reply{Key: first.Key, Cycle: first.Cycle, Outcome: outbox.Posted, PostedMessageID: "77",
			PostedAt: "2026-11-20T09:00:00Z", ReplyText: said, ApprovedBy: "boss", Platform: "local", ChatID: "dev"})
		l.add("5", "ben", "", event.Actionable, retried)
		l.start()
		th := l.thread("5")
		state, err := decision.Fold(l.home, decision.PolicyOf(l.cfg), nil)
		if err != nil || l.runs.Load() != 1 || th.DraftPending == nil || *th.DraftPending != said {
			t.Fatalf("%q: %d runs, %+v, %v", said, l.runs.Load(), th, err)
		}
		if st := state.Standing(th.Key); st == nil || len(st.Offer.Cuts) != cuts {
			t.Errorf("%q is offered as %+v", said, st)
		}
	}
}

// TestNotAnsweredBefore: whatever is not the same question on the same ground is
// investigated.
func TestNotAnsweredBefore(t *testing.T) {
	for name, set := range map[string]struct {
		text, first, approver string
		change                func(*library)
	}{
		"negated":              {text: "how often does the gateway not retry a payment?"},
		"another number":       {text: "how often does the gateway retry a payment of 5?"},
		"another name":         {text: "how often does the gatekeeper retry a payment?"},
		"a name in the plural": {text: "how often does the gateway retry payments?"},
		"another kind":         {text: "is the gateway down?", first: "is the gateway down?"},
		"points elsewhere":     {text: "why does it retry payments?", first: "why does it retry payments?"},
		"nobody approved":      {approver: decision.Dispatcher},
		"the lines changed": {change: func(l *library) {
			l.write("package pay\n\n// Limit is how often a payment is retried.\nconst Limit = 6\n")
		}},
		"the lines moved": {change: func(l *library) {
			l.write("package pay\n\nimport _ \"embed\"\n\n// Limit is how often a payment is retried.\nconst Limit = 5\n")
		}},
		"the file is gone": {change: func(l *library) {
			if err := os.Rename(filepath.Join(l.dir, "pay.go"), filepath.Join(l.dir, "x.go")); err != nil {
				l.t.Fatal(err)
			}
			l.write("package pay\n\n\nconst Limit = 7\n")
		}},
		"code objects": {change: func(l *library) { l.stands = verdict.Bounce }},
		"another codebase": {change: func(l *library) {
			dir := l.t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "pay.go"),
				[]byte("package pay\n\n// Limit is how often a payment is retried.\nconst Limit = 5\n"),
				0o600); err != nil {
				l.t.Fatal(err)
			}
			l.cfg.Codebases[0].Path = dir
		}},
		"corrected": {change: func(l *library) {
			l.add("3", "cid", "1", event.Ambient, "no, that is wrong, it is 6")
		}},
		"another chat": {change: func(l *library) { l.chat = "board" }},
		"forgotten": {change: func(l *library) {
			policy := decision.PolicyOf(l.cfg)
			all, err := memory.Read(l.home, policy)
			if err != nil || len(all) != 1 {
				l.t.Fatal(all, err)
			}
			if err := memory.Say(l.home, policy,
				memory.Word{Kind: memory.Forget, By: "boss", ID: all[0].ID}); err != nil {
				l.t.Fatal(err)
			}
		}},
		"dismissed": {change: func(l *library) {
			l.add("4", "ben", "", event.Actionable, retried)
			l.start()
			if l.thread("4").InvestigatorReturn.Before == nil {
				l.t.Fatal("not answered before")
			}
			l.decide(decision.Dismiss, "4", "")
		}},
		"the run is gone": {change: func(l *library) {
			if err := os.RemoveAll(l.home.Path("runs")); err != nil {
				l.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			first, approver := retried, "boss"
			if set.first != "" {
				first = set.first
			}
			if set.approver != "" {
				approver = set.approver
			}
			l := newLibrary(t, first, approver)
			if set.change != nil {
				set.change(l)
				l.start()
			}
			text := first
			if set.text != "" {
				text = set.text
			}
			before := l.runs.Load()
			l.add("5", "ben", "", event.Actionable, text)
			l.start()
			if th := l.thread("5"); l.runs.Load() != before+1 || th.InvestigatorReturn == nil ||
				th.InvestigatorReturn.Before != nil {
				t.Errorf("%d runs, %q", l.runs.Load()-before, th.Badge)
			}
		})
	}
}
