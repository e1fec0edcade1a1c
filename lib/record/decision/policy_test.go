package decision

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLaterPolicy: what a log says under a policy that is not the one of its time. No refusal is
// undone, and what was claimed stays claimed.
func TestLaterPolicy(t *testing.T) {
	only := func(quorum int, names ...string) Policy { return Policy{Approvers: names, Quorum: quorum} }
	one := only(1, "ana", "ben")
	for _, tt := range []struct {
		name   string
		policy Policy
		lines  []string
		want   string // "", approved TEXT or claimed TEXT
	}{
		// Written under a quorum of 2.
		{"one of two, then no", one, []string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1"}, ""},
		{"one of two, then redo", one, []string{"d offer 1 x", "ana approve 1 x", "ben redo 1"}, ""},
		{"one of two, then no, ben left", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1"}, ""},
		{"the same of an edit", one, []string{"d offer 1 x", "ana edit 1 y x", "ben dismiss 1"}, ""},
		{"another yes after the no of one who left", only(1, "ana"),
			[]string{"d offer 1 x", "ben dismiss 1", "ana approve 1 x"}, ""},
		{"two of the same edit, claimed", one, []string{"d offer 1 x", "ana approve 1 x", "ben edit 1 y x",
			"ana edit 1 y x", "r claim 1 y"}, "claimed y"},
		{"the same, and ben left", only(1, "ana"), []string{"d offer 1 x", "ana approve 1 x",
			"ben edit 1 y x", "ana edit 1 y x", "r claim 1 y"}, "claimed y"},
		{"and ana left", only(1, "ben"), []string{"d offer 1 x", "ana approve 1 x", "ben edit 1 y x",
			"ana edit 1 y x", "r claim 1 y"}, "claimed y"},
		{"an open draft of one vote", one, []string{"d offer 1 x", "ana approve 1 x"}, "approved x"},

		// Written under a quorum of 1 with ben on the list.
		{"undone and dismissed by one who left", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben undo 1", "ben dismiss 1"}, ""},
		{"undone by one who left", only(1, "ana"), []string{"d offer 1 x", "ana approve 1 x", "ben undo 1"}, ""},
		{"and approved again", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben undo 1", "ana approve 1 x"}, "approved x"},
		{"undone too late of another text", only(1, "ana"),
			[]string{"d offer 1 x", "ana edit 1 y x", "ben undo 1 x"}, "approved y"},
		{"undone, and a second is needed today", only(2, "ana", "ben", "cem"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben undo 1", "cem approve 1 x"}, ""},
		{"a redo of the next cycle by one who left", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben redo 2"}, ""},
		{"a word on the next cycle is none", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben tell 2"}, "approved x"},
		{"revoked, and a second is needed today", only(2, "ana", "ben"),
			[]string{"d offer 1 x", "ana approve 1 x", "r revoke 1 x", "ben approve 1 x", "ana approve 1 x"}, ""},

		// A claim that came after the refusal did not count, and does not under another policy.
		{"claim after an undo, ana left", only(1, "ben"),
			[]string{"d offer 1 x", "ana approve 1 x", "ana undo 1", "r claim 1 x"}, ""},
		{"claim after an undo, ben left", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben undo 1", "r claim 1 x"}, ""},
		{"claim after a dismiss, ben left", only(1, "ana"),
			[]string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1", "r claim 1 x"}, ""},
		{"claim of the policy's text after a person's, all left", only(1),
			[]string{"d offer 1 x", "d auto 1 x", "ana edit 1 y x", "r claim 1 x"}, ""},
		{"claim of a person's text after the policy's, all left", only(1),
			[]string{"d offer 1 x", "d auto 1 x", "ana edit 1 y x", "r claim 1 y"}, "claimed y"},
	} {
		s := NewState(tt.policy)
		for _, r := range script(tt.lines...) {
			if r.Kind == Tell {
				r.Note = "n"
			}
			s.Add(r)
		}
		got, st := "", s.Standing("k")
		switch {
		case st.Claimed:
			got = "claimed " + st.Decision.Text
		case st.Approved():
			got = "approved " + st.Decision.Text
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzLaterPolicy writes a log under changing policies, by programs that read it a little late, and
// reads it again under any of them: the same claims count, and nothing is approved by what came
// before a refusal that counted.
func FuzzLaterPolicy(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { changePolicies(t, rand.New(rand.NewPCG(seed, 1))) })
}

func changePolicies(t *testing.T, rnd *rand.Rand) {
	people := []string{"ana", "ben", "cem"}
	anyPolicy := func() Policy {
		p := Policy{Quorum: 1 + rnd.IntN(2), Auto: rnd.IntN(2) == 0}
		for _, name := range people {
			if rnd.IntN(3) > 0 {
				p.Approvers = append(p.Approvers, name)
			}
		}
		return p
	}
	fold := func(rs []Record, p Policy) *State {
		s := NewState(p)
		for _, r := range rs {
			s.Add(r)
		}
		return s
	}
	var rs []Record
	claimed, refused := []string{}, map[int]int64{}
	policy := anyPolicy()
	offers := 0
	kinds := []string{Offer, Approve, Approve, Approve, Edit, Edit, Undo, Dismiss, Redo, Claim, Claim, Auto,
		Revoke, Withdraw}
	for i := range 25 {
		if rnd.IntN(4) == 0 {
			policy = anyPolicy()
		}
		seen := fold(rs[:max(0, len(rs)-rnd.IntN(3))], policy) // what the program has read
		r := Record{At: noon.Add(time.Duration(i) * time.Second).Format(time.RFC3339), Key: "k",
			Cycle: offers, By: people[rnd.IntN(3)], Kind: kinds[rnd.IntN(len(kinds))], Note: "n"}
		st := seen.Standing("k")
		switch {
		case r.Kind == Offer:
			if st != nil && st.Claimed {
				continue
			}
			offers++
			r.By, r.Cycle, r.Text = "tri-dispatch", offers, "x"
		case st == nil:
			continue
		case r.Kind == Auto:
			r.By, r.Via, r.Text = Dispatcher, ViaPolicy, "x"
		case r.Kind == Withdraw:
			if rnd.IntN(2) == 0 {
				r.Note = ExpiredNote
			}
			r.By, r.DraftSHA256 = Dispatcher, Sum("x")
		case r.Kind == Claim || r.Kind == Revoke:
			if !st.Approved() {
				continue
			}
			r.By, r.Cycle, r.DraftSHA256 = "tri-reply", st.Cycle, st.Decision.DraftSHA256
		case r.Kind == Approve:
			r.Text = "x"
		case r.Kind == Edit:
			r.Text, r.Original = []string{"y", "z"}[rnd.IntN(2)], Sum("x")
		case r.Kind == Undo && st.Decision != nil:
			r.DraftSHA256 = st.Decision.DraftSHA256
			if st.Automatic() && rnd.IntN(2) == 0 {
				r.By, r.Via = Dispatcher, ViaPolicy
			}
		}
		if r.Text != "" {
			r.DraftSHA256 = Sum(r.Text)
		}
		if ok, _ := seen.Add(r); !ok { // it is refused before it is written
			continue
		}
		r.N = int64(len(rs) + 1)
		rs = append(rs, r)
		now := fold(rs[:len(rs)-1], policy)
		was := now.Standing("k")
		undoes := was != nil && was.Decision != nil && !was.Expired()
		switch ok, _ := now.Add(r); {
		case ok && r.Kind == Claim:
			claimed = append(claimed, r.ID())
		case ok && (r.Kind == Undo && undoes && !r.expires() || r.Kind == Dismiss || r.Kind == Redo ||
			r.Kind == Revoke):
			refused[r.Cycle] = r.N
		}
	}
	for range 5 {
		policy = anyPolicy()
		s := fold(rs, policy)
		var got []string
		for _, st := range s.Claims() {
			got = append(got, st.Decision.ID())
		}
		if !slices.Equal(got, claimed) && len(got)+len(claimed) > 0 {
			t.Fatalf("claims %v, want %v\n%s\n%+v", got, claimed, show(rs), policy)
		}
		if st := s.Standing("k"); st != nil && st.Approved() && st.Decision.N < refused[st.Cycle] {
			t.Fatalf("approved by %d, refused by %d\n%s\n%+v", st.Decision.N, refused[st.Cycle], show(rs), policy)
		}
	}
}

func show(rs []Record) (lines string) {
	for _, r := range rs {
		lines += fmt.Sprintf("%d %s %s %d %s %.4s\n", r.N, r.By, r.Kind, r.Cycle, r.Text, r.DraftSHA256)
	}
	return lines
}
