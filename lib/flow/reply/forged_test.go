package reply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// rewrite changes a file of the home behind the program's back.
func (w *world) rewrite(name string, change func([]byte) []byte) {
	w.t.Helper()
	b, err := w.home.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	after := change(bytes.Clone(b))
	if bytes.Equal(after, b) {
		w.t.Fatalf("%s: nothing was changed in %s", name, b)
	}
	if err := w.home.Replace(name, after); err != nil {
		w.t.Fatal(err)
	}
}

func replacing(from, to string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
}

// unsummed is a change of an entry by which it looks like one of a version without sums.
func unsummed(change func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		b = regexp.MustCompile(`,\s*"sum": "[0-9a-f]+"|"limit": \d+,\s*`).ReplaceAll(b, nil)
		return change(b)
	}
}

// The steps behind which newCrash's program is ended.
const (
	behindIntent = 2
	behindTry    = 3
	behindPost   = 4
)

// TestForgedEntryIsRefused: text, target and key of a post are derived from the approval. A file that
// differs is reported, and nothing is posted from it.
func TestForgedEntryIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, from, to string }{
		{"text", "It is five. Really.", "It is FORGED."},
		{"post_key", `"post_key": "`, `"post_key": "0`},
		{"chat_id", `"chat_id": "dev"`, `"chat_id": "all"`},
		{"thread_id", `"thread_id": "1"`, `"thread_id": "2"`},
		{"reply_to_message_id", `"reply_to_message_id": "1"`, `"reply_to_message_id": "2"`},
		{"platform", `"platform": "fake"`, `"platform": "face"`},
		{"state", `"state": "intent"`, `"state": "sent"`},
		{"parts", `"parts": 1`, `"parts": 2`},
	} {
		for at, crash := range map[string]int{"S2": behindIntent, "S3": behindTry, "S3 posted": behindPost} {
			t.Run(tt.name+" "+at, func(t *testing.T) {
				w := newCrash(t, nil, 1000, true, false)
				if !w.crashAt(crash) {
					t.Fatal("no crash")
				}
				stood, e := len(w.chat.stands), w.open()[0]
				file := outbox.Dir + "/" + e.ID + ".json"
				good, err := w.home.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, change := range []func([]byte) []byte{replacing(tt.from, tt.to),
					unsummed(replacing(tt.from, tt.to))} {
					w.rewrite(file, change)
					err := Run(context.Background(), w.options(nil))
					if status, _ := sysexit.Of(err); status != sysexit.Data ||
						!strings.Contains(err.Error(), e.ID+".json") {
						t.Errorf("status %d: %v", status, err)
					}
					if len(w.chat.stands) != stood || len(w.replies()) != 0 {
						t.Errorf("posted %+v, lines %+v", w.chat.stands, w.replies())
					}
					if err := w.home.Replace(file, good); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// TestStateIsNotBelieved: a file that says posted, refused or dropped is checked against the log and the
// chat. If they do not confirm it, the post waits for a person or is tried.
func TestStateIsNotBelieved(t *testing.T) {
	for _, tt := range []struct {
		state    string
		crash    int
		provable bool
		posts    int
		line     string // outcome of the reply, "" where it is parked
	}{
		{outbox.Posted, behindIntent, true, 0, ""},
		{outbox.Posted, behindIntent, false, 0, ""},
		{outbox.Posted, behindPost, true, 1, outbox.Posted}, // it is so
		{outbox.Refused, behindIntent, true, 1, outbox.Posted},
		{outbox.Refused, behindPost, true, 1, outbox.Posted},
		{outbox.Refused, behindPost, false, 1, ""},
		{outbox.Dropped, behindIntent, true, 0, ""},
		{outbox.Dropped, behindPost, false, 1, ""},
	} {
		t.Run(fmt.Sprint(tt.state, tt.crash, tt.provable), func(t *testing.T) {
			w := newCrash(t, nil, 1000, tt.provable, false)
			if !w.crashAt(tt.crash) {
				t.Fatal("no crash")
			}
			w.rewrite(outbox.Dir+"/"+w.open()[0].ID+".json",
				unsummed(replacing(`"state": "intent"`, `"state": "`+tt.state+`"`)))
			w.run()
			w.run()
			line := ""
			if rs := w.replies(); len(rs) == 1 {
				line = rs[0].Outcome
			}
			if len(w.chat.stands) != tt.posts || line != tt.line ||
				(line == "") != (len(w.open()) == 1 && w.open()[0].State == outbox.Parked) {
				t.Errorf("%d posts, line %q, open %+v; want %d, %q", len(w.chat.stands), line, w.open(),
					tt.posts, tt.line)
			}
		})
	}
}

// TestFlippedEntries changes one byte of an entry at random: whatever the program makes
// of it, nothing but the approved text is in the chat, and that once.
func TestFlippedEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	refused, rounds := 0, 600
	if testing.Short() {
		rounds = 120
	}
	for i := range rounds {
		w := newCrash(t, nil, []int{1000, 12}[i%2], i%3 > 0, false)
		w.crashAt([]int{behindIntent, behindTry, behindPost, behindPost + 1}[i/2%4])
		for _, e := range w.open()[:1] {
			plain := func(change func([]byte) []byte) func([]byte) []byte { return change }
			if i%7 > 0 {
				plain = unsummed // without sums, so that the derived text must match
			}
			w.rewrite(outbox.Dir+"/"+e.ID+".json", plain(func(b []byte) []byte {
				if i%5 > 0 {
					b[random.IntN(len(b))] ^= 1 << random.IntN(8)
				} else {
					b[random.IntN(len(b))] = byte(32 + random.IntN(95))
					b[random.IntN(len(b))] ^= 1
				}
				return b
			}))
		}
		for range 2 {
			if err := Run(context.Background(), w.options(nil)); err != nil {
				if status, _ := sysexit.Of(err); status != sysexit.Data {
					t.Fatalf("round %d: status %d: %v", i, status, err)
				}
				refused++
			}
		}
		text := ""
		for _, m := range w.chat.stands {
			if text += m.Text; m.ChatID != "dev" || m.ThreadID != "1" || w.chat.copies()[m.Key] != 1 {
				t.Fatalf("round %d: posted %+v", i, w.chat.stands)
			}
		}
		if !strings.HasPrefix(crashText, text) {
			t.Fatalf("round %d: posted %q", i, text)
		}
	}
	if refused < rounds/6 {
		t.Errorf("%d refusals: the flips miss what counts", refused)
	}
}

// TestRepliesAreNotTheOnlyMemory: a post is not repeated because its line is missing or differs.
func TestRepliesAreNotTheOnlyMemory(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"emptied": func(w *world) { w.rewrite(LogName, func([]byte) []byte { return nil }) },
		"removed": func(w *world) {
			if err := w.home.Remove(LogName); err != nil {
				w.t.Fatal(err)
			}
		},
		"torn":    func(w *world) { w.rewrite(LogName, func(b []byte) []byte { return b[:len(b)-1] }) },
		"hash":    func(w *world) { w.rewrite(LogName, replacing(`"draft_sha256":"`, `"draft_sha256":"0`)) },
		"cycle":   func(w *world) { w.rewrite(LogName, replacing(`"cycle":1`, `"cycle":0`)) },
		"nothing": func(*world) {},
	} {
		for _, provable := range []bool{true, false} {
			for _, done := range []bool{true, false} {
				t.Run(fmt.Sprint(name, " provable ", provable, " done ", done), func(t *testing.T) {
					w := newCrash(t, nil, 12, provable, false)
					w.run()
					spoil(w)
					if err := w.home.Remove("." + LogName + ".sum"); err != nil { // it would be refused
						t.Fatal(err)
					}
					if !done {
						if err := errors.Join(w.home.Root().RemoveAll(outbox.Done)); err != nil {
							t.Fatal(err)
						}
					}
					w.run()
					w.run()
					if posts, _, _, dup := w.outcome(); posts != 2 || dup > 0 {
						t.Fatalf("%d posts, %d twice", posts, dup)
					}
					ids := map[string]bool{}
					if b, _ := w.home.ReadFile(LogName); len(b) > 0 && b[len(b)-1] != '\n' {
						// no line, and none was written since
						w.rewrite(LogName, func([]byte) []byte { return nil })
					}
					for _, r := range w.replies() {
						ids[decision.ID(r.Key, r.Cycle, r.DraftSHA256)] = true
					}
					known := ids[decision.ID("local.dev.1", 1, decision.Sum(crashText))]
					if parked := len(w.open()) > 0; known == parked || parked && (provable || done) {
						t.Errorf("line %v, open %+v", known, w.open())
					}
				})
			}
		}
	}
}
