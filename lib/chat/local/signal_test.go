package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// acted reads the rooms and returns the actions, and the events' texts.
func (w *world) acted() (actions []event.Action, texts []string) {
	w.t.Helper()
	c, err := New(Options{Dir: w.dir, Once: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	to := chattest.Handler{
		Action: func(a event.Action) error { actions = append(actions, a); return nil },
		Event:  func(e event.Event) error { texts = append(texts, e.Content); return nil },
	}
	if err := c.Run(context.Background(), chat.Resume{}, to); err != nil {
		w.t.Fatal(err)
	}
	return actions, texts
}

var card = chat.Card{
	ChatID: "dev", Title: "Draft 3", Text: "It is 5.\n\nana: not a line of hers\n", Key: "card-1",
	Buttons: []chat.Button{{Name: "approve", Label: "Approve"}, {Name: "redo", Label: "Redo"}},
}

// TestCard: a card is one message of the bot, once per key, that lists the reaction for each
// button, and can be updated.
func TestCard(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	got, err := w.sink().PostCard(ctx, card)
	if err != nil || got.MessageID != "0" {
		t.Fatal(got, err)
	}
	again, err := w.sink().PostCard(ctx, card)
	if err != nil || again.MessageID != got.MessageID {
		t.Errorf("dealt again: %+v, %v", again, err)
	}
	events, _ := w.once()
	want := "**Draft 3**\n\nIt is 5.\n\nana: not a line of hers\n\n✅ Approve · 🔄 Redo"
	if len(events) != 1 || events[0].Content != want || events[0].Sender.Type != "bot" ||
		events[0].ThreadID != nil {
		t.Fatalf("%+v", events)
	}
	settled := card
	settled.Key, settled.Title, settled.Text, settled.Buttons = "card-1-e1", "Posted", "Approved by ana.", nil
	for range 2 {
		if err := w.sink().UpdateCard(ctx, got.MessageID, settled); err != nil {
			t.Fatal(err)
		}
	}
	events, _ = w.once()
	if len(events) != 2 || events[1].MessageID != "0" ||
		events[1].Content != "**Posted**\n\nApproved by ana." || events[1].EditedAt == "" {
		t.Errorf("%+v", events)
	}
	if text, gone, err := w.sink().Message(ctx, "dev", "0"); err != nil || gone ||
		text != "**Posted**\n\nApproved by ana." {
		t.Errorf("%q, %v, %v", text, gone, err)
	}
	root := w.Say("dev", "ana", "", "where?")
	threaded := card
	threaded.ThreadID, threaded.Key = root, "card-2"
	if _, err := w.sink().PostCard(ctx, threaded); err != nil {
		t.Error(err)
	}
	if events, _ = w.once(); *events[len(events)-1].ThreadID != root {
		t.Errorf("%+v", events)
	}
}

// TestCardRefused: a text that cannot be a line is refused, and nothing is written.
func TestCardRefused(t *testing.T) {
	w := newWorld(t)
	ctx, s := context.Background(), w.sink()
	w.Say("dev", "ana", "", "hello")
	before := w.read("dev")
	bad, long, nowhere := card, card, card
	bad.Key = "a]: b"
	long.Text = strings.Repeat("é", maxText)
	nowhere.ChatID = "nowhere"
	for name, c := range map[string]chat.Card{"key": bad, "long": long, "room": nowhere} {
		if _, err := s.PostCard(ctx, c); !chat.IsRefused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"0", "999", "x", "-1", ""} {
		if err := s.UpdateCard(ctx, id, card); !chat.IsRefused(err) {
			t.Errorf("redeal %q: %v", id, err)
		}
		if err := s.Edit(ctx, "dev", id, "hers"); !chat.IsRefused(err) {
			t.Errorf("edit %q: %v", id, err)
		}
	}
	if err := s.Typing(ctx, "dev", "0"); !errors.Is(err, chat.ErrUnsupported) {
		t.Error(err)
	}
	if w.read("dev") != before {
		t.Errorf("the room is now %q", w.read("dev"))
	}
}

// TestCardCut: an incomplete card of a killed writer is deleted and posted whole, once; an edit
// likewise.
func TestCardCut(t *testing.T) {
	ctx := context.Background()
	whole := newWorld(t)
	if _, err := whole.sink().PostCard(ctx, card); err != nil {
		t.Fatal(err)
	}
	line := whole.read("dev")
	for cut := 1; cut <= len(line); cut++ {
		w := newWorld(t)
		w.append("dev", line[:cut])
		for range 2 {
			if _, err := w.sink().PostCard(ctx, card); err != nil {
				t.Fatal(err)
			}
		}
		standing := map[string]string{}
		events, _ := w.once()
		for _, e := range events {
			if standing[e.MessageID] = e.Content; e.Deleted {
				delete(standing, e.MessageID)
			}
		}
		n := 0
		for _, text := range standing {
			if text == card.WithReactions() {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("cut at %d: %d cards in %q", cut, n, w.read("dev"))
		}
	}
	edited := card
	edited.Text, edited.Key = "It is 6.\nReally.", "card-1-r1"
	if err := whole.sink().UpdateCard(ctx, "0", edited); err != nil {
		t.Fatal(err)
	}
	all := whole.read("dev")
	for cut := len(line) + 1; cut <= len(all); cut++ {
		w := newWorld(t)
		w.append("dev", all[:cut])
		for range 2 {
			if err := w.sink().UpdateCard(ctx, "0", edited); err != nil {
				t.Fatal(err)
			}
		}
		if text, _, err := w.sink().Message(ctx, "dev", "0"); err != nil || text != edited.WithReactions() {
			t.Fatalf("cut at %d: %q, %v in %q", cut-len(line), text, err, w.read("dev"))
		}
	}
}

// TestReact: a reaction of the bot exists at most once.
func TestReact(t *testing.T) {
	w := newWorld(t)
	ctx, s := context.Background(), w.sink()
	id := w.Say("dev", "ana", "", "where?")
	for _, on := range []bool{true, true, false, false, true} {
		if err := s.React(ctx, "dev", id, "👀", on); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.React(ctx, "dev", id, "⚠️", true); err != nil {
		t.Fatal(err)
	}
	want := "ana: where?\ntri ~0: 👀\ntri ~0: -👀\ntri ~0: 👀\ntri ~0: ⚠️\n"
	if got := w.read("dev"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, bad := range []struct {
		id, char string
	}{{id, "no emoji"}, {id, ""}, {id, "👀\nben: hi"}, {"x", "👀"}, {"-1", "👀"}} {
		if err := s.React(ctx, "dev", bad.id, bad.char, true); !errors.Is(err, chat.ErrUnsupported) {
			t.Errorf("%q on %q: %v", bad.char, bad.id, err)
		}
	}
	if err := s.React(ctx, "dev", "5", "👀", true); !chat.IsRefused(err) {
		t.Errorf("on no message: %v", err)
	}
	if actions, texts := w.acted(); len(actions) != 0 || len(texts) != 1 {
		t.Errorf("%+v, %q", actions, texts)
	}
}

// TestActions: a reaction to a message of the bot, or of who reacts, is an action, once, with the same id at
// every reading; one to another message is ignored.
func TestActions(t *testing.T) {
	w := newWorld(t)
	root := w.Say("dev", "ana", "", "where?")
	if _, err := w.sink().PostCard(context.Background(), card); err != nil {
		t.Fatal(err)
	}
	events, _ := w.once()
	id := events[1].MessageID
	for _, line := range []string{
		"ana ~%s: ✅", "ana ~%s: ✅", "ana ~%s: -✅", "ben ~%s: :x:", "ben ~%s: -:tada:", "tri ~%s: 🔄",
		"anon ~%s: ✅", "ana ~999: ✅",
	} {
		w.append("dev", strings.ReplaceAll(line, "%s", id)+"\n")
	}
	w.append("dev", fmt.Sprintf("ben ~%s: ✅\nana ~%s: 👎\n", root, root))
	var got []string
	actions, texts := w.acted()
	for _, a := range actions {
		got = append(got, fmt.Sprint(a.Sender.ID, " ", a.Name, " ", a.Removed))
		if a.MessageID != id && (a.MessageID != root || a.Name != "👎") ||
			a.ChatID != "dev" || a.Platform != Platform || a.Value != "" || a.ID == "" ||
			a.Sender.Type != "user" {
			t.Errorf("%+v", a)
		}
	}
	if want := []string{"ana ✅ false", "ana ✅ true", "ben ❌ false", "ana 👎 false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(texts) != 2 {
		t.Errorf("reactions are heard as messages: %q", texts)
	}
	again, _ := w.acted()
	same := slices.EqualFunc(actions, again, func(a, b event.Action) bool { return a.ID == b.ID })
	if !same {
		t.Errorf("%+v, then %+v", actions, again)
	}
}

// TestOldRooms: a line that only looks like a reaction remains a message of anon, as in earlier
// versions.
func TestOldRooms(t *testing.T) {
	w := newWorld(t)
	lines := []string{"ana ~0: about five", "ana ~5: ✅ yes", "ana ~: ✅", "ana ~0 [k-1]: ✅", "ana ~0:",
		"see ~3: a", "ana ~x: ✅"}
	w.append("dev", strings.Join(lines, "\n")+"\n")
	events, _ := w.once()
	for i, e := range events {
		if e.Sender.ID != anon || e.Content != lines[i] {
			t.Errorf("%q is now %q of %s", lines[i], e.Content, e.Sender.ID)
		}
	}
	if len(events) != len(lines) {
		t.Errorf("%d of %d lines are heard", len(events), len(lines))
	}
}

// TestSignalsOfTwo: two concurrent writers post one card and one reaction.
func TestSignalsOfTwo(t *testing.T) {
	w := newWorld(t)
	errs := make(chan error, 8)
	for range 4 {
		s := w.sink()
		go func() {
			_, err := s.PostCard(context.Background(), card)
			errs <- err
		}()
	}
	for range 4 {
		select {
		case err := <-errs:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("stuck")
		}
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "[card-1]"); n != 1 {
		t.Errorf("%d cards", n)
	}
}
