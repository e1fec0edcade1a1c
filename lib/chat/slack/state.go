package slack

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/httpapi"
	"tri/lib/record/event"
)

// memory holds the messages of the chats themselves (not of threads), by chat and ts. The history
// omits deleted messages, so a deletion is found by comparing the history with the memory. It is
// saved between starts.
type memory map[string]map[string]bool

// Limits of a memory: messages per chat, bytes saved (of the 64 KiB of chat.Handler), and deletions
// verified in one catch-up.
const (
	maxStood = 4000
	maxSaved = 60_000
	maxGone  = 100
)

// load reads a saved memory; entries that cannot be parsed are ignored.
func (m memory) load(b []byte) {
	var saved map[string][]string
	if json.Unmarshal(b, &saved) != nil {
		return
	}
	for chat, all := range saved {
		for _, ts := range all {
			if chatID.MatchString(chat) && stampID.MatchString(ts) {
				m.add(chat, ts)
			}
		}
	}
}

// save returns the newest messages as JSON.
func (m memory) save() []byte {
	type message struct{ chat, ts string }
	var all []message
	for chat, stood := range m {
		for ts := range stood {
			all = append(all, message{chat, ts})
		}
	}
	slices.SortFunc(all, func(a, b message) int { return at(b.ts).Compare(at(a.ts)) })
	saved, size := map[string][]string{}, 0
	for _, one := range all {
		if size += len(one.ts) + 3; saved[one.chat] == nil {
			size += len(one.chat) + 6
		}
		if size > maxSaved {
			break
		}
		saved[one.chat] = append(saved[one.chat], one.ts)
	}
	b, err := json.Marshal(saved)
	if err != nil {
		return nil // strings can always be encoded
	}
	return b
}

func (m memory) add(chat, ts string) {
	if m[chat] == nil {
		m[chat] = map[string]bool{}
	}
	m[chat][ts] = true
	if len(m[chat]) > maxStood {
		for _, old := range slices.SortedFunc(maps.Keys(m[chat]), func(a, b string) int {
			return at(a).Compare(at(b))
		})[:maxStood/2] {
			delete(m[chat], old)
		}
	}
}

// apply applies an event to the memory. Replies in threads are not in a chat's history and are
// skipped.
func (m memory) apply(e *event.Event) {
	switch {
	case e.Deleted:
		delete(m[e.ChatID], e.MessageID)
	case e.ThreadID == nil:
		m.add(e.ChatID, e.MessageID)
	}
}

// deletions returns the remembered messages after oldest that are missing from the history as it is now.
// Each is requested individually: the history may omit a message for another reason than deletion.
func (l *listening) deletions(ctx context.Context, chat string, oldest, now time.Time,
	present map[string]bool) (all []message, err error) {
	var missing []string
	for ts := range l.memory[chat] {
		if t := at(ts); !present[ts] && t.After(oldest) && t.Before(now.Add(-nodes)) {
			missing = append(missing, ts)
		}
	}
	slices.Sort(missing)
	if len(missing) > maxGone {
		l.Logf("slack: chat %s: %d messages are not in its history any more: of the %d oldest it is not looked whether they are deleted", chat, len(missing), len(missing)-maxGone)
		missing = missing[len(missing)-maxGone:]
	}
	for _, id := range missing {
		in := url.Values{"channel": {chat}, "ts": {id}, "oldest": {id}, "latest": {id}, "inclusive": {"true"},
			"limit": {"2"}}
		r, err := l.read(ctx, "conversations.replies", in)
		if err != nil && httpapi.StatusOf(err) != http.StatusNotFound {
			return nil, err
		}
		stands := slices.ContainsFunc(list(r, "messages"), func(m gjson.Result) bool {
			return str(m, "ts") == id && str(m, "subtype") != "tombstone"
		})
		if (err == nil || httpapi.CodeOf(err) == "thread_not_found" ||
			httpapi.CodeOf(err) == "message_not_found") && !stands {
			all = append(all, message{Chat: chat, TS: id, Gone: ts(now)})
		}
	}
	return all, nil
}

// saveMemory saves the memory for the next start.
func (l *listening) saveMemory() {
	l.saved = time.Now()
	if err := l.Save(l.memory.save()); err != nil {
		l.Logf("slack: %v", err)
	}
}
