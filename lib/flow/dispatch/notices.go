package dispatch

import (
	"path/filepath"
	"time"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notice"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// notices asks for notices of the forms that people have approved; without one it does nothing. What a notice
// says is read from the threads and from the states of their runs. tri-reply checks it again and posts it.
type notices struct {
	quiet
	*gate
	of     *Dispatcher
	store  *store
	latest map[place][]spoken // who spoke in a chat lately, up to two
	asked  map[string]bool    // by this process, whether or not it has read them back yet
	opened map[place]opening  // greetings in inboxes after which their writer has been silent
}

// spoken is one message of a chat.
type spoken struct {
	by string
	at time.Time
}

// opening is a message that only greets, and when it was taken.
type opening struct {
	event *event.Classified
	at    time.Time
}

// silence is how long after such a message a person is asked for more.
const silence = 45 * time.Second

// exchange is how long two people are taken to speak with each other after their messages.
const exchange = time.Minute

func newNotices(d *Dispatcher) *notices {
	return &notices{gate: d.gate, of: d, store: d.store, latest: map[place][]spoken{},
		asked: map[string]bool{}, opened: map[place]opening{}}
}

// begun reads again who spoke before a restart. A greeting that is too old for a notice is forgotten.
func (n *notices) begun([]*thread.Thread) error {
	if approved, _ := n.Form(notice.More); approved == "" {
		return nil
	}
	n.of.taken(func(e *event.Classified) {
		f, err := n.of.rules.facts(e, "", n.of.Options)
		at, timeErr := time.Parse(time.RFC3339, e.CreateTime)
		if err == nil && timeErr == nil && !n.of.rules.operators(e) {
			f.Opens = f.Opens && n.Now().Sub(at) < silence+notice.Lifetime
			n.heard(e, f, at)
		}
	})
	return nil
}

// heard notes who speaks, and a greeting that was taken at a time.
func (n *notices) heard(e *event.Classified, f *thread.Facts, taken time.Time) {
	if at, err := time.Parse(time.RFC3339, e.CreateTime); err == nil && !f.Own {
		in := place{e.Platform, e.ChatID}
		all := append(n.latest[in], spoken{e.Sender.ID, at})
		n.latest[in] = all[max(0, len(all)-2):]
	}
	if delete(n.opened, place{e.Platform, e.ChatID}); f.Opens {
		n.opened[place{e.Platform, e.ChatID}] = opening{e, taken}
	}
}

// taken notes who speaks, and answers an asker who asks how their question goes.
func (n *notices) taken(e *event.Classified, f *thread.Facts) error {
	n.heard(e, f, n.Now())
	t := n.store.open[f.Of]
	if f.Relation != thread.RelationStatus || t == nil {
		return nil
	}
	h := notice.Holes{State: "queued"}
	switch {
	case t.Status == thread.PendingUser && t.DraftPending == nil && t.Asked == "":
		h.State = "failed"
	case t.Status == thread.PendingUser:
		h.State = "waiting"
	case t.InvestigatorTaskID != nil:
		dir := filepath.Join(n.Home.Dir(), "runs", *t.InvestigatorTaskID)
		if s, err := run.LoadState(dir); err == nil && s.Phase == run.Running {
			h.State = "running"
		}
		if c, err := run.LoadCheckpoint(dir); err == nil && c != nil {
			h.Files = min(9999, len(c.Read))
		}
	}
	if at, err := time.Parse(time.RFC3339, t.StartedAt); err == nil {
		h.When = max(0, int(n.Now().Sub(at)/time.Minute))
		h.Minutes = min(999, h.When)
	}
	return n.ask(t, notice.Status, e.MessageID, e.MessageID, e.Content, h)
}

// tick asks those who have only greeted an inbox, and behind whom it was silent, whether there is more.
func (n *notices) tick(now time.Time) ([]thread.Input, error) {
	for in, o := range n.opened {
		if now.Sub(o.at) < silence {
			continue
		}
		delete(n.opened, in)
		t := &thread.Thread{Key: o.event.Key(), Platform: o.event.Platform, ChatID: o.event.ChatID,
			ThreadID: o.event.Root(), OriginalMessageID: o.event.MessageID,
			OriginalSenderID: o.event.Sender.ID, Cycle: 1}
		if err := n.ask(t, notice.More, o.event.MessageID, o.event.MessageID, o.event.Content,
			notice.Holes{}); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// between reports whether two other people than the asker spoke last in a chat, within a minute.
func (n *notices) between(t *thread.Thread) bool {
	l := n.latest[place{t.Platform, t.ChatID}]
	if len(l) < 2 || l[0].by == l[1].by {
		return false
	}
	for _, s := range l {
		if s.by == t.OriginalSenderID || n.Now().Sub(s.at) > exchange {
			return false
		}
	}
	return true
}

// ran asks for the notice that work on a question has begun.
func (n *notices) ran(t *thread.Thread, runID string) error {
	if t.InvestigatorRound > 1 || t.Status != thread.Investigating {
		return nil
	}
	_, _, replyTo := t.Target()
	for _, m := range t.Messages {
		if m.MessageID == replyTo {
			return n.ask(t, notice.Begun, runID, replyTo, m.Content, notice.Holes{})
		}
	}
	return nil
}

// ask appends the request for a notice, once for each of what it was asked for by.
func (n *notices) ask(t *thread.Thread, form, by, replyTo, content string, h notice.Holes) error {
	approved, _ := n.Form(form)
	key := decision.NoticeKey(t.Key, form, by)
	switch {
	case approved == "" || n.Shadow || t.Status == thread.Closed || n.between(t):
		return nil
	case n.Standing(key) != nil || n.asked[key]:
		return nil
	}
	said, err := notice.Render(approved, h)
	if err != nil { // an approved form with a hole that this notice has nothing for
		n.Say("notice %q is not posted: %v", form, err)
		return nil
	}
	chatID, threadID, _ := t.Target()
	to := &decision.Target{Platform: t.Platform, ChatID: chatID, ThreadID: threadID, ReplyToID: replyTo,
		QuestionSHA256: decision.Sum(content)}
	if n.TooMany(t.Key, to, n.Now()) {
		return nil
	}
	_, err = decision.Append(n.Home, decision.Record{
		Kind: decision.Notify, By: decision.Dispatcher, Via: "code", At: text.Timestamp(n.Now()), Key: key,
		Cycle: t.Cycle,
		Of:    t.Key, Form: form, Holes: &h, Text: said, DraftSHA256: decision.Sum(said),
		Target: to,
	})
	n.asked[key] = true
	return err
}
