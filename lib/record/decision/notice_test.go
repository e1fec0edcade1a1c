package decision

import (
	"testing"
	"time"

	"tri/lib/record/notice"
)

func formRecord(kind, by, text string, at time.Duration) Record {
	return Record{Kind: kind, By: by, Via: "terminal", Form: "begun", Key: FormKey("begun"), Cycle: 1,
		Text: text, DraftSHA256: Sum(text), At: stamp(at)}
}

func stamp(at time.Duration) string {
	return time.Date(2026, 7, 3, 12, 0, 0, 0, time.UTC).Add(at).Format(time.RFC3339)
}

func asked(of, chat, text string, at time.Duration) Record {
	return Record{
		Kind: Notify, By: Dispatcher, Via: "code", Form: "begun", Key: NoticeKey(of, "begun", stamp(at)),
		Cycle: 1, Of: of, Holes: &notice.Holes{},
		Text: text, DraftSHA256: Sum(text), At: stamp(at), Target: &Target{Platform: "local", ChatID: chat},
	}
}

// TestNotices: which records about forms and notices count, in their order.
func TestNotices(t *testing.T) {
	claim := func(r Record, at time.Duration) Record {
		r.Kind, r.By, r.At, r.Target = Claim, "tri-reply", stamp(at), nil
		return r
	}
	yes, no := formRecord(Notice, "ana", "On it.", 0), formRecord(Retract, "ana", "", 0)
	first := asked("t1", "dev", "On it.", 0)
	for _, c := range []struct {
		name    string
		quorum  int
		records []Record
		counts  []bool
	}{
		{"approved, asked, claimed", 1, []Record{yes, first, claim(first, time.Second)},
			[]bool{true, true, true}},
		{"not approved", 1, []Record{first}, []bool{false}},
		{"approved by a stranger", 1, []Record{formRecord(Notice, "eve", "On it.", 0), first,
			claim(asked("t1", "dev", "Buy.", 0), 0)}, []bool{false, true, false}},
		{"another text", 1, []Record{yes, asked("t1", "dev", "On it!", 0)}, []bool{true, false}},
		{"taken back before the claim", 1, []Record{yes, first, no, claim(first, time.Second)},
			[]bool{true, true, true, false}},
		{"taken back by a stranger", 1, []Record{yes, formRecord(Retract, "eve", "", 0), first},
			[]bool{true, false, false}},
		{"too old", 1, []Record{yes, first, claim(first, notice.Lifetime+time.Second)},
			[]bool{true, true, false}},
		{"two approvers are needed", 2, []Record{yes, yes, first}, []bool{true, true, true}},
		{"two approvers were not, when it was claimed", 2, []Record{yes, first, claim(first, time.Second)},
			[]bool{true, true, true}},
		{"another text by one who left", 1, []Record{yes, formRecord(Notice, "eve", "Soon.", 0), first},
			[]bool{true, false, false}},
		{"two approvers", 2, []Record{yes, formRecord(Notice, "ben", "On it.", 0), first},
			[]bool{true, true, true}},
		{"two in a chat at once", 1, []Record{yes, first, asked("t2", "dev", "On it.", 19*time.Second),
			asked("t2", "dev", "On it.", 20*time.Second)}, []bool{true, true, false, true}},
		{"four for an item", 1, []Record{yes, first, asked("t1", "a", "On it.", 1),
			asked("t1", "b", "On it.", time.Minute), asked("t1", "c", "On it.", 2*time.Minute)},
			[]bool{true, true, false, true, true}},
		{"a person asks", 1, []Record{yes, func() Record {
			r := first
			r.By = "ana"
			return r
		}()}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewState(Policy{Approvers: []string{"ana", "ben"}, Quorum: c.quorum})
			for i, r := range c.records {
				if got, why := s.Add(r); got != c.counts[i] {
					t.Errorf("record %d: counts %v: %s", i, got, why)
				}
				st := s.Standing(r.Key)
				if r.Kind == Notify && st != nil && st.Approved() != s.Covers(&r) {
					t.Errorf("record %d: approved %v", i, st.Approved())
				}
			}
		})
	}
}
