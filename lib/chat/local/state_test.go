package local

import (
	"context"
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

// TestRewrittenMeanwhile: a room that was truncated or rewritten while no source was running is
// reported at the next start. In an earlier version its first lines were taken for known ones and
// silently lost.
func TestRewrittenMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		text  string // of the room at the second start
		known bool   // the log has it
		new   []string
		said  string
	}{
		"grown":             {"ana: one\nana: two\nana: new\n", true, []string{"new"}, ""},
		"as it was":         {"ana: one\nana: two\n", true, nil, ""},
		"written anew":      {"ana: six\nana: ten\nana: new\n", true, nil, "cut or rewritten"},
		"cut":               {"ana: one\n", true, nil, "cut or rewritten"},
		"with another log":  {"ana: six\nana: ten\n", false, []string{"six", "ten"}, ""},
		"gone, and another": {"", true, nil, "cut or rewritten"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var kept []byte
			seen := map[string]bool{}
			start := func(text string, last map[string]time.Time) (got []string, said string) {
				if err := os.WriteFile(filepath.Join(dir, "dev"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				client, err := New(Options{Dir: dir, Once: true})
				if err != nil {
					t.Fatal(err)
				}
				defer client.Close()
				err = client.Run(context.Background(), chat.Resume{Last: last, State: kept},
					chattest.Handler{Log: func(f string, a ...any) {
						said += f
					}, Keep: func(b []byte) error {
						kept = slices.Clone(b)
						return nil
					}, Event: func(e event.Event) error {
						if !seen[e.Identity()] { // as in the log
							got = append(got, e.Content)
						}
						seen[e.Identity()] = true
						return nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				return got, said
			}
			if got, said := start("ana: one\nana: two\n", nil); !slices.Equal(got, []string{"one", "two"}) ||
				said != "" {
				t.Fatalf("%q, %q", got, said)
			}
			last := map[string]time.Time{"dev": time.Now()}
			if !c.known {
				last, seen = nil, map[string]bool{}
			}
			got, said := start(c.text, last)
			if !slices.Equal(got, c.new) || (c.said == "") != (said == "") ||
				!strings.Contains(said, c.said) {
				t.Errorf("%q, said %q", got, said)
			}
		})
	}
}
