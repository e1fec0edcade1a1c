package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tri/lib/agent"
)

// A session of Gemini CLI is not in the way of the file that it begins for it.
func TestSpareSessions(t *testing.T) {
	home, outside := t.TempDir(), t.TempDir()
	chats := filepath.Join(home, ".gemini/tmp/p/chats")
	for _, dir := range []string{chats, filepath.Join(outside, "chats")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"session-2026-11-21T18-17-0b6f6f5e.jsonl", "session-notes.txt"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(outside, filepath.Join(home, ".gemini/tmp/q")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		spareSessions(home)
	}
	for _, file := range []string{
		filepath.Join(chats, "session-2000-01-01T00-00-0b6f6f5e.jsonl"),
		filepath.Join(chats, "session-notes.txt"),
		filepath.Join(outside, "chats/session-2026-11-21T18-17-0b6f6f5e.jsonl"),
	} {
		if text, err := os.ReadFile(file); err != nil || string(text) != "kept" {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	spareSessions(filepath.Join(home, "not there"))
	for _, at := range []string{".gemini/tmp", ".gemini/tmp/p/chats"} { // opening it would wait for a writer
		at = filepath.Join(t.TempDir(), at)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), syscall.Mkfifo(at, 0o600)); err != nil {
			t.Fatal(err)
		}
		home, _, _ := strings.Cut(at, "/.gemini")
		spareSessions(home)
	}
}

// Text of an old session is not an answer, however late it arrives: neither in the run that
// created the session, nor in one that resumes it.
func TestOldWordsLate(t *testing.T) {
	for _, resume := range []bool{false, true} {
		res, _, err := scene(t, context.Background(), "tells of old late", func(t *agent.Task) {
			if resume {
				t.Prompt, t.Resume, t.SessionID = "and now?", true, "s-1"
			}
		})
		if err != nil || string(res.Value) != `{"answer":42}` || resume && res.Usage.Turns > 1 {
			t.Errorf("resumed %v: %q, %+v, %v", resume, res.Value, res.Usage, err)
		}
	}
}
