package presence

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/event"
)

func open(t *testing.T) (*durable.Home, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := durable.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h, dir
}

// TestBoard: an indicator is in the file within a second, expires by itself, and is removed when its
// end is reported; the file is replaced at most once a second.
func TestBoard(t *testing.T) {
	h, dir := open(t)
	synctest.Test(t, func(t *testing.T) {
		b := Open(h, "watch", time.Now)
		ana := Typing{Platform: "matrix", ChatID: "!a", UserID: "@ana", Kind: "typing",
			ReceivedAt: time.Now()}
		set := func(u Typing, lasts time.Duration) { u.ExpiresAt = time.Now().Add(lasts); b.Set(u) }
		set(ana, 5*time.Second)
		synctest.Wait()
		time.Sleep(time.Millisecond)
		if got := Read(h, time.Now()); len(got) != 1 || got[0].UserID != "@ana" {
			t.Fatalf("read %+v", got)
		}
		bob := ana
		bob.UserID = "@bob"
		set(bob, 5*time.Second)
		if got := Read(h, time.Now()); len(got) != 1 {
			t.Errorf("replaced again at once: %+v", got)
		}
		time.Sleep(1100 * time.Millisecond)
		if got := Read(h, time.Now()); len(got) != 2 {
			t.Errorf("after a second: %+v", got)
		}
		set(ana, 0) // the platform reports the end
		time.Sleep(1100 * time.Millisecond)
		if got := Read(h, time.Now()); len(got) != 1 || got[0].UserID != "@bob" {
			t.Errorf("after the end: %+v", got)
		}
		if got := Read(h, time.Now().Add(5*time.Second)); len(got) != 0 {
			t.Errorf("expired: %+v", got)
		}
	})
	if names, err := os.ReadDir(filepath.Join(dir, Folder)); err != nil || len(names) != 1 {
		t.Error(names, err)
	}
}

// TestIs: an indicator without a thread is of every thread of its chat.
func TestIs(t *testing.T) {
	root := "1"
	e := &event.Event{Platform: "mattermost", ChatID: "c", MessageID: "2", ThreadID: &root,
		Sender: event.Sender{ID: "u"}}
	typing := Typing{Platform: "mattermost", ChatID: "c", UserID: "u"}
	for thread, want := range map[string]bool{"": true, "1": true, "2": false} {
		typing.ThreadID = thread
		if typing.Is(e) != want {
			t.Errorf("thread %q: %v", thread, !want)
		}
	}
	typing.ThreadID, typing.UserID = "", "v"
	if typing.Is(e) {
		t.Error("somebody else types")
	}
}

// FuzzRead: whatever is in the files, Read returns only indicators that hold, at most maxEntries a
// file.
func FuzzRead(f *testing.F) {
	f.Add(`[{"platform":"x","chat_id":"c","user_id":"u","expires_at":"2026-01-01T00:00:05Z"}]`)
	f.Add(`[{"expires_at":"9999-01-01T00:00:05Z"}]`)
	f.Add(`{`)
	f.Add("[" + strings.Repeat(`{"expires_at":"2026-01-01T00:00:05Z"},`, 1200) + "{}]")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		h, dir := open(t)
		if err := os.Mkdir(filepath.Join(dir, Folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, Folder, "x.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all := Read(h, now)
		if len(all) > maxEntries {
			t.Errorf("%d entries", len(all))
		}
		for _, u := range all {
			if !u.holds(now) {
				t.Errorf("%+v does not hold", u)
			}
		}
	})
}
