package dispatch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notice"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
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

	working map[string]time.Time    // when work on open items began, by key
	status  map[string]*status      // notices of long work that are edited in place, by item
	edits   map[string]notice.Holes // what such notices showed last, by their keys
	last    map[place]time.Time     // when this process asked for one, whether or not it has read that back
}

// spoken is one message of a chat, and whether it is a request to the bot.
type spoken struct {
	by    string
	at    time.Time
	asked bool
}

// status is a notice of long work.
type status struct {
	key    string
	posted bool
	holes  notice.Holes // that it shows
	at     time.Time    // since then
}

// opening is a message that only greets, and when it was taken.
type opening struct {
	event *event.Classified
	at    time.Time
}

// silence is how long after such a message a person is asked for more.
const silence = 45 * time.Second

// exchange is how long two people are taken to speak with each other after their messages, and long is how
// long work lasts before its status is shown.
const exchange, long = time.Minute, time.Minute

func newNotices(d *Dispatcher) *notices {
	return &notices{gate: d.gate, of: d, store: d.store, latest: map[place][]spoken{},
		asked: map[string]bool{}, opened: map[place]opening{}, working: map[string]time.Time{},
		status: map[string]*status{}, edits: map[string]notice.Holes{}, last: map[place]time.Time{}}
}

// open reads what edited notices show.
func (n *notices) open() error {
	_, err := notify.Asked(n.Home, 0, func(s notify.Signal) error {
		if s.Kind == notify.Edit && s.Holes != nil {
			n.edits[s.Key] = *s.Holes
		}
		return nil
	})
	return err
}

// recorded implements subscriber.
func (n *notices) recorded(r *decision.Record, counts bool) {
	at, err := time.Parse(time.RFC3339, r.At)
	if counts && r.Form == notice.Working && r.Holes != nil && err == nil {
		n.status[r.Of] = &status{key: r.Key, holes: cmp.Or(n.edits[r.Key], *r.Holes), at: at}
	}
}

// posted implements subscriber.
func (n *notices) posted(r *outbox.Reply) {
	for _, s := range n.status {
		s.posted = s.posted || s.key == r.Key
	}
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
		all := append(n.latest[in], spoken{e.Sender.ID, at,
			e.Classification == event.Actionable || f.Intent != "" || f.Of != ""})
		n.latest[in] = all[max(0, len(all)-2):]
	}
	if delete(n.opened, place{e.Platform, e.ChatID}); f.Opens {
		n.opened[place{e.Platform, e.ChatID}] = opening{e, taken}
	}
}

// taken notes who speaks, and answers an asker who asks how their question goes, or changes or withdraws it.
func (n *notices) taken(e *event.Classified, f *thread.Facts) error {
	n.heard(e, f, n.Now())
	t := n.store.open[f.Of]
	switch {
	case f.NeverMind && f.Of != "":
		t, err := n.store.load(f.Of)
		if err != nil || !t.Withdrawn() {
			return err
		}
		return n.ask(t, notice.Cancel, e.MessageID, e.MessageID, e.Content, notice.Holes{})
	case t == nil:
		return nil
	case f.Relation == thread.RelationRedirect:
		return n.ask(t, notice.Redirect, e.MessageID, e.MessageID, e.Content, notice.Holes{})
	case f.Relation == thread.RelationStatus:
		return n.ask(t, notice.Status, e.MessageID, e.MessageID, e.Content, n.holes(t))
	}
	return nil
}

// holes returns the state of an item's work, as its files say.
func (n *notices) holes(t *thread.Thread) notice.Holes {
	h := notice.Holes{State: "queued"}
	switch {
	case t.Status == thread.Closed:
		h.State = "done"
	case t.Failed():
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
		h.When = min(h.When, notice.Month)
	}
	return h
}

// tick asks those who have only greeted an inbox, and behind whom it was silent, whether there is more, and
// shows the status of long work.
func (n *notices) tick(now time.Time) ([]thread.Input, error) {
	if err := errors.Join(n.show(now), n.edit(now)); err != nil {
		return nil, err
	}
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

// show asks for the notice of work that takes long.
func (n *notices) show(now time.Time) error {
	for key, at := range n.working {
		switch t := n.store.open[key]; {
		case t == nil || t.Status == thread.PendingUser:
			delete(n.working, key)
		case now.Sub(at) >= long && t.Platform != "irc": // which has no edits
			if err := n.about(t, notice.Working, fmt.Sprint(t.Cycle), n.holes(t)); err != nil {
				return err
			}
		}
	}
	return nil
}

// edit asks for new texts of the posted notices of long work, the last one at its end.
func (n *notices) edit(now time.Time) error {
	approved, _ := n.Form(notice.Working)
	for of, s := range n.status {
		if approved == "" || !s.posted || now.Sub(s.at) < notice.EditRest {
			continue
		}
		t, err := n.store.load(of)
		if err != nil {
			return err
		}
		h := n.holes(t)
		if t.Status == thread.Closed || t.Key == "" {
			delete(n.status, of)
		}
		ended := !slices.Contains(notice.States[:2], h.State)
		if t.Key == "" || h == s.holes || h.State == s.holes.State && ended {
			continue
		}
		sum := decision.Sum(fmt.Sprint(s.key, h))
		err = notify.Ask(n.Home, notify.Signal{ID: "edit-" + sum[:32], At: text.Timestamp(now),
			Kind: notify.Edit, By: "tri-dispatch", Platform: t.Platform, ChatID: t.ChatID, Key: s.key, Holes: &h})
		if err != nil {
			return err
		}
		s.holes, s.at = h, now
	}
	return nil
}

// between reports whether two people speak with each other in a chat: the last two messages are theirs, of
// the last minute, and the last one asks nothing of the bot.
func (n *notices) between(t *thread.Thread) bool {
	l := n.latest[place{t.Platform, t.ChatID}]
	return len(l) == 2 && l[0].by != l[1].by && !l[1].asked && n.Now().Sub(l[0].at) <= exchange
}

// moved asks for the notice that work on a question has failed, or that its answer waits for a person.
func (n *notices) moved(ts ...*thread.Thread) error {
	for _, t := range ts {
		if t.Failed() && strings.HasPrefix(t.Badge, "failed") {
			if err := n.about(t, notice.Snag, fmt.Sprint(t.Cycle), notice.Holes{}); err != nil {
				return err
			}
		}
		if t.Status == thread.PendingUser && t.DraftPending != nil && t.UserApprovedAt == nil {
			if err := n.about(t, notice.Review, fmt.Sprint(t.Cycle), notice.Holes{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// ran asks for the notice that work on a question has begun.
func (n *notices) ran(t *thread.Thread, runID string) error {
	if _, known := n.working[t.Key]; !known {
		n.working[t.Key] = n.Now()
	}
	if t.InvestigatorRound > 1 || t.Status != thread.Investigating {
		return nil
	}
	tasks := 0 // of its asker in this chat, that wait for an answer
	for _, o := range n.store.open {
		if o.Platform == t.Platform && o.ChatID == t.ChatID && o.OriginalSenderID == t.OriginalSenderID &&
			o.Status == thread.Investigating {
			tasks++
		}
	}
	if approved, _ := n.Form(notice.Ack); approved != "" && tasks > 1 {
		return n.about(t, notice.Ack, runID, notice.Holes{Tasks: min(5, tasks)})
	}
	return n.about(t, notice.Begun, runID, notice.Holes{})
}

// about asks for a notice below the message that an item answers.
func (n *notices) about(t *thread.Thread, form, by string, h notice.Holes) error {
	_, _, replyTo := t.Target()
	for _, m := range t.Messages {
		if m.MessageID == replyTo {
			return n.ask(t, form, by, replyTo, m.Content, h)
		}
	}
	return nil
}

// ask appends the request for a notice, once for each record that asks for it.
func (n *notices) ask(t *thread.Thread, form, by, replyTo, content string, h notice.Holes) error {
	approved, _ := n.Form(form)
	key := decision.NoticeKey(t.Key, form, by)
	switch {
	case approved == "" || n.Shadow || n.between(t) || t.Status == thread.Closed && form != notice.Cancel:
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
	in := place{t.Platform, chatID}
	if n.TooMany(t.Key, to, n.Now()) || n.Now().Sub(n.last[in]) < notice.ChatRest {
		return nil
	}
	n.last[in] = n.Now()
	_, err = decision.Append(n.Home, decision.Record{
		Kind: decision.Notify, By: decision.Dispatcher, Via: "code", At: text.Timestamp(n.Now()), Key: key,
		Cycle: t.Cycle,
		Of:    t.Key, Form: form, Holes: &h, Text: said, DraftSHA256: decision.Sum(said),
		Target: to,
	})
	n.asked[key] = true
	return err
}
