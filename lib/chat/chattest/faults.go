package chattest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Faulty is a World whose platform can be made to misbehave: a fake server. All clients that it
// returns use short delays instead of the real ones.
type Faulty interface {
	World
	// Break injects the faults f from now on; the zero Faults ends them.
	Break(f Faults)
	// Burst posts n messages of people in a chat, "burst 0", "burst 1", …, as fast as the server can
	// accept them. It returns their ids.
	Burst(chatID string, n int) []string
	// File sends a file of a person, without text.
	File(chatID, person, name string) (messageID string)
	// Garble sends data that no client can parse, or that is far too large, to every connection. The
	// connection may end because of it.
	Garble()
	// Revoke revokes the bot's credential permanently.
	Revoke()
	// Standing returns the current texts of the bot's messages in a thread.
	Standing(chatID, thread string) []string
}

// Faults are the probabilities, between 0 and 1, of each fault. A World ignores faults that its
// platform does not have.
type Faults struct {
	Seed uint64

	// Of a delivery.
	Cut       float64 // the connection ends before it
	Duplicate float64 // it arrives twice
	Reorder   float64 // it arrives after the next one
	Lose      float64 // it never arrives, but is in the history

	// Of a request.
	Fail float64 // status 500 and nothing done
	Busy float64 // status 429, retry after a second

	// Of a post.
	LoseAnswer float64 // it is posted, and the connection is cut before the response
	FailAfter  float64 // it is posted, and the response is status 500
}

// Faulted runs the tests of Source and Sink under faults.
func Faulted(t *testing.T, f func(t *testing.T) Faulty) {
	t.Run("Deliveries", func(t *testing.T) { deliveries(t, f) })
	t.Run("Gap", func(t *testing.T) { gap(t, f(t)) })
	t.Run("Garbled", func(t *testing.T) { garbled(t, f(t)) })
	t.Run("Revoked", func(t *testing.T) { revoked(t, f(t)) })
	t.Run("File", func(t *testing.T) { file(t, f(t)) })
	t.Run("Busy", func(t *testing.T) { busy(t, f(t)) })
	t.Run("Once", func(t *testing.T) { once(t, f) })
}

// deliveries: whatever happens to the connection and its data, and over a restart, every message,
// edit and deletion is emitted, and none under two identities.
func deliveries(t *testing.T, f func(t *testing.T) Faulty) {
	for name, faults := range map[string]Faults{
		"cut":       {Cut: 0.08},
		"duplicate": {Duplicate: 0.3},
		"reorder":   {Reorder: 0.3},
		"lose":      {Lose: 0.1, Cut: 0.02},
		"fail":      {Cut: 0.05, Fail: 0.1},
		"busy":      {Cut: 0.05, Busy: 0.1},
		"all":       {Cut: 0.05, Duplicate: 0.05, Reorder: 0.05, Lose: 0.03, Fail: 0.03, Busy: 0.03},
	} {
		t.Run(name, func(t *testing.T) {
			w := f(t)
			if faults.Lose > 0 || faults.Cut > 0 {
				needs(t, w, History)
			}
			l := listen(t, w, nil)
			var before []event.Event
			faults.Seed = uint64(len(name))
			w.Break(faults)
			c := w.Chats()[0]
			want := map[string]bool{}
			for i := range 100 {
				want[w.Say(c, "ana", "", fmt.Sprintf("message %d", i))] = true
				if i == 50 && has(w, History) {
					before = l.stop()
					l = listen(t, w, before)
				}
			}
			w.Break(Faults{})
			want[w.Say(c, "ana", "", "the end")] = true // shows that the last one was lost
			all := func(es []event.Event) []event.Event { return slices.Concat(before, es) }
			es := all(l.until("all", func(es []event.Event) bool {
				return len(missing(all(es), c, want)) == 0
			}))
			if n := len(es) - warmUps(es); n > len(want) {
				t.Errorf("%d events for %d messages: some came under two identities", n, len(want))
			}
		})
	}
}

// warmUps counts the messages posted by listen itself.
func warmUps(es []event.Event) int {
	n := 0
	for _, e := range es {
		if strings.HasPrefix(e.Content, "warming up") {
			n++
		}
	}
	return n
}

func missing(es []event.Event, chatID string, want map[string]bool) (ids []string) {
	came := map[string]bool{}
	for _, e := range es {
		if e.ChatID == chatID {
			came[e.MessageID] = true
		}
	}
	for id := range want {
		if !came[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// GapSize is the number of messages missed in the gap.
const GapSize = 5000

// gap: thousands of messages posted while no source was running are recovered, each once.
func gap(t *testing.T, w Faulty) {
	needs(t, w, History)
	Gap(t, w, GapSize)
}

// Burster is a World where many messages can be posted at once.
type Burster interface {
	World
	Burst(chatID string, n int) []string
}

// Gap posts n messages while no source is running, and checks that each is emitted once.
func Gap(t *testing.T, w Burster, n int) {
	c := w.Chats()[0]
	l := listen(t, w, nil)
	before := l.stop()
	want := map[string]bool{}
	for _, id := range w.Burst(c, n) {
		want[id] = true
	}
	if len(want) != n {
		t.Fatalf("the world said %d messages", len(want))
	}
	l = listen(t, w, before)
	if !l.waitFor(3*patience, func(es []event.Event) bool {
		return len(es) >= n && len(missing(es, c, want)) == 0
	}) {
		t.Fatalf("%d of %d were never emitted", len(missing(l.heard(), c, want)), n)
	}
	if got := len(l.heard()); got > n+10 {
		t.Errorf("%d events for %d messages", got, n)
	}
}

// garbled: data that cannot be parsed, or is too large, does not prevent other messages from being
// received.
func garbled(t *testing.T, w Faulty) {
	c := w.Chats()[0]
	l := listen(t, w, nil)
	for i := range 3 {
		w.Garble()
		l.message(c, w.Say(c, "ana", "", fmt.Sprintf("after the noise %d", i)))
	}
}

// revoked: a revoked credential ends the source with the right exit status and hint, instead of
// waiting forever.
func revoked(t *testing.T, w Faulty) {
	l := listen(t, w, nil)
	w.Revoke()
	w.Break(Faults{Cut: 1})
	defer w.Break(Faults{})
	for range 3 { // for a platform that only disconnects at the next delivery
		w.Say(w.Chats()[0], "ana", "", "anybody there?")
	}
	select {
	case <-l.ended:
	case <-time.After(patience):
		t.Fatal("goes on with a revoked credential")
	}
	if s, _ := sysexit.Of(l.err); s != sysexit.NoPerm || len(sysexit.Hints(l.err)) == 0 {
		t.Errorf("ended with %v (status %d, hints %q)", l.err, s, sysexit.Hints(l.err))
	}
	l.err = nil
}

// file: a file is reported by name and size, never with its contents.
func file(t *testing.T, w Faulty) {
	needs(t, w, Files)
	c := w.Chats()[0]
	l := listen(t, w, nil)
	e := l.message(c, w.File(c, "ana", "log.txt"))
	if len(e.Attachments) != 1 || e.Attachments[0].Name != "log.txt" || e.Sender.Type != "user" {
		t.Errorf("a file came as %+v", e)
	}
}

// busy: after a rate-limit response no request is made for the requested time.
func busy(t *testing.T, w Faulty) {
	p := ask(w)
	w.Break(Faults{Busy: 1})
	_, err := w.Sink().Post(context.Background(), p)
	again, ok := errors.AsType[*chat.RetryError](err)
	if !ok || again.After < time.Second {
		t.Errorf("post to a busy platform: %v, want a RetryError after a second or more", err)
	}
	w.Break(Faults{})
	send(t, w, p)
	if n := len(w.Standing(p.ChatID, p.ThreadID)); n != 1 {
		t.Errorf("it stands there %d times", n)
	}
}

// once: a poster that works like tri-reply and is killed between any two of its steps posts each
// reply once, or parks it, but never posts twice.
func once(t *testing.T, f func(t *testing.T) Faulty) {
	for name, faults := range map[string]Faults{
		"no fault":        {},
		"lost answers":    {LoseAnswer: 0.5},
		"fails after":     {FailAfter: 0.5},
		"fails before":    {Fail: 0.4},
		"busy":            {Busy: 0.4},
		"everything":      {LoseAnswer: 0.2, FailAfter: 0.2, Fail: 0.1, Busy: 0.1},
		"every answer is": {LoseAnswer: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := f(t)
			p := ask(w)
			w.Break(faults)
			parked := map[string]bool{}
			const replies = 24
			for i := range replies {
				p.Key, p.Text = fmt.Sprintf("once-%d", i), fmt.Sprintf("Reply %d of them.", i)
				if !persist(t, w, p, i%3 == 0) {
					parked[p.Text] = true
				}
			}
			w.Break(Faults{})
			times := map[string]int{}
			for _, text := range w.Standing(p.ChatID, p.ThreadID) {
				times[text]++
			}
			for i := range replies {
				text := fmt.Sprintf("Reply %d of them.", i)
				if n := times[w.Sees(text)]; n > 1 || n == 0 && !parked[text] {
					t.Errorf("%q stands there %d times, parked %v", text, n, parked[text])
				}
			}
			if len(parked) > 0 {
				t.Logf("%d of %d are parked for a person", len(parked), replies)
			}
		})
	}
}

// persist posts p as tri-reply would: with a new program at every attempt, which looks p up before
// it posts again. With killed, the result of the first attempt is forgotten. It returns false if
// the result cannot be determined: the post is parked.
func persist(t *testing.T, w Faulty, p chat.Post, killed bool) bool {
	t.Helper()
	ctx := context.Background()
	unknown := 0
	for range 300 {
		sink := w.Sink()
		if !p.Tried.IsZero() {
			_, proof, err := sink.Find(ctx, p)
			switch {
			case proof == chat.Found:
				return true
			case err != nil:
				continue
			case proof == chat.Unprovable:
				if unknown++; unknown > 20 {
					return false
				}
				continue
			}
		}
		before := p.Tried
		p.Tried, p.Own = time.Now(), true
		_, err := sink.Post(ctx, p)
		switch {
		case killed:
			killed = false
		case err == nil:
			return true
		case chat.IsRefused(err):
			t.Fatalf("refused: %v", err)
		case errors.As(err, new(*chat.RetryError)):
			p.Tried = before // nothing was posted
		}
	}
	t.Fatalf("%s: no end", p.Key)
	return false
}
