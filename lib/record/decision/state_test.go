package decision

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var team = Policy{Approvers: []string{"ana", "ben"}}

// script makes records of a short notation, "who kind [cycle] [text]": a record a
// minute, of the thread k unless the word before "/" names another.
func script(lines ...string) []Record {
	var rs []Record
	for i, line := range lines {
		r := Record{N: int64(i + 1), At: noon.Add(time.Duration(i) * time.Minute).Format(time.RFC3339),
			Key: "k", Cycle: 1}
		f := strings.Fields(line)
		r.By, r.Kind = f[0], f[1]
		if len(f) > 2 {
			fmt.Sscan(f[2], &r.Cycle)
		}
		if len(f) > 3 {
			r.Text, r.DraftSHA256 = f[3], Sum(f[3])
		}
		switch r.Kind {
		case Edit:
			r.Original = Sum(f[4])
		case Offer:
			if len(f) > 4 {
				r.ExpiresAt = f[4]
			}
		case Answer, Redo, Dismiss:
			r.Note = "n"
		case Settle:
			r.Outcome, r.Post = f[4], "p"
		}
		rs = append(rs, r)
	}
	return rs
}

func TestState(t *testing.T) {
	two := Policy{Approvers: team.Approvers, Quorum: 2}
	auto := Policy{Approvers: team.Approvers, Auto: true}
	for _, tt := range []struct {
		name   string
		policy Policy
		lines  []string // the last one is judged
		why    string   // part of the reason that it does not count, "" when it does
	}{
		{"approve", team, []string{"d offer 1 x", "ana approve 1 x"}, ""},
		{"nobody on the list", Policy{}, []string{"d offer 1 x", "ana approve 1 x"},
			"team.approvers is empty"},
		{"an empty name on the list", Policy{Approvers: []string{""}},
			[]string{"d offer 1 x", "ana approve 1 x"}, "not in team.approvers"},
		{"not on the list", team, []string{"d offer 1 x", "eve approve 1 x"}, `"eve" is not in`},
		{"redo needs the list", team, []string{"eve redo 1"}, `"eve" is not in`},
		{"answer needs the list", team, []string{"eve answer 1"}, `"eve" is not in`},
		{"dismiss needs the list", team, []string{"d offer 1 x", "eve dismiss 1"}, `"eve" is not in`},
		{"edit needs the list", team, []string{"d offer 1 x", "eve edit 1 y x"}, `"eve" is not in`},
		{"undo needs the list", team, []string{"d offer 1 x", "ana approve 1 x", "eve undo 1"},
			`"eve" is not in`},
		{"settle needs the list", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"eve settle 1 x drop"}, `"eve" is not in`},

		{"reopen of a dismissed", team, []string{"d offer 1 x", "ana dismiss 1", "ben reopen 1"}, ""},
		{"reopen of a cancelled", team, []string{"ana cancel 1", "ben reopen 1"}, ""},
		{"reopen needs the list", team, []string{"d offer 1 x", "ana dismiss 1", "eve reopen 1"},
			`"eve" is not in`},
		{"reopen twice", team, []string{"ana dismiss 1", "ana reopen 1", "ben reopen 1"},
			"it was not dismissed"},
		{"reopen of what waits", team, []string{"d offer 1 x", "ana reopen 1"}, "it was not dismissed"},
		{"reopen of another cycle", team, []string{"ana dismiss 2", "ana reopen 1"}, "it was not dismissed"},
		{"reopen of what is approved", team, []string{"d offer 1 x", "ana approve 1 x", "ana reopen 1"},
			"it was not dismissed"},
		{"approve after a reopen", team, []string{"d offer 1 x", "ana dismiss 1", "ana reopen 1",
			"ben approve 1 x"}, "no draft is offered"},
		{"the offer after a reopen", team,
			[]string{"d offer 1 x", "ana dismiss 1", "ana reopen 1", "d offer 2 y", "ben approve 2 y"}, ""},
		{"nothing offered", team, []string{"ana approve 1 x"}, "nothing was offered"},
		{"stale hash", team, []string{"d offer 1 x", "d offer 1 y", "ana approve 1 x"},
			"not the one that was shown"},
		{"stale cycle", team, []string{"d offer 1 x", "d offer 2 x", "ana approve 1 x"}, "is for cycle 1"},
		{"stale edit", team, []string{"d offer 1 x", "d offer 1 y", "ana edit 1 z x"},
			"not the one that was shown"},
		{"expired", team, []string{"d offer 1 x 2026-01-02T12:00:30Z", "ana approve 1 x"}, "expired"},
		{"not yet expired", team, []string{"d offer 1 x 2026-01-02T12:01:00Z", "ana approve 1 x"}, ""},
		{"unreadable expiry", team, []string{"d offer 1 x soon", "ana approve 1 x"}, "expired"},
		{"redo of an expired", team, []string{"d offer 1 x 2026-01-02T12:00:30Z", "ana redo 1"}, "expired"},
		{"withdrawn", team, []string{"d offer 1 x", "d withdraw 1 x", "ana approve 1 x"}, "void: withdrawn"},
		{"withdraw of another", team, []string{"d offer 1 x", "d withdraw 1 y"}, "another draft"},
		{"second approver", team, []string{"d offer 1 x", "ana approve 1 x", "ben approve 1 x"},
			`"ana" was first (approve)`},
		{"dismiss after approve", team, []string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1"}, ""},
		{"dismiss after dismiss", team, []string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1",
			"ana dismiss 1"}, `"ben" was first`},
		{"approve after a late dismiss", team, []string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1",
			"ana approve 1 x"}, `"ben" was first`},
		{"dismiss after claim", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"ben dismiss 1"}, "too late"},
		{"claim after dismiss", team, []string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1",
			"r claim 1 x"}, "nobody has approved"},
		{"approve after redo", team, []string{"d offer 1 x", "ana redo 1", "ben approve 1 x"},
			`"ana" was first (redo)`},
		{"one who left has dismissed", team, []string{"d offer 1 x", "eve dismiss 1", "ben approve 1 x"},
			`void: dismiss: "eve" is not in`},
		{"and it is offered again", team, []string{"d offer 1 x", "eve dismiss 1", "d offer 1 x",
			"ben approve 1 x"}, ""},
		{"same offer again", team, []string{"d offer 1 x", "ana approve 1 x", "d offer 1 x"},
			"offered already"},
		{"offer with a wrong hash", team, []string{"d offer 1 x", "d offer 2"}, "hash"},

		{"undo", team, []string{"d offer 1 x", "ana approve 1 x", "ben undo 1"}, ""},
		{"undo naming the draft", team, []string{"d offer 1 x", "ana approve 1 x", "ben undo 1 x"}, ""},
		{"undo naming another draft", team, []string{"d offer 1 x", "ana approve 1 x", "ben undo 1 y"},
			"no such decision"},
		{"undo of another cycle", team, []string{"d offer 1 x", "ana approve 1 x", "ben undo 2"},
			"no such decision"},
		{"undo twice", team, []string{"d offer 1 x", "ana approve 1 x", "ben undo 1", "ana undo 1"},
			"no such decision"},
		{"approve after undo", team, []string{"d offer 1 x", "ana approve 1 x", "ben undo 1",
			"ben approve 1 x"}, ""},
		{"undo of a redo", team, []string{"d offer 1 x", "ana redo 1", "ana undo 1"}, "acted upon"},
		{"undo after claim", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "ana undo 1"},
			"too late"},
		{"claim after undo", team, []string{"d offer 1 x", "ana approve 1 x", "ana undo 1", "r claim 1 x"},
			"nobody has approved"},
		{"claim after withdraw", team, []string{"d offer 1 x", "ana approve 1 x", "d withdraw 1 x",
			"r claim 1 x"}, "void: withdrawn"},
		{"claim after a new offer", team,
			[]string{"d offer 1 x", "ana approve 1 x", "d offer 2 y", "r claim 1 x"}, "nobody has approved"},
		{"claim of another text", team, []string{"d offer 1 x", "ana edit 1 y x", "r claim 1 x"},
			"another text"},
		{"claim of the edit", team, []string{"d offer 1 x", "ana edit 1 y x", "r claim 1 y"}, ""},
		{"claim twice", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "r claim 1 x"},
			"too late"},
		{"claim without a yes", team, []string{"d offer 1 x", "r claim 1 x"}, "nobody has approved"},
		{"claim of a redo", team, []string{"d offer 1 x", "ana redo 1", "r claim 1 x"},
			"nobody has approved"},
		{"withdraw after claim", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"d withdraw 1 x"}, "too late"},
		{"revoke after claim", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"r revoke 1 x"}, "too late"},
		{"revoke", team, []string{"d offer 1 x", "ana approve 1 x", "r revoke 1 x"}, ""},
		{"revoke of an undecided", team, []string{"d offer 1 x", "r revoke 1 x"}, "no such approved"},
		{"revoke of another text", team, []string{"d offer 1 x", "ana approve 1 x", "r revoke 1 y"},
			"no such approved"},
		{"offer again after a withdraw", team, []string{"d offer 1 x", "d withdraw 1 x", "d offer 1 x"}, ""},
		{"claim after revoke", team, []string{"d offer 1 x", "ana approve 1 x", "r revoke 1 x",
			"r claim 1 x"}, "void: revoked"},
		{"offer after claim", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "d offer 2 y"},
			""},
		{"the claimed draft again", team,
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "d offer 1 x"}, "being posted"},
		{"the same text in the next cycle", team,
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "d offer 2 x", "ana approve 2 x"}, ""},
		{"edit to a text that is being posted", team,
			[]string{"d offer 1 x", "ana edit 1 z x", "r claim 1 z", "d offer 1 y", "ben edit 1 z y"},
			"being posted"},

		{"redo without an offer", team, []string{"ana redo 1"}, ""},
		{"redo twice without an offer", team, []string{"ana redo 1", "ben redo 1"}, "no draft is offered"},
		{"redo of the next cycle", team, []string{"ana redo 1", "ben redo 2"}, ""},
		{"redo of a later cycle voids", team,
			[]string{"d offer 1 x", "ana approve 1 x", "ben redo 2", "r claim 1 x"}, "nobody has approved"},
		{"redo of a claimed cycle", team,
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "ben redo 1"}, "too late"},
		{"redo naming no draft that stands", team, []string{"ana redo 1 x"}, "no such draft"},
		{"redo naming the draft", team, []string{"d offer 1 x", "ana redo 1 x"}, ""},
		{"answer", team, []string{"ana answer 1"}, ""},
		{"redo naming another draft", team, []string{"d offer 1 x", "ana redo 1 y"}, "not the one that was shown"},

		{"settle", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "ana settle 1 x retry"},
			""},
		{"settle without a claim", team, []string{"d offer 1 x", "ana approve 1 x", "ana settle 1 x retry"},
			"under way"},
		{"settle to nothing", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"ana settle 1 x maybe"}, "no outcome"},
		{"settled as posted", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"ana settle 1 x posted"}, ""},
		{"settled as dropped", team, []string{"d offer 1 x", "ana approve 1 x", "r claim 1 x",
			"ana settle 1 x drop"}, ""},
		{"unknown kind", team, []string{"ana nod 1"}, `no kind "nod"`},

		{"escalate", team, []string{"d offer 1 x", "ana escalate 1"}, ""},
		{"escalate needs the list", team, []string{"d offer 1 x", "eve escalate 1"}, `"eve" is not in`},

		{"a vote taken back by another", two, []string{"d offer 1 x", "ana approve 1 x", "ben undo 1"},
			"no such decision"},
		{"a vote taken back of another cycle", two, []string{"d offer 1 x", "ana approve 1 x", "ana undo 2"},
			"no such decision"},
		{"one no is enough", two, []string{"d offer 1 x", "ana approve 1 x", "ben dismiss 1"}, ""},

		{"auto", auto, []string{"d offer 1 x", "d auto 1 x", "r claim 1 x"}, ""},
		{"auto while it is off", team, []string{"d offer 1 x", "d auto 1 x"}, "automatic replies are off"},
		{"a stranger while auto is on", auto, []string{"d offer 1 x", "eve approve 1 x"}, `"eve" is not in`},
		{"a person after auto", auto, []string{"d offer 1 x", "d auto 1 x", "ana approve 1 x"}, ""},
		{"a person's no after auto", auto, []string{"d offer 1 x", "d auto 1 x", "ana dismiss 1"}, ""},
		{"auto twice", auto, []string{"d offer 1 x", "d auto 1 x", "d auto 1 x"}, `"d" was first (auto)`},
		{"auto of another text", auto, []string{"d offer 1 x", "d auto 1 y"}, "not the one that was shown"},
		{"auto needs no second", Policy{Approvers: []string{"ana"}, Quorum: 2, Auto: true},
			[]string{"d offer 1 x", "d auto 1 x", "r claim 1 x"}, ""},
		{"auto after a no", auto, []string{"d offer 1 x", "ana dismiss 1", "d auto 1 x"}, `"ana" was first`},
		{"undo of an auto", auto, []string{"d offer 1 x", "d auto 1 x", "ana undo 1", "r claim 1 x"},
			"nobody has approved"},
		{"an auto that was claimed before it was turned off", team,
			[]string{"d offer 1 x", "d auto 1 x", "r claim 1 x", "ana undo 1"}, "too late"},

		// Ana was on the list when tri-reply claimed what she approved.
		{"claim of one who left", Policy{Approvers: []string{"ben"}},
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 x"}, ""},
		{"undo behind that claim", Policy{Approvers: []string{"ben"}},
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 x", "ben undo 1"}, "too late"},
		{"claim of one yes before two were needed", two,
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 x"}, ""},
		{"claim of another text than one who left", Policy{Approvers: []string{"ben"}},
			[]string{"d offer 1 x", "ana approve 1 x", "r claim 1 y"}, "nobody has approved"},
		{"a dismiss of another draft changes nothing", team,
			[]string{"d offer 1 x", "eve dismiss 1 y", "ana approve 1 x"}, ""},
		{"claim of what is being posted", team,
			[]string{"d offer 1 x", "ana edit 1 z x", "r claim 1 z", "d offer 1 y", "eve edit 1 z y",
				"r claim 1 z"}, "being posted already"},
		{"which changes nothing", team,
			[]string{"d offer 1 x", "ana edit 1 z x", "r claim 1 z", "d offer 1 y", "eve edit 1 z y",
				"r claim 1 z", "ana approve 1 y"}, ""},
		{"another text of one who left", Policy{Approvers: []string{"ben"}},
			[]string{"d offer 1 x", "ana approve 1 y", "r claim 1 y"}, "nobody has approved"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewState(tt.policy)
			rs := script(tt.lines...)
			for _, r := range rs[:len(rs)-1] {
				s.Add(r)
			}
			counts, why := s.Add(rs[len(rs)-1])
			if counts != (tt.why == "") || counts != (why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("counts %v, %q; want %q", counts, why, tt.why)
			}
		})
	}
}

// Two people must say yes to the same text.
func TestQuorum(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  bool // approved
	}{
		{"one of two", []string{"d offer 1 x", "ana approve 1 x"}, false},
		{"two of two", []string{"d offer 1 x", "ana approve 1 x", "ben approve 1 x"}, true},
		{"twice the same person", []string{"d offer 1 x", "ana approve 1 x", "ana approve 1 x"}, false},
		{"two different texts", []string{"d offer 1 x", "ana approve 1 x", "ben edit 1 y x"}, false},
		{"two of the same edit", []string{"d offer 1 x", "ana edit 1 y x", "ben edit 1 y x"}, true},
		{"one who changed their mind", []string{"d offer 1 x", "ana approve 1 x", "ana edit 1 y x",
			"ben approve 1 x"}, false},
		{"a vote taken back", []string{"d offer 1 x", "ana approve 1 x", "ana undo 1", "ben approve 1 x"},
			false},
		{"votes end with the offer", []string{"d offer 1 x", "ana approve 1 x", "d offer 2 x",
			"ben approve 2 x"}, false},
		{"undo of both", []string{"d offer 1 x", "ana approve 1 x", "ben approve 1 x", "ana undo 1",
			"ben approve 1 x"}, false},
		{"a stranger does not count", []string{"d offer 1 x", "ana approve 1 x", "eve approve 1 x"}, false},
	} {
		s := NewState(Policy{Approvers: team.Approvers, Quorum: 2})
		for _, r := range script(tt.lines...) {
			s.Add(r)
		}
		if got := s.Standing("k").Approved(); got != tt.want {
			t.Errorf("%s: approved %v", tt.name, got)
		}
	}
}

func TestTamperedText(t *testing.T) {
	rs := script("d offer 1 x", "ana approve 1 x")
	rs[1].Text = "y" // under the hash of x
	s := NewState(team)
	s.Add(rs[0])
	if counts, why := s.Add(rs[1]); counts || !strings.Contains(why, "hash") {
		t.Errorf("counts %v, %q", counts, why)
	}
}

func TestResolve(t *testing.T) {
	rs := script("d offer 1 x 2026-01-02T13:00:00Z", "ana approve 1 x", "ben approve 1 x")
	late := script("d offer 1 x 2026-01-02T13:00:00Z")[0]
	late.Key = "late"
	got := Resolve(append(rs, late), team, noon.Add(2*time.Hour))
	if k := got["k"]; k.Decision == nil || k.Decision.By != "ana" || k.Void != "" || !k.Approved() {
		t.Errorf("k: %+v", k)
	}
	if l := got["late"]; l.Decision != nil || !strings.HasPrefix(l.Void, "expired") || l.Open(noon) {
		t.Errorf("late: %+v", l)
	}
}

// FuzzState folds random logs and holds what must be true of any.
func FuzzState(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(200))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) { foldRandom(t, rand.New(rand.NewPCG(seed, 0)), int(n)) })
}

func foldRandom(t *testing.T, rnd *rand.Rand, n int) {
	kinds := []string{Offer, Offer, Withdraw, Approve, Approve, Edit, Dismiss, Redo, Answer, Undo, Claim,
		Claim, Revoke, Settle, "?"}
	texts := []string{"x", "y", "z"}
	s := NewState(team)
	decided := map[string]string{} // by thread and offer: the decision in force
	claimed := map[string]bool{}
	offerNo := map[string]int{}
	for i := range n {
		text, other := texts[rnd.IntN(3)], texts[rnd.IntN(3)]
		r := Record{
			N: int64(i + 1), At: noon.Add(time.Duration(i) * time.Second).Format(time.RFC3339),
			Kind: kinds[rnd.IntN(len(kinds))],
			By:   []string{"ana", "ben", "eve"}[rnd.IntN(3)], Key: []string{"k", "l"}[rnd.IntN(2)],
			Cycle: 1 + rnd.IntN(2),
			Text:  text, DraftSHA256: Sum(text), Original: Sum(other), Note: "n",
			Outcome: SettleDrop, Post: "p",
		}
		if rnd.IntN(4) == 0 {
			r.DraftSHA256 = ""
		}
		if r.Kind == Offer && rnd.IntN(3) == 0 {
			r.ExpiresAt = noon.Add(time.Duration(i+rnd.IntN(4)) * time.Second).Format(time.RFC3339)
		}
		before := s.Standing(r.Key)
		counts, why := s.Add(r)
		if counts == (why != "") {
			t.Fatalf("record %d (%s): counts %v and %q", r.N, r.Kind, counts, why)
		}
		if !counts {
			if s.Standing(r.Key) != before {
				t.Fatalf("record %d (%s) does not count and changed the standing", r.N, r.Kind)
			}
			continue
		}
		place := fmt.Sprint(r.Key, offerNo[r.Key])
		switch r.Kind {
		case Offer:
			offerNo[r.Key]++
		case Approve, Edit, Dismiss, Redo, Answer:
			if r.By == "eve" {
				t.Fatalf("record %d: %s by one who may not", r.N, r.Kind)
			}
			if before == nil || r.Cycle > before.Cycle {
				offerNo[r.Key]++ // a word about a thread without a draft
				place = fmt.Sprint(r.Key, offerNo[r.Key])
			}
			if decided[place] != "" && !(posts(decided[place]) && !r.Posts()) {
				t.Fatalf("record %d: %s counts beside %s", r.N, r.Kind, decided[place])
			}
			decided[place] = r.Kind
		case Undo:
			if claimed[place] {
				t.Fatalf("record %d: undo behind a claim", r.N)
			}
			delete(decided, place)
		case Claim:
			if claimed[r.ID()] {
				t.Fatalf("record %d: %s claimed twice", r.N, r.ID())
			}
			claimed[r.ID()], claimed[place] = true, true
		case Withdraw, Revoke:
			if claimed[place] {
				t.Fatalf("record %d: %s behind a claim", r.N, r.Kind)
			}
		}
		if st := s.Standing(r.Key); st.Approved() && (st.Claimed || st.Void != "") {
			t.Fatalf("record %d: approved and claimed or void: %+v", r.N, st)
		}
	}
	if len(s.Claims()) != len(s.claims) {
		t.Fatalf("%d claims in order, %d by id", len(s.Claims()), len(s.claims))
	}
}

func BenchmarkFold100000(b *testing.B) {
	var rs []Record
	for i := range 25_000 {
		for _, r := range script("d offer 1 x", "ana approve 1 x", "r claim 1 x", "ben undo 1") {
			r.Key = fmt.Sprint("local.dev.", i)
			rs = append(rs, r)
		}
	}
	for b.Loop() {
		Resolve(rs, team, noon)
	}
}
