package dispatch

import (
	"errors"
	"strings"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// TestBranch: an operator's branch is an item of its own, which answers what the operator asked,
// and replies to the asker's message; the first item, its draft and its asker's words stay as they
// are.
func TestBranch(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why does the Fence tokenizer drop a rune?")
	b.run()
	first := b.thread("1")
	d, err := decision.Append(b.home, decision.Record{Kind: decision.Branch, By: "boss", Via: "terminal",
		Key: first.Key, Cycle: first.Cycle, Note: "which port does the proxy listen on?"})
	if err != nil {
		t.Fatal(err)
	}
	b.run()
	b.run()
	b.add("2", "ana", "1", event.Actionable, "never mind")
	b.run()
	if th := b.thread("1"); th.Cycle != 1 || th.CloseReason != "the asker withdrew the question" {
		t.Errorf("the first: cycle %d, %s %q", th.Cycle, th.Status, th.CloseReason)
	}
	th := b.thread("decision 2")
	if th.Parent != first.Key || th.Root != first.Key || th.Cycle != 1 || th.Status != thread.PendingUser ||
		len(th.Questions()) != 1 || th.Questions()[0].Content != d.Note || !th.Ordered {
		t.Fatalf("the second: %+v", th)
	}
	st := standing(t, b, th.Key)
	if st == nil || st.Offer == nil || st.Offer.Target.ReplyToID != "1" || st.Offer.Target.ThreadID != "1" ||
		st.Offer.Target.QuestionSHA256 != decision.Sum(first.Messages[0].Content) {
		t.Errorf("its offer: %+v", st)
	}
	if n := strings.Count(b.files(), "an operator asked it beside another question"); n != 1 {
		t.Errorf("begun %d times", n)
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
		t.Errorf("rebuild: %+v, %v", done, err)
	}
	gone := thread.Input{At: "2026-11-21T11:00:00Z", Key: th.Key,
		Event: &event.Classified{Event: event.Event{MessageID: "1", Deleted: true}}}
	if next, _ := thread.Apply(*th, gone); next.Status != thread.Closed {
		t.Errorf("without the message that it answers: %s", next.Status)
	}
}

// TestBranchCutOff: a decision whose item is in the journal, but not itself, is taken again without the item.
func TestBranchCutOff(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why does it fail?")
	b.run()
	d, err := newDispatcher(b.options())
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := errors.Join(d.each(subscriber.open), d.recover(t.Context())); err != nil {
		t.Fatal(err)
	}
	in := thread.Input{At: "2026-11-21T11:00:00Z", Key: b.thread("1").Key, Decision: &decision.Record{N: 9,
		Kind: decision.Branch, By: "boss", At: "2026-11-21T11:00:00Z", Note: "and which port?"}}
	some := &batch{d: d, threads: map[string]*thread.Thread{in.Key: b.thread("1")}}
	ins, err := some.route(in)
	if err != nil || len(ins) != 3 || ins[0].Thread == nil || ins[1].Beside == nil || ins[2].Decision == nil {
		t.Fatalf("%+v, %v", ins, err)
	}
	some.threads[ins[0].Key] = ins[0].Thread
	if ins, err = some.route(in); err != nil || len(ins) != 2 || ins[0].Beside == nil {
		t.Errorf("again: %+v, %v", ins, err)
	}
}
