package local

import (
	"errors"
	"syscall"
	"testing"

	"tri/lib/chat"
)

// TestFaultIsNoRefusal: a post that fails because the disk is full is retried; if it counted as
// refused, an approved answer would never be posted.
func TestFaultIsNoRefusal(t *testing.T) {
	w := newWorld(t)
	root := w.Say("dev", "ana", "", "why?")
	s := w.sink()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	post := chat.Post{ChatID: "dev", ThreadID: root, Text: "so", Key: "k-1"}
	_, err := s.Post(t.Context(), post)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	var later *chat.RetryError
	if errors.Is(err, chat.ErrRefused) || !errors.As(err, &later) {
		t.Fatalf("%v", err)
	}
	if _, err := s.Post(t.Context(), post); err != nil {
		t.Error(err)
	}
}
