package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"tri/lib/base/text"
	"tri/lib/chat"
)

// TestTornPost: after a writer was killed anywhere inside its write, with or without a person's
// line after it, the post is either found whole, or provably absent and then posted once.
func TestTornPost(t *testing.T) {
	ctx := context.Background()
	p := chat.Post{ChatID: "dev", ThreadID: "0", Key: "k-1", Text: "first \\\nsecond\n\nlast \\"}
	line := encode("tri", 0, p.Key, p.Text)
	for _, behind := range []string{"", "ana: and now?\n"} {
		for cut := range len(line) + 1 {
			w := newWorld(t)
			w.Say("dev", "ana", "", "a question")
			w.append("dev", line[:cut]+behind)
			sink := w.Sink()
			got, proof, err := sink.Find(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			if proof == chat.Absent {
				if got, err = sink.Post(ctx, p); err != nil {
					t.Fatalf("cut at %d: %v", cut, err)
				}
			}
			if proof == chat.Unprovable {
				if behind == "" {
					t.Errorf("cut at %d: unprovable", cut)
				}
				continue // a person's text is inside the post: a person decides
			}
			w.append("dev", "ana: thanks\n")
			whole, thanks := 0, false
			events, _ := w.once()
			gone := map[string]bool{}
			for _, e := range events {
				gone[e.MessageID] = gone[e.MessageID] || e.Deleted
				thanks = thanks || e.Content == "thanks"
			}
			for _, e := range events {
				if e.Sender.Type == "bot" && !gone[e.MessageID] {
					whole++
					if !strings.HasPrefix(e.Content, p.Text) || e.MessageID != got.MessageID {
						t.Errorf("cut at %d: stands as %q", cut, e.Content)
					}
				}
			}
			if whole != 1 || !thanks {
				t.Errorf("cut at %d behind %q (%v): %d posts, thanks %v in\n%s", cut, behind, proof, whole,
					thanks, w.read("dev"))
			}
			if back, proof, err := sink.Find(ctx, p); err != nil || proof != chat.Found ||
				back.MessageID != got.MessageID {
				t.Errorf("cut at %d: found again %v %v %v, want %v", cut, back, proof, err, got)
			}
		}
	}
}

// TestPostTwice: the same key is written once.
func TestPostTwice(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	p := chat.Post{ChatID: "dev", ThreadID: w.Say("dev", "ana", "", "a question"), Key: "k-1",
		Text: "an answer"}
	first, err := w.Sink().Post(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	before := w.read("dev")
	second, err := w.Sink().Post(ctx, p)
	if err != nil || second.MessageID != first.MessageID || w.read("dev") != before {
		t.Errorf("posted again: %v, %v, %v\n%s", first, second, err, w.read("dev"))
	}
}

func TestRefusedPosts(t *testing.T) {
	w := newWorld(t)
	root := w.Say("dev", "ana", "", "a question")
	dead := w.Say("dev", "ana", "", "deleted")
	w.Delete("dev", dead)
	before := w.read("dev")
	good := chat.Post{ChatID: "dev", ThreadID: root, Key: "k", Text: "x"}
	for name, change := range map[string]func(*chat.Post){
		"thread deleted": func(p *chat.Post) { p.ThreadID = dead },
		"no thread":      func(p *chat.Post) { p.ThreadID = "7" },
		"thread no id":   func(p *chat.Post) { p.ThreadID = "-1" },
		"empty":          func(p *chat.Post) { p.Text = " \n" },
		"bad key":        func(p *chat.Post) { p.Key = "K]: x\nana" },
		"no key":         func(p *chat.Post) { p.Key = "" },
		"escape":         func(p *chat.Post) { p.ChatID = "../dev" },
		"hidden":         func(p *chat.Post) { p.ChatID = ".dev" },
	} {
		p := good
		change(&p)
		if _, err := w.Sink().Post(context.Background(), p); !errors.Is(err, chat.ErrRefused) {
			t.Errorf("%s: %v, want refused", name, err)
		}
	}
	if _, _, err := w.Sink().Message(context.Background(), ".dev", "0"); !strings.Contains(fmt.Sprint(err),
		"begins with a dot") {
		t.Errorf("a message of a file that is not a room: %v", err)
	}
	if after := w.read("dev"); after != before {
		t.Errorf("written all the same: %q", after[len(before):])
	}
}

// TestHostile: strings that are known to break software survive as a post and as a person's line.
func TestHostile(t *testing.T) {
	raw, err := os.ReadFile("../../../../shared/data/hostile/text/blns.json")
	if errors.Is(err, os.ErrNotExist) && os.Getenv("CI") == "" {
		t.Skip("left out: the hostile texts are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	if err := json.Unmarshal(raw, &texts); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	root := w.Say("dev", "ana", "", "a question")
	sink := w.Sink()
	want := map[string]string{}
	for i, body := range texts {
		if strings.TrimSpace(body) == "" {
			continue
		}
		got, err := sink.Post(context.Background(),
			chat.Post{ChatID: "dev", ThreadID: root, Key: fmt.Sprintf("k-%d", i), Text: body})
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		want["dev "+got.MessageID] = text.Visible(body)
		if !strings.ContainsAny(body, "\n\r") {
			want["help-全 "+w.Say("help-全", "ana", "", body)] = body
		}
	}
	events, said := w.once()
	for _, e := range events {
		key := e.ChatID + " " + e.MessageID
		if body, ok := want[key]; ok && e.Content != body {
			t.Errorf("%q came as %q", body, e.Content)
		}
		delete(want, key)
	}
	if len(want) > 0 || len(said) > 0 {
		t.Errorf("%d texts lost: %q; said %q", len(want), want, said)
	}
	if hidden := text.Hidden(w.read("dev")); len(hidden) > 0 {
		t.Fatalf("the room holds a raw %U", hidden[0])
	}
}
