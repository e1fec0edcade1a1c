package dispatch

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/stream"
	"tri/lib/judge/relation"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/thread"
)

// TestItems: each question of one asker in one thread is an item; what else they say concerns one of them.
func TestItems(t *testing.T) {
	const fence, port = "why does the Fence tokenizer drop the last rune of a block?",
		"by the way, which port does the proxy listen on in staging?"
	for _, tt := range []struct {
		name  string
		story []string // "ID CLASS TEXT"; ID>N quotes message N
		want  string   // the items' messages, and whether they are closed
	}{
		{"two questions", []string{"1 q " + fence, "2 q " + port}, "1: 1; 2: 2"},
		{"their follow-ups", []string{"1 q " + fence, "2 q " + port, "3 n the tokenizer of v2, that is",
			"4 n the staging proxy behind the gateway"}, "1: 1 3; 2: 2 4"},
		{"a quoted message chooses", []string{"1 q " + fence, "2 q " + port, "3>1 n only since Monday"},
			"1: 1 3; 2: 2"},
		{"own follow-ups join", []string{"1 q " + fence, "2 q and does it drop the rune of an empty block?"},
			"1: 1 2"},
		{"the one that is named ends", []string{"1 q " + fence, "2 q " + port,
			"3 q @tri never mind the Fence one"}, "1: 1 closed; 2: 2"},
		{"the one that is quoted ends", []string{"1 q " + fence, "2 q " + port, "3>2 q never mind"},
			"1: 1; 2: 2 closed"},
		{"which one cannot be told", []string{"1 q " + fence, "2 q " + port, "3 q never mind"}, "1: 1; 2: 2"},
		{"a name that no item has", []string{"1 q " + fence, "2 q " + port, "3 q never mind the billing one"},
			"1: 1; 2: 2"},
		{"a correction withdraws nothing",
			[]string{"1 q " + fence, "2 q scratch that -- just the block parser"}, "1: 1 2"},
		{"how far it is", []string{"1 q " + fence, "2 q any update on this?"}, "1: 1"},
		{"the one that is open", []string{"1 q " + fence, "2 q never mind, thanks"}, "1: 1 closed"},
		{"not the one that is open", []string{"1 q " + fence, "2 q never mind the billing one"}, "1: 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			for _, s := range tt.story {
				f := strings.SplitN(s, " ", 3)
				id, quotes, _ := strings.Cut(f[0], ">")
				root := "1"
				if id == "1" {
					root = ""
				}
				b.quotes = quotes
				b.add(id, "ana", root, map[string]string{"q": event.Actionable, "n": event.Ambient}[f[1]],
					f[2])
				b.run()
			}
			var got []string
			for n := range 5 {
				th := b.thread(fmt.Sprint(n))
				if th.Key == "" {
					continue
				}
				var ids []string
				for _, m := range th.Messages {
					ids = append(ids, m.MessageID)
				}
				if th.ClosedAt != nil {
					ids = append(ids, "closed")
				}
				got = append(got, fmt.Sprint(n, ": ", strings.Join(ids, " ")))
				if th.ThreadID != "1" {
					t.Errorf("item %d answers into %q", n, th.ThreadID)
				}
			}
			if got := strings.Join(got, "; "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
				t.Errorf("rebuild: %+v, %v", done, err)
			}
		})
	}
}

// TestUnclear: what a withdrawal outside any thread means is kept, also where it has no effect, and a batch
// has the effect of its parts.
func TestUnclear(t *testing.T) {
	for _, batch := range []bool{false, true} {
		b := newBench(t)
		for _, e := range []struct{ id, text string }{
			{"1", "why does the Fence tokenizer drop a rune?"}, {"2", "which port does the proxy listen on?"},
			{"3", "never mind"}, {"4", "never mind the Fence one"}, {"5", "never mind"},
		} {
			b.add(e.id, "ana", "", event.Actionable, e.text)
			if !batch {
				b.run()
			}
		}
		b.run()
		text, err := b.home.ReadFile(journal.Name)
		if err != nil || strings.Count(string(text),
			`"unclear":"it withdraws a question, and which of 2 cannot be told"`) != 1 {
			t.Errorf("%v %s", err, text)
		}
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			if th := b.thread(id); (th.Key != "") != (id < "3") ||
				th.Key != "" && th.CloseReason != "the asker withdrew the question" {
				t.Errorf("batch %v, %s: %q %q", batch, id, th.Key, th.CloseReason)
			}
		}
		if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
			t.Errorf("rebuild: %+v, %v", done, err)
		}
	}
}

// TestOfAnother: a withdrawal that quotes what a colleague says to two questions, or is in a thread without a
// question, ends none, unless it quotes or names one.
func TestOfAnother(t *testing.T) {
	for _, tt := range []struct{ root, quotes, text, ends string }{
		{"1", "", "never mind the Fence one", "1"}, {"1", "3", "never mind", ""}, {"1", "2", "never mind", "2"},
		{"50", "", "never mind the Fence one", "1"}, {"50", "", "never mind", ""},
		{"50", "4", "never mind", "4"}, {"~50", "", "never mind", ""},
	} {
		b := newBench(t)
		b.add("50", "ben", "", event.Ambient, "who wants pizza?")
		b.add("1", "ana", "", event.Actionable, "why does the Fence tokenizer drop a rune?")
		b.run()
		if tt.root == "1" {
			b.add("2", "ana", "1", event.Actionable, "by the way, which port does the staging proxy listen on?")
			b.run()
			b.add("3", "ben", "1", event.Ambient, "it did that last week, too")
		} else if tt.quotes != "" {
			b.add("4", "ana", "", event.Actionable, "which port does the staging proxy listen on?")
		}
		b.run()
		b.quotes = tt.quotes
		b.add("5", "ana", tt.root, event.Ambient, tt.text)
		b.run()
		ends := ""
		for _, id := range []string{"1", "2", "4"} {
			if b.thread(id).Withdrawn() {
				ends += id
			}
		}
		if ends != tt.ends {
			t.Errorf("%q in %s quoting %q ends %q, want %q", tt.text, tt.root, tt.quotes, ends, tt.ends)
		}
		if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
			t.Errorf("rebuild: %+v, %v", done, err)
		}
	}
}

// TestManyItems: of a thread with many closed items, a message concerns the newest; an edit of a question the
// item of that.
func TestManyItems(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "nothing?")
	for i := range maxBeside + 3 {
		b.add(fmt.Sprint("q", i), fmt.Sprint("u", i), "1", event.Actionable, "nothing here?")
		b.add(fmt.Sprint("n", i), fmt.Sprint("u", i), "1", event.Ambient, "never mind")
	}
	b.run()
	b.editing = "e"
	b.add("q0", "u0", "1", event.Actionable, "nothing there?")
	b.run()
	if th := b.thread("q0"); th.Status != thread.Closed || len(th.Alerts) != 1 {
		t.Errorf("%s %+v", th.Status, th.Alerts)
	}
	if n := len(b.thread("1").Beside); n != maxBeside+3 {
		t.Errorf("%d items", n)
	}
	if err := b.home.Replace(thread.ClosedPath(b.thread("q1").Key), []byte("broken")); err != nil {
		t.Fatal(err)
	}
	b.add("2", "zoe", "1", event.Ambient, "hm")
	b.run()
	if n := len(b.thread("1").Context); n == 0 {
		t.Error("the remark is lost")
	}
}

// TestPipeAgain: a withdrawal that is read again from a pipe ends no later question.
func TestPipeAgain(t *testing.T) {
	b := newBench(t)
	for _, e := range []struct{ id, text string }{{"1", "why does the Fence tokenizer drop a rune?"},
		{"2", "never mind"}, {"3", "which port does the proxy listen on?"}} {
		b.add(e.id, "ana", "", event.Actionable, e.text)
		b.run()
	}
	log, err := b.home.ReadFile("events-classified.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	o := b.options()
	o.Input = stream.Input{Stdin: bytes.NewReader(log)}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if first, later := b.thread("1"), b.thread("3"); first.Status != thread.Closed ||
		later.Status != thread.PendingUser {
		t.Errorf("%s, %s %s", first.Status, later.Status, later.CloseReason)
	}
}

// TestUnreadable: a dispatcher that can read no further messages ends.
func TestUnreadable(t *testing.T) {
	b := newBench(t)
	o := b.options()
	o.Once, o.Input = false, stream.Input{Files: []string{t.TempDir()}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := Run(ctx, o); err == nil {
		t.Error("it went on without messages")
	}
}

// TestBefore: what the asker said before the question, in the same turn, reaches the prompt, also across a
// restart; what anybody else said, or what was deleted, does not. Without the question nothing is asked.
func TestBefore(t *testing.T) {
	for _, restart := range []bool{false, true} {
		b := newBench(t)
		step := func(id, who, class, text string) {
			root := "1"
			if id == "1" {
				root = ""
			}
			b.add(id, who, root, class, text)
			if restart {
				b.run()
			}
		}
		step("1", "ben", event.Ambient, "morning")
		step("2", "ana", event.Ambient, "we use connect with express accounts")
		step("3", "ana", event.Ambient, "on the new api version")
		step("4", "ana", event.Actionable, "how do i get the payout id of a transfer?")
		b.run()
		th := b.thread("1")
		var got []string
		for _, m := range th.Messages {
			got = append(got, fmt.Sprint(m.MessageID, m.Before))
		}
		if strings.Join(got, " ") != "2true 3true 4false" || th.OriginalMessageID != "4" {
			t.Errorf("restart %v: %q, asked with %s", restart, got, th.OriginalMessageID)
		}
		if _, _, to := th.Target(); to != "4" {
			t.Errorf("answers %s", to)
		}
		if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
			t.Errorf("rebuild: %+v, %v", done, err)
		}
		gone := thread.Input{At: "2026-11-21T11:00:00Z", Key: th.Key,
			Event: &event.Classified{Event: event.Event{MessageID: "4", Deleted: true}}}
		if next, _ := thread.Apply(*th, gone); next.Status != thread.Closed {
			t.Errorf("without its question: %s", next.Status)
		}
		gone.Event.MessageID = "2"
		if next, _ := thread.Apply(*th, gone); next.Status != thread.Investigating ||
			len(next.Messages) != 2 {
			t.Errorf("without its beginning: %s", next.Status)
		}
	}
}

func TestWasAsked(t *testing.T) {
	at := func(s int) string { return fmt.Sprintf("2026-11-22T10:00:%02dZ", s) }
	of := func(id, who string, s int, text string) thread.Message {
		return thread.Message{MessageID: id, SenderID: who, At: at(s), Content: text}
	}
	question := of("1", "ana", 0, "the upload fails")
	helper := of("2", "ben", 10, "which version?")
	for _, tt := range []struct {
		name    string
		t       thread.Thread
		turn    string
		seconds int
		want    bool
	}{
		{"nothing was said", thread.Thread{Messages: []thread.Message{question}}, "3", 20, false},
		{"a question", thread.Thread{Messages: []thread.Message{question},
			HumanReplies: []thread.Message{helper}}, "3", 20, true},
		{"a remark", thread.Thread{Messages: []thread.Message{question},
			HumanReplies: []thread.Message{of("2", "ben", 10, "hm")}}, "3", 20, false},
		{"answered in the same turn", thread.Thread{Messages: []thread.Message{question},
			Pending:      []thread.Message{of("3", "ana", 20, "version 3")},
			HumanReplies: []thread.Message{helper}}, "3", 25, true},
		{"answered in an earlier turn", thread.Thread{Messages: []thread.Message{question},
			Context: []thread.Message{of("3", "ana", 20, "3")}, HumanReplies: []thread.Message{helper}},
			"4", 25, false},
		{"asked while the turn went on", thread.Thread{Messages: []thread.Message{question},
			HumanReplies: []thread.Message{helper}}, "1", 20, false},
	} {
		e := &event.Classified{}
		e.Sender.ID, e.TurnID, e.CreateTime = "ana", tt.turn, at(tt.seconds)
		if got := wasAsked(&tt.t, e); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestNamedByThePlatform: an order to the bot is one, whatever the platform calls the bot.
func TestNamedByThePlatform(t *testing.T) {
	r := &rules{own: []string{"U1", "tri"}}
	for _, tt := range []struct {
		mentions []string
		want     bool
	}{{[]string{"U1"}, true}, {[]string{"U1", "U2"}, false}, {[]string{"U2"}, false}, {nil, false}} {
		e := &event.Classified{Event: event.Event{Content: "@answers stop", Mentions: tt.mentions},
			IsBotMention: slices.Contains(tt.mentions, "U1")}
		if got := relation.Withdraws(e.Content, r.named(e)); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.mentions, got, tt.want)
		}
	}
}
