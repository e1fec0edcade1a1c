// Package presence says who is typing: a file for each writer below typing/, replaced at most once
// a second and not durable. It is not a log, and no record depends on it: if a file is lost or cannot
// be read, tri-dispatch begins a run a few seconds earlier.
package presence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/event"
)

// Folder contains the files, each named after its writer.
const Folder = "typing"

// Limits on a file, and on how far ahead an indicator may expire.
const (
	maxEntries = 1000
	maxSize    = 1 << 20 // bytes
	maxAhead   = time.Minute
)

// Typing is one person's typing indicator in a chat. No platform reliably reports its end, so it
// holds until ExpiresAt.
type Typing struct {
	Platform string `json:"platform"`
	ChatID   string `json:"chat_id"`
	ThreadID string `json:"thread_id,omitempty"` // "": in the chat itself, or not reported
	UserID   string `json:"user_id"`
	// Kind is typing, recording_voice, uploading_photo, uploading_document, choosing_sticker or game.
	Kind       string    `json:"kind"`
	ExpiresAt  time.Time `json:"expires_at"`
	ReceivedAt time.Time `json:"received_at"`
}

// Is reports whether t is the indicator of the sender of e, in its chat and, if t names one, its
// thread.
func (t *Typing) Is(e *event.Event) bool {
	return t.Platform == e.Platform && t.ChatID == e.ChatID && t.UserID == e.Sender.ID &&
		(t.ThreadID == "" || t.ThreadID == e.Root())
}

func (t *Typing) same(u *Typing) bool {
	return t.Platform == u.Platform && t.ChatID == u.ChatID && t.ThreadID == u.ThreadID &&
		t.UserID == u.UserID
}

// holds reports whether t has not expired at now. One that would last longer than any platform's
// indicator is not believed.
func (t *Typing) holds(now time.Time) bool {
	return t.ExpiresAt.After(now) && t.ExpiresAt.Sub(now) <= maxAhead
}

// Read returns the indicators of all writers that hold at now. Files that cannot be read are left
// out.
func Read(h *durable.Home, now time.Time) (all []Typing) {
	names, err := h.List(Folder)
	if err != nil {
		return nil
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".json") || strings.HasPrefix(name, ".") {
			continue
		}
		text, err := h.ReadFile(Folder + "/" + name)
		var some []Typing
		if err != nil || len(text) > maxSize || json.Unmarshal(text, &some) != nil {
			continue
		}
		for _, t := range some[:min(len(some), maxEntries)] {
			if t.holds(now) {
				all = append(all, t)
			}
		}
	}
	return all
}

// Board is the file of one writer.
type Board struct {
	home *durable.Home
	name string
	now  func() time.Time

	mu      sync.Mutex
	all     []Typing
	written time.Time
	pending bool // a write is due
	ready   bool // the folder exists
}

// Open returns the file of the writer name, without indicators.
func Open(h *durable.Home, name string, now func() time.Time) *Board {
	return &Board{home: h, name: Folder + "/" + name + ".json", now: now}
}

// Set stores t in place of an earlier indicator of the same person, or removes that if t does not
// hold. The file is replaced within a second.
func (b *Board) Set(t Typing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.all = slices.DeleteFunc(b.all, func(u Typing) bool { return u.same(&t) || !u.holds(now) })
	if t.holds(now) && len(b.all) < maxEntries {
		b.all = append(b.all, t)
	}
	if b.pending {
		return
	}
	b.pending = true
	time.AfterFunc(max(0, time.Second-now.Sub(b.written)), b.write)
}

// write replaces the file. A failure is only logged.
func (b *Board) write() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending, b.written = false, b.now()
	var err error
	if !b.ready {
		err = b.home.MkdirAll(Folder)
		b.ready = err == nil
	}
	slices.SortFunc(b.all, func(t, u Typing) int {
		return cmp.Or(cmp.Compare(t.Platform, u.Platform), cmp.Compare(t.ChatID, u.ChatID),
			cmp.Compare(t.UserID, u.UserID), cmp.Compare(t.ThreadID, u.ThreadID))
	})
	text, jsonErr := json.Marshal(b.all)
	if err == nil {
		err = jsonErr
	}
	if err == nil {
		err = b.home.Swap(b.name, append(text, '\n'))
	}
	if err != nil {
		slog.Warn("typing indicators", "err", fmt.Errorf("write %q: %w", b.name, err))
	}
}
