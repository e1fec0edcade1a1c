package dispatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"tri/lib/base/config"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// reactions returns the requests in order, each ID once as tri-reply applies it, and the resulting
// reactions by message.
func (b *bench) reactions() (all []string, stands map[string][]string) {
	b.t.Helper()
	done := map[string]bool{}
	stands = map[string][]string{}
	_, err := notify.Asked(b.home, 0, func(s notify.Signal) error {
		if s.Kind != notify.React || done[s.ID] {
			return nil
		}
		done[s.ID] = true
		sign := "-"
		left := slices.DeleteFunc(stands[s.MessageID], func(e string) bool { return e == s.Emoji })
		if s.On {
			sign, left = "+", append(left, s.Emoji)
		}
		stands[s.MessageID] = left
		all = append(all, s.MessageID+sign+s.Emoji)
		return notify.Allowed(b.cfg, &s)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all, stands
}

func reacting(t *testing.T) *bench {
	b := newBench(t)
	b.cfg.Gate.Reactions.Enabled, b.cfg.Gate.Reactions.Chats = true, []string{"dev"}
	return b
}

// posted is what tri-reply records.
func (b *bench) posted(id string) {
	b.t.Helper()
	th := b.thread(id)
	line, err := json.Marshal(outbox.Reply{Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256,
		Outcome: outbox.Posted, PostedMessageID: "99"})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.home.Path("replies.ndjson"), append(line, '\n'), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func TestReactions(t *testing.T) {
	b := reacting(t)
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	b.add("2", "ana", "", event.Actionable, "boom?")
	b.add("3", "ana", "", event.Ambient, "good morning")
	b.run()
	all, stands := b.reactions()
	want := []string{"1+👀", "1-👀", "1+🔔"}
	var first []string
	for _, r := range all {
		if r[0] == '1' {
			first = append(first, r)
		}
	}
	if !slices.Equal(first, want) {
		t.Errorf("asked for %q, want %q", first, want)
	}
	if !slices.Equal(stands["2"], []string{"❌"}) || stands["3"] != nil {
		t.Errorf("%q", stands)
	}
	b.run() // a second life asks for nothing
	if again, _ := b.reactions(); len(again) != len(all) {
		t.Errorf("asked again: %q", again[len(all):])
	}
	b.decide("approve", "1", "")
	b.decide("dismiss", "2", "")
	b.run()
	b.posted("1")
	b.run()
	if _, stands := b.reactions(); !slices.Equal(stands["1"], []string{"✅"}) ||
		!slices.Equal(stands["2"], []string{"⏩"}) {
		t.Errorf("at the end %q", stands)
	}
	before, _ := b.reactions()
	if _, err := Rebuild(b.home); err != nil {
		t.Fatal(err)
	}
	b.run()
	if after, _ := b.reactions(); len(after) != len(before) {
		t.Errorf("a rebuild asked for %q", after[len(before):])
	}
}

// TestReactionsOff: nothing is requested by default, in other chats, or for states that the configuration
// leaves empty.
func TestReactionsOff(t *testing.T) {
	none := ""
	for name, change := range map[string]func(*config.Reactions){
		"default":    func(r *config.Reactions) { *r = config.Default().Gate.Reactions },
		"no chats":   func(r *config.Reactions) { r.Chats = nil },
		"other chat": func(r *config.Reactions) { r.Chats = []string{"ops"} },
		"empty":      func(r *config.Reactions) { r.Seen, r.Working, r.Waiting = &none, &none, &none },
	} {
		b := reacting(t)
		change(&b.cfg.Gate.Reactions)
		b.add("1", "ana", "", event.Actionable, "why does it fail?")
		b.run()
		if all, _ := b.reactions(); len(all) != 0 {
			t.Errorf("%s: asked for %q", name, all)
		}
	}
}

// TestReactionsKept: a change of the configuration asks for nothing on the messages of closed threads.
func TestReactionsKept(t *testing.T) {
	b := reacting(t)
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	b.add("2", "ana", "", event.Actionable, "what is it?")
	b.run()
	b.decide("approve", "1", "")
	b.decide("dismiss", "2", "")
	b.run()
	b.posted("1")
	b.run()
	before, err := b.home.ReadFile(notify.LogName)
	other := "🎉"
	b.cfg.Gate.Reactions.Answered, b.cfg.Gate.Reactions.Skipped = &other, &other
	b.run()
	after, err2 := b.home.ReadFile(notify.LogName)
	if err := errors.Join(err, err2); err != nil || !bytes.Contains(before, []byte("✅")) ||
		len(after) != len(before) {
		t.Errorf("%v, asked for\n%s", err, after[len(before):])
	}
}

// TestReactionStates: each state has its reaction, and the one of an earlier configuration is replaced.
func TestReactionStates(t *testing.T) {
	b := reacting(t)
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	waiting := "⏩"
	b.cfg.Gate.Reactions.Waiting = &waiting
	b.run()
	b.cfg.Gate.Reactions.Waiting = config.Default().Gate.Reactions.Waiting
	b.run()
	if all, stands := b.reactions(); !slices.Equal(stands["1"], []string{"🔔"}) {
		t.Errorf("after a change of the configuration %q", all)
	}
	r := &reactor{Reactions: b.cfg.Gate.Reactions, runs: map[string]bool{}}
	closed := func(why string) thread.Thread { return thread.Thread{Status: thread.Closed, CloseReason: why} }
	id, posted := "run", closed("answered")
	posted.PostedMessageID = &id
	for _, tt := range []struct {
		t    thread.Thread
		want string
	}{
		{thread.Thread{Status: thread.Investigating, InvestigatorTaskID: &id}, stateSeen},
		{thread.Thread{Status: thread.AwaitingValidation}, stateWorking},
		{thread.Thread{Status: thread.PendingUser, Asked: "which one?"}, stateWaiting},
		{thread.Thread{Status: thread.PendingUser}, stateFailed},
		{posted, stateAnswered},
		{closed("noted: it is on the list"), stateNoted},
		{closed("dismissed: no"), stateSkipped},
		{closed(thread.RejectedByAsker), stateSkipped},
		{closed("cancelled by ana"), stateSkipped},
		{closed("the platform refused the reply: no"), stateFailed},
	} {
		if got := r.state(&tt.t); got != tt.want {
			t.Errorf("%s %q: %s, want %s", tt.t.Status, tt.t.CloseReason, got, tt.want)
		}
	}
}

// tick starts a dispatcher, lets a second pass, and ends it as a kill does.
func (b *bench) tick() {
	b.t.Helper()
	if err := b.second(b.options()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) second(o Options) error {
	d, err := newDispatcher(o)
	if err != nil {
		return err
	}
	defer d.close()
	if err := errors.Join(d.each(subscriber.open), d.recover(b.t.Context())); err != nil {
		return err
	}
	return d.tick(o.Now())
}

// TestAnswerMarkedWrong: the asker's reaction to an answer is noted once, no other person's is, and a
// rebuild has it.
func TestAnswerMarkedWrong(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	b.run()
	b.decide("approve", "1", "")
	th := b.thread("1")
	react := func(line string) {
		t.Helper()
		f, err := os.OpenFile(b.home.Path("actions.ndjson"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	action := `{"id":%q,"platform":"local","chat_id":"dev","message_id":%q,"sender":{"id":%q},"name":%q}`
	react(fmt.Sprintf(action, "a1", "99", "ben", "👎"))
	react(fmt.Sprintf(action, "a2", "98", "ana", "👎"))
	react(fmt.Sprintf(action, "a3", "99", "ana", "👍"))
	line, err := json.Marshal(outbox.Reply{
		Platform: "local", ChatID: "dev", Key: th.Key, Cycle: th.Cycle, DraftSHA256: th.DraftSHA256,
		Outcome: outbox.Posted, PostedMessageID: "99",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.home.Path("replies.ndjson"), append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run()
	b.tick()
	if th := b.thread("1"); th.Status != thread.Closed || len(th.Alerts) != 0 {
		t.Fatalf("noted of others, or of another reaction: %+v", th.Alerts)
	}
	react(fmt.Sprintf(action, "a4", "99", "ana", "❌"))
	react(fmt.Sprintf(action, "a5", "99", "ana", "👎"))
	runs := b.runs.Load()
	b.tick()
	want := b.thread("1")
	if len(want.Alerts) != 1 || want.Status != thread.Closed || b.runs.Load() != runs {
		t.Fatalf("%s %+v after %d runs", want.Status, want.Alerts, b.runs.Load()-runs)
	}
	b.tick()
	if _, err := Rebuild(b.home); err != nil {
		t.Fatal(err)
	}
	if got := b.thread("1"); fmt.Sprint(got.Alerts) != fmt.Sprint(want.Alerts) ||
		len(got.StatusHistory) != len(want.StatusHistory) {
		t.Errorf("rebuilt %+v, want %+v", got.Alerts, want.Alerts)
	}
}

// TestReactionsCut: however much of signals.ndjson a killed process has written, the next one brings the
// message to the state of its thread, open or closed.
func TestReactionsCut(t *testing.T) {
	for _, closed := range []bool{false, true} {
		b := reacting(t)
		b.add("1", "ana", "", event.Actionable, "why does it fail?")
		b.run()
		want := "🔔"
		if closed {
			b.decide("approve", "1", "")
			b.run()
			b.posted("1")
			b.run()
			want = "✅"
		}
		whole, err := os.ReadFile(b.home.Path(notify.LogName))
		if err != nil {
			t.Fatal(err)
		}
		first := 0
		if closed { // only what closing asks for can be missing: the rest was asked for while it was open
			first = bytes.LastIndex(whole, []byte(`{"id":"off-`))
		}
		for cut := first; cut <= len(whole); cut += 23 {
			if err := os.WriteFile(b.home.Path(notify.LogName), whole[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			if err := b.home.Remove("." + notify.LogName + ".sum"); err != nil { // it would be refused
				t.Fatal(err)
			}
			b.run()
			if all, stands := b.reactions(); fmt.Sprint(stands["1"]) != "["+want+"]" {
				t.Fatalf("closed %v, cut at %d of %d: %q stands after %q", closed, cut, len(whole),
					stands["1"], all)
			}
		}
	}
}

// TestOperators: nothing that is said in the operators' channel is a question.
func TestOperators(t *testing.T) {
	b := newBench(t)
	b.cfg.Gate.Chat = config.GateChat{Platform: "local", ChatID: "dev"}
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	b.run()
	if th := b.thread("1"); th.Status != "" || b.runs.Load() != 0 {
		t.Errorf("%q after %d runs", th.Status, b.runs.Load())
	}
	b.cfg.Gate.Chat.Platform = "slack" // another chat of that name
	b.add("2", "ana", "", event.Actionable, "why does it fail?")
	b.run()
	if th := b.thread("2"); th.Status != thread.PendingUser {
		t.Errorf("%q", th.Status)
	}
	if th := b.thread("1"); th.Status != "" {
		t.Errorf("what was passed over has become %q", th.Status)
	}
}
