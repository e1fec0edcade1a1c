package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/text"
	"tri/lib/record/notify"
	"tri/lib/record/thread"
)

// reactor requests the reaction on a message that shows the progress of its answer, one reaction at a
// time. It reads its earlier requests back from signals.ndjson, so that after a kill at any point the same
// reaction is requested under the same name.
type reactor struct {
	quiet
	config.Reactions
	store  *store
	now    func() time.Time
	stands map[message][]string // emoji requested and not removed
	marks  map[message]last
	runs   map[string]bool // started by this process
	latest message         // of the last signal: the signals after it may be missing
}

// last is the key of a message's thread, and the state that the last request shows, "" if that removes one.
type last struct{ key, state string }

// message identifies a message on a platform.
type message struct{ platform, chatID, id string }

// The states that a reaction shows.
const (
	stateSeen     = "seen"
	stateWorking  = "working"
	stateWaiting  = "waiting"
	stateAnswered = "answered"
	stateNoted    = "noted"
	stateSkipped  = "skipped"
	stateFailed   = "failed"
)

func newReactor(d *Dispatcher) *reactor {
	r := &reactor{
		Reactions: d.Config.Gate.Reactions, store: d.store, now: d.Now,
		stands: map[message][]string{}, marks: map[message]last{}, runs: map[string]bool{},
	}
	r.Enabled = r.Enabled && !d.Shadow
	return r
}

// open reads the earlier requests.
func (r *reactor) open() error {
	if !r.Enabled {
		return nil
	}
	_, err := notify.Asked(r.store.home, 0, func(s notify.Signal) error {
		if s.Kind == notify.React {
			r.asked(&s)
		}
		return nil
	})
	return err
}

func (r *reactor) asked(s *notify.Signal) {
	at := message{s.Platform, s.ChatID, s.MessageID}
	state := ""
	left := slices.DeleteFunc(r.stands[at], func(e string) bool { return e == s.Emoji })
	if s.On {
		left = append(left, s.Emoji)
		state = s.ID[strings.LastIndexByte(s.ID, '-')+1:]
	}
	if len(r.stands[r.latest]) == 0 {
		delete(r.stands, r.latest)
		delete(r.marks, r.latest)
	}
	r.stands[at], r.marks[at], r.latest = left, last{s.Key, state}, at
}

// begun requests the reactions that an interrupted process did not get to: those of open threads, and
// those of closed threads whose message shows something other than their end, by whatever emoji.
func (r *reactor) begun(ts []*thread.Thread) error {
	if !r.Enabled {
		return nil
	}
	open := map[string]bool{}
	for _, t := range ts {
		open[t.Key] = true
	}
	ends := []string{stateAnswered, stateNoted, stateSkipped}
	for at, stands := range r.stands {
		m := r.marks[at]
		if open[m.key] || len(stands) == 1 && slices.Contains(ends, m.state) {
			continue
		}
		t, err := r.store.load(m.key)
		if err != nil {
			return err
		}
		if t.OriginalMessageID == at.id && (len(stands) != 1 || m.state != r.state(t)) {
			ts = append(ts, t)
		}
	}
	return r.moved(ts...)
}

// ran requests the reaction that shows that a run of the thread has started.
func (r *reactor) ran(t *thread.Thread, runID string) error {
	r.runs[runID] = true
	return r.moved(t)
}

// moved requests the reactions that the threads' messages lack.
func (r *reactor) moved(ts ...*thread.Thread) error {
	var ask []notify.Signal
	for _, t := range ts {
		if r.Enabled && t.Key != "" && !t.ByOperator() && slices.Contains(r.Chats, t.ChatID) {
			ask = append(ask, r.due(t, text.Timestamp(r.now()))...)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	if err := notify.Ask(r.store.home, ask...); err != nil {
		return err
	}
	for i := range ask {
		r.asked(&ask[i])
	}
	return nil
}

// due returns the signals that set the one reaction of a message to the right one.
func (r *reactor) due(t *thread.Thread, at string) (ask []notify.Signal) {
	state := r.state(t)
	emoji := map[string]string{
		stateSeen: *r.Seen, stateWorking: *r.Working, stateWaiting: *r.Waiting, stateAnswered: *r.Answered,
		stateNoted: *r.Noted, stateSkipped: *r.Skipped, stateFailed: *r.Failed,
	}[state]
	on := message{t.Platform, t.ChatID, t.OriginalMessageID}
	if state == stateSeen && slices.Contains(r.stands[on], *r.Working) {
		return nil // work that an earlier process started continues
	}
	s := notify.Signal{At: at, Kind: notify.React, By: "tri-dispatch", Platform: on.platform,
		ChatID: on.chatID, MessageID: on.id, Key: t.Key}
	// The thread's step and the emoji name the change: steps are numbered, and each is taken once.
	add := func(sign, emoji string) {
		s.ID = fmt.Sprintf("%s-%s-%d-%s", sign, text.SHA256(t.Key + "\x00" + emoji)[:24],
			len(t.StatusHistory), state)
		s.Emoji, s.On = emoji, sign == "on"
		ask = append(ask, s)
	}
	for _, old := range r.stands[on] {
		if old != emoji {
			add("off", old)
		}
	}
	if emoji != "" && !slices.Contains(r.stands[on], emoji) {
		add("on", emoji)
	}
	return ask
}

// state returns the state that a thread's message should show.
func (r *reactor) state(t *thread.Thread) string {
	switch {
	case t.IsNoted():
		return stateNoted
	case t.Status == thread.Closed && t.PostedMessageID != nil:
		return stateAnswered
	case t.Status == thread.Closed && (t.Withdrawn() || t.Dismissed()):
		return stateSkipped
	case t.Status == thread.Closed:
		return stateFailed
	case t.Failed():
		return stateFailed
	case t.Status == thread.PendingUser:
		return stateWaiting
	case t.Status == thread.Investigating && !r.runs[*t.InvestigatorTaskID]:
		return stateSeen
	}
	return stateWorking
}
