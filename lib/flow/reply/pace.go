package reply

import (
	"context"
	"encoding/hex"
	"time"

	"tri/lib/base/text"
	"tri/lib/chat"
)

// Limits on the typing indicator. Platforms keep one for about five seconds, and ban a bot that refreshes
// it without end.
const (
	typingEvery   = 4 * time.Second
	typingTimeout = 2 * time.Second
	typingMost    = 4 // in a chat, without a post in between
)

// typed is the use of the typing indicator in a chat.
type typed struct {
	at    time.Time
	since int // the last post
}

// typing shows that a post is about to come: between a claim and its post, never earlier. Nothing waits for
// it or depends on it.
func (p *poster) typing(ctx context.Context, j *job) {
	t := j.offer().Target
	sink, ok := p.sink(j).(chat.Signaler)
	in := t.Platform + " " + t.ChatID
	last := p.typed[in]
	if !p.Typing || !ok || last.since >= typingMost || p.Now().Sub(last.at) < typingEvery {
		return
	}
	p.typed[in] = typed{p.Now(), last.since + 1}
	ctx, cancel := context.WithTimeout(ctx, typingTimeout)
	defer cancel()
	_ = sink.Typing(ctx, t.ChatID, t.ThreadID) // a missing sign is not a fault
}

// paced reports whether part i has to wait for the pace between the parts of an answer, and until when the
// job then rests. The pace counts from the last try of the part before, and is longer by up to a half,
// always by the same amount for the same part.
func (p *poster) paced(ctx context.Context, j *job, i int) bool {
	if i == 0 || p.Pace <= 0 {
		return false
	}
	part, err := hex.DecodeString(j.parts[i].PostKey[:2])
	if err != nil {
		return false
	}
	pace := p.Pace + p.Pace*time.Duration(part[0])/512
	rest := text.ParseTime(j.parts[i-1].TriedAt).Add(pace).Sub(p.Now())
	if rest <= 0 || rest > pace { // over, or the clock was set back
		return false
	}
	p.typing(ctx, j)
	j.due = p.Now().Add(min(rest, typingEvery))
	return true
}
