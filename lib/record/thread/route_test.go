package thread

import (
	"fmt"
	"strings"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
)

// room is a conversation with its items, driven by lines "WHO KIND: TEXT".
type room struct {
	t     *testing.T
	items []*Thread
	n     int
}

func (r *room) say(line string) {
	head, text, _ := strings.Cut(line, ": ")
	who, kind, _ := strings.Cut(head, " ")
	r.n++
	root := "1"
	e := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev", MessageID: fmt.Sprint(r.n),
		ThreadID: &root,
		Content:  text, CreateTime: fmt.Sprintf("2026-11-21T10:00:%02dZ", r.n),
		Sender: event.Sender{ID: who, Type: "user"}}, Classification: event.Ambient}
	f := &Facts{QuestionType: TechnicalQA, Tier: 1}
	switch kind {
	case "asks", "edits":
		e.Classification, e.IsQuestion = event.Actionable, true
	case "tells":
		e.Classification = event.Actionable
	case "thanks":
		e.Classification, e.IsBotMention, e.IsAckOrEmoji = event.Actionable, true, true
	case "withdraws":
		e.Classification, e.IsBotMention, f.NeverMind = event.Actionable, true, true
	case "branches":
		e.Classification, e.IsQuestion, f.Relation = event.Actionable, true, RelationBranch
	case "status":
		e.Classification, e.IsQuestion, f.Relation = event.Actionable, true, RelationStatus
	case "unclear":
		e.Classification, e.IsBotMention, f.Unclear = event.Actionable, true, "which cannot be told"
	case "late":
		e.Classification, e.IsQuestion, f.Refuse = event.Actionable, true, "old"
	case "tri":
		f.Own = true
	}
	if of, rest, ok := strings.Cut(text, " @"); ok { // the item that a message began
		e.Content, f.Of = of, event.Key("local", "dev", rest)
	}
	if kind == "edits" {
		e.MessageID, e.Content, _ = strings.Cut(text, " ")
		e.EditID = fmt.Sprint(r.n)
	}
	r.take(Input{At: e.CreateTime, Key: e.Key(), Event: e, Facts: f})
}

func (r *room) take(in Input) {
	for _, in := range Route(r.items, in) {
		i := 0
		for i < len(r.items) && r.items[i].Key != in.Key {
			i++
		}
		if i == len(r.items) {
			r.items = append(r.items, new(Thread))
		}
		next, _ := Apply(*r.items[i], in)
		if *r.items[i] = next; next.Key == "" {
			r.items = r.items[:i]
		}
	}
}

// answer has the items of an asker offered, approved and posted.
func (r *room) answer(who string) {
	for _, t := range r.items {
		if t.OriginalSenderID == who {
			for n, w := range []string{"found", "pass"} {
				*t, _ = Apply(*t, keyed(t, step(*t, 100+n, w)))
			}
			*t, _ = Apply(*t, Input{At: "x", Key: t.Key,
				Decision: &decision.Record{N: int64(r.n), At: "x", Kind: decision.Approve, Cycle: t.Cycle}})
			*t, _ = Apply(*t, Input{At: "x", Key: t.Key,
				Reply: &outbox.Reply{Cycle: t.Cycle, Outcome: outbox.Posted, PostedMessageID: "99"}})
		}
	}
}

func keyed(t *Thread, in Input) Input { in.Key = t.Key; return in }

// state describes the asker, the status and the question of each item.
func (r *room) state() string {
	var out []string
	for _, t := range r.items {
		var asked []string
		for _, m := range append(t.Messages, t.Pending...) {
			asked = append(asked, m.Content)
		}
		status := t.Status
		if t.Status == Closed && t.PostedMessageID == nil {
			status = "withdrawn"
		}
		out = append(out, fmt.Sprintf("%s %s %s", t.OriginalSenderID, status, strings.Join(asked, "+")))
	}
	return strings.Join(out, "; ")
}

// TestRoute: one asker, one item, whoever writes in between.
func TestRoute(t *testing.T) {
	for _, tt := range []struct{ name, story, want string }{
		{"two askers", "mira asks: why?|joe asks: how many?",
			"mira investigating why?; joe investigating how many?"},
		{"their follow-ups", "mira asks: why?|joe asks: how many?|joe says: for users|mira says: on staging",
			"mira investigating why?+on staging; joe investigating how many?+for users"},
		{"one withdraws", "mira asks: why?|joe asks: how many?|mira withdraws: never mind",
			"mira withdrawn why?; joe investigating how many?"},
		{"the other withdraws", "mira asks: why?|joe asks: how many?|joe withdraws: @tri never mind",
			"mira investigating why?; joe withdrawn how many?"},
		{"a third person withdraws nothing", "mira asks: why?|eve withdraws: never mind",
			"mira investigating why?"},
		{"and opens nothing", "mira withdraws: never mind", ""},
		{"what somebody tells is their own, too", "mira asks: why?|eve tells: it fails since noon",
			"mira investigating why?; eve investigating it fails since noon"},
		{"also below an answer", "mira asks: why?|+mira|eve tells: it fails since noon",
			"mira closed why?; eve investigating it fails since noon"},
		{"thanks reopen nothing", "mira asks: why?|+mira|mira thanks: @tri thanks!|joe thanks: @tri 👍",
			"mira closed why?"},
		{"a later question reopens", "mira asks: why?|joe asks: how?|+mira|mira asks: and now?",
			"mira investigating and now?; joe investigating how?"},
		{"a question too old opens nothing", "mira asks: why?|joe late: how?", "mira investigating why?"},
		{"a branch", "mira asks: why?|mira branches: which port?",
			"mira investigating why?; mira investigating which port?"},
		{"its follow-ups",
			"mira asks: why?|mira branches: which port?|mira says: of the proxy|mira says: since noon @1",
			"mira investigating why?+since noon; mira investigating which port?+of the proxy"},
		{"one of two is withdrawn",
			"mira asks: why?|mira branches: which port?|mira withdraws: never mind @1",
			"mira withdrawn why?; mira investigating which port?"},
		{"which one cannot be told", "mira asks: why?|mira branches: which port?|mira unclear: never mind",
			"mira investigating why?; mira investigating which port?"},
		{"asks how far it is", "mira asks: why?|mira status: any news?", "mira investigating why?"},
		{"a branch beside another's", "mira asks: why?|joe asks: how?|mira branches: which port?",
			"mira investigating why?; joe investigating how?; mira investigating which port?"},
		{"an edit finds its item", "mira asks: why?|joe asks: how?|joe edits: 2 how many?",
			"mira investigating why?; joe investigating how many?"},
		{"an edit makes a question of a remark", "mira asks: why?|joe says: slow here|joe edits: 2 why slow?",
			"mira investigating why?; joe investigating why slow?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &room{t: t}
			for _, line := range strings.Split(tt.story, "|") {
				if who, ok := strings.CutPrefix(line, "+"); ok {
					r.answer(who)
				} else {
					r.say(line)
				}
			}
			if got := r.state(); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
			if len(r.items) > 1 && (len(r.items[0].Beside) != len(r.items)-1 ||
				r.items[1].Root != r.items[0].Key) {
				t.Errorf("%v, %q", r.items[0].Beside, r.items[1].Root)
			}
		})
	}
}

// TestReadAgain: a thread of any length recognizes its applied inputs, and a later message of a
// restarted log is not one of them.
func TestReadAgain(t *testing.T) {
	var th Thread
	ev := func(n int, seq int64) Input {
		in := step(th, n, "colleague x")
		if n == 0 {
			in = step(th, 0, "asks why?")
		}
		in.Event.CreateTime = fmt.Sprintf("2026-11-21T%02d:%02d:%02dZ", n/3600, n/60%60, n%60)
		in.Event.Seq = &seq
		return in
	}
	for n := range 3 * maxApplied {
		th, _ = Apply(th, ev(n, int64(n)*100))
	}
	for n, w := range []string{"found", "pass", "approve", "posted"} {
		th, _ = Apply(th, step(th, 5000+n, w))
	}
	if th.Status != Closed {
		t.Fatal(th.Status)
	}
	for n := range 3 * maxApplied {
		if in := ev(n, int64(n)*100); !th.Knows(in) {
			t.Fatalf("event %d is not known", n)
		}
	}
	for n := range maxApplied + 20 { // so that decision 5002 leaves the list
		th, _ = Apply(th, ev(4000+n, int64(4000+n)*100))
	}
	if in := step(th, 5002, "approve"); !th.Knows(in) {
		t.Error("a decision is not known")
	}
	if th.Knows(ev(9000, 5)) {
		t.Error("a later message of another log counts as known")
	}
}
