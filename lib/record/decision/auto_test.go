package decision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
)

// TestAutoTakesBack: the policy may undo its own approval, and no other program may do so in its
// name. A refusal that does not count stops the policy's approval all the same.
func TestAutoTakesBack(t *testing.T) {
	policy := Policy{Approvers: []string{"ana"}, Auto: true}
	for _, tt := range []struct {
		name  string
		first string
		undo  Record
		why   string
	}{
		{"its own", "d auto 1 x", Record{Kind: Undo, By: Dispatcher, Via: ViaPolicy}, ""},
		{"not by the policy", "d auto 1 x", Record{Kind: Undo, By: Dispatcher, Via: "code"}, "is not in"},
		{"not by the dispatcher", "d auto 1 x", Record{Kind: Undo, By: "eve", Via: ViaPolicy},
			`"eve" is not in`},
		{"no other word", "d auto 1 x", Record{Kind: Redo, By: Dispatcher, Via: ViaPolicy}, "is not in"},
		{"a person's yes", "ana approve 1 x", Record{Kind: Undo, By: Dispatcher, Via: ViaPolicy},
			"a person has said so"},
	} {
		s := NewState(policy)
		for _, r := range script("d offer 1 x", tt.first) {
			if ok, why := s.Add(r); !ok {
				t.Fatal(why)
			}
		}
		tt.undo.Key, tt.undo.Cycle, tt.undo.At = "k", 1, noon.Format(time.RFC3339)
		_, why := s.Add(tt.undo)
		if (why == "") != (tt.why == "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %q, want %q", tt.name, why, tt.why)
		}
		if got := s.Standing("k").Approved(); got != (tt.first != "d auto 1 x") {
			t.Errorf("%s: approved %v", tt.name, got)
		}
	}
}

// TestAutoLapses: an approval that was not posted in time waits for a person.
func TestAutoLapses(t *testing.T) {
	at := func(after time.Duration) string { return noon.Add(after).Format(time.RFC3339) }
	for _, tt := range []struct {
		name   string
		kind   string
		said   string
		now    time.Duration
		lapsed bool
	}{
		{"at once", Auto, at(0), 0, false},
		{"at the end of its time", Auto, at(0), AutoLasts, false},
		{"behind it", Auto, at(0), AutoLasts + time.Second, true},
		{"a person's", Approve, at(0), 24 * time.Hour, false},
	} {
		s := NewState(Policy{Approvers: []string{"d"}, Auto: true})
		rs := script("d offer 1 x", "d auto 1 x", "r claim 1 x")
		rs[1].Kind, rs[1].At, rs[2].At = tt.kind, tt.said, at(tt.now)
		s.Add(rs[0])
		if ok, why := s.Add(rs[1]); !ok {
			t.Fatal(why)
		}
		st := s.Standing("k")
		if st.Automatic() != (tt.kind == Auto) {
			t.Errorf("%s: automatic %v", tt.name, st.Automatic())
		}
		if got := st.Lapsed(noon.Add(tt.now)); got != tt.lapsed {
			t.Errorf("%s: lapsed %v", tt.name, got)
		}
		if ok, why := s.Add(rs[2]); ok == tt.lapsed || tt.lapsed && !strings.Contains(why, "lapsed") {
			t.Errorf("%s: claimed %v, %q", tt.name, ok, why)
		}
		if st.Claimed && st.Lapsed(noon.Add(time.Hour)) {
			t.Errorf("%s: lapsed behind its claim", tt.name)
		}
	}
	none := &Standing{Offer: &Record{}}
	void := &Standing{Decision: &Record{Kind: Auto, At: at(0)}, Void: "withdrawn"}
	if none.Automatic() || void.Automatic() || none.Lapsed(noon.Add(time.Hour)) ||
		void.Lapsed(noon.Add(time.Hour)) {
		t.Error("what does not stand is automatic, or lapses")
	}
	timeless := &Standing{Decision: &Record{Kind: Auto, At: "soon"}}
	if !timeless.Lapsed(noon) || !late(timeless.Decision, at(0)) {
		t.Error("a yes without a time holds for ever")
	}
	fresh := &Standing{Decision: &Record{Kind: Auto, At: at(0)}}
	if !late(fresh.Decision, "soon") || late(fresh.Decision, at(time.Minute)) {
		t.Error("a claim without a time is in time, or one in time is not")
	}
}

// TestAutoAlone: the policy's yes needs no second one, and is not a vote.
func TestAutoAlone(t *testing.T) {
	s := NewState(Policy{Approvers: []string{"ana", "ben"}, Quorum: 2, Auto: true})
	for _, r := range script("d offer 1 x", "d auto 1 x") {
		s.Add(r)
	}
	if st := s.Standing("k"); !st.Approved() || len(st.Votes) != 0 {
		t.Errorf("approved %v, %d votes", st.Approved(), len(st.Votes))
	}
	// Whose word counted is not changed by that of one who may not.
	s = NewState(Policy{Approvers: []string{"ben"}, Auto: true})
	for _, r := range script("d offer 1 x", "ana approve 1 x", "d auto 1 x", "r claim 1 x") {
		s.Add(r)
	}
	if st := s.Standing("k"); !st.Claimed || st.Decision.Kind != Auto {
		t.Errorf("claimed %v, by a word of kind %s", st.Claimed, st.Decision.Kind)
	}
}

func TestPolicy(t *testing.T) {
	c := &config.Config{}
	c.Team.Approvers, c.Gate.Quorum, c.AutoReply.Enabled = []string{"ana", ""}, 2, true
	p := PolicyOf(c)
	if fmt.Sprint(p) != "{[ana ] 2 true}" {
		t.Errorf("%+v", p)
	}
	for by, want := range map[string]bool{"ana": true, "eve": false, "": false} {
		if p.Allows(by) != want {
			t.Errorf("%q may decide: %v", by, !want)
		}
	}
	for _, kind := range []string{Offer, Withdraw, Approve, Edit, Dismiss, Redo, Answer, Escalate, Auto, Undo,
		Claim, Revoke, Settle} {
		if got := (&Record{Kind: kind}).Posts(); got != (kind == Approve || kind == Edit || kind == Auto) {
			t.Errorf("%s is to post: %v", kind, got)
		}
	}
}

// TestRefusedRecords are those that the notation of script cannot write.
func TestRefusedRecords(t *testing.T) {
	now := noon.Format(time.RFC3339)
	offer := Record{Kind: Offer, Key: "k", Cycle: 1, At: now, Text: "x", DraftSHA256: Sum("x")}
	approve := Record{Kind: Approve, By: "ana", Key: "k", Cycle: 1, At: now, Text: "x", DraftSHA256: Sum("x")}
	claim := Record{Kind: Claim, By: "r", Key: "k", Cycle: 1, At: now, DraftSHA256: Sum("x")}
	for _, tt := range []struct {
		name   string
		before []Record
		last   Record
		why    string
	}{
		{"no thread", nil, Record{Kind: Offer, Cycle: 1, Text: "x", DraftSHA256: Sum("x")},
			"names no thread"},
		{"an empty offer", nil, Record{Kind: Offer, Key: "k", Cycle: 1, DraftSHA256: Sum("")}, "hash"},
		{"an offer of another text", nil,
			Record{Kind: Offer, Key: "k", Cycle: 1, Text: "y", DraftSHA256: Sum("x")}, "hash"},
		{"an edit to nothing", []Record{offer},
			Record{Kind: Edit, By: "ana", Key: "k", Cycle: 1, At: now, DraftSHA256: Sum(""),
				Original: Sum("x")}, "hash"},
		{"a yes without a time", []Record{offer},
			Record{Kind: Approve, By: "ana", Key: "k", Cycle: 1, Text: "x", DraftSHA256: Sum("x")},
			"no time"},
		{"a redo without a time", nil, Record{Kind: Redo, By: "ana", Key: "k", Cycle: 1}, "no time"},
		{"an answer that text is empty", nil, Record{Kind: Answer, By: "ana", Key: "k", Cycle: 1, At: now},
			"needs a text"},
		{"a redirection that text is empty", nil,
			Record{Kind: Redirect, By: "ana", Key: "k", Cycle: 1, At: now}, "text is empty"},
		{"a cancel by another", nil, Record{Kind: Cancel, By: "eve", Key: "k", Cycle: 1, At: now},
			"not in team.approvers"},
		{"a settle of no post", []Record{offer, approve, claim},
			Record{Kind: Settle, By: "ana", Key: "k", Cycle: 1, At: now, DraftSHA256: Sum("x"),
				Outcome: SettleDrop}, "names no post"},
	} {
		s := NewState(Policy{Approvers: []string{"ana"}})
		for _, r := range tt.before {
			if ok, why := s.Add(r); !ok {
				t.Fatalf("%s: %s", tt.name, why)
			}
		}
		if ok, why := s.Add(tt.last); ok || !strings.Contains(why, tt.why) {
			t.Errorf("%s: counts %v, %q", tt.name, ok, why)
		}
	}
}

// TestWordsDecideNothing: any number of words count while no draft stands, and one ends a draft that does.
func TestWordsDecideNothing(t *testing.T) {
	const now = "2026-11-22T10:00:00Z"
	s := NewState(Policy{Approvers: []string{"ana"}})
	word := Record{Kind: Tell, By: "ana", Key: "k", Cycle: 1, At: now, Note: "of prod"}
	for _, r := range []Record{word, word,
		{Kind: Offer, Key: "k", Cycle: 1, Text: "x", DraftSHA256: Sum("x")}, word} {
		if ok, why := s.Add(r); !ok {
			t.Fatalf("%s: %s", r.Kind, why)
		}
	}
	if ok, why := s.Add(word); ok || !strings.Contains(why, "was first") {
		t.Errorf("a word on a draft that another has ended: %v %q", ok, why)
	}
}

// TestStandings: the state of a thread's earlier drafts, and when one is open.
func TestStandings(t *testing.T) {
	s := NewState(Policy{Approvers: []string{"ana", "ben", "cem"}, Quorum: 3})
	fold := func(lines ...string) *Standing {
		t.Helper()
		for _, r := range script(lines...) {
			r.Note = "why"
			s.Add(r)
		}
		return s.Standing("k")
	}
	first := fold("d offer 1 x 2026-01-02T13:00:00Z")
	if !first.Open(noon) || first.Open(noon.Add(2*time.Hour)) {
		t.Error("an offer is open until its time has run out")
	}
	if got := fold("ana approve 1 x", "ben approve 1 x", "ana undo 1").Votes; len(got) != 1 ||
		got[0].By != "ben" {
		t.Errorf("ana took her yes back, and %d stand", len(got))
	}
	second := fold("d offer 2 y")
	if first.Void != "replaced in cycle 2" || first.Open(noon) {
		t.Errorf("the first is void: %q", first.Void)
	}
	if fold("d withdraw 2 y"); second.Void != "withdrawn: why" || second.Open(noon) {
		t.Errorf("the second is void: %q", second.Void)
	}
	third := fold("d offer 3 z")
	if second.Void != "withdrawn: why" {
		t.Errorf("what was withdrawn is void: %q", second.Void)
	}
	fold("ana approve 3 z", "ben approve 3 z", "cem approve 3 z")
	if third.Open(noon) || !third.Approved() {
		t.Error("three of three said yes")
	}
	fold("r claim 3 z", "d offer 4 w")
	if st := s.Claim(ID("k", 3, Sum("z"))); st != third || third.Void != "" {
		t.Errorf("what is being posted: %p, %p void %q", st, third, third.Void)
	}
	redo := fold("ana redo 5")
	if redo.Open(noon) || redo.Offer != nil {
		t.Error("a redo is not an offer")
	}
	keys := 0
	s.Keys(func(st *Standing) {
		if keys++; st.Key != "k" {
			t.Errorf("a thread %q", st.Key)
		}
	})
	if keys != 1 {
		t.Errorf("%d threads", keys)
	}
	rs := script("d offer 1 x 2026-01-02T11:00:00Z", "d withdraw 1 x")
	if got := Resolve(rs, team, noon)["k"].Void; got != "withdrawn" {
		t.Errorf("what was withdrawn and then ran out is void: %q", got)
	}
}
