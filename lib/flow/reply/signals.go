package reply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"tri/lib/base/stream"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/notice"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
)

// Limits for signals. They are low: an answer never waits for a signal.
const (
	signalTries   = 3
	signalTimeout = 20 * time.Second
	reactionAge   = time.Hour // age after which a reaction is no longer useful
)

// signaler shows the signals requested in signals.ndjson, in order, each once.
type signaler struct {
	*Options
	off   int64
	done  map[string]notify.Done
	queue []notify.Signal
	held  map[string]held     // cards of the queue that could not be posted yet, by id
	cards map[string][]string // ids of the signals that request a draft's card, by draft
	wait  func(ctx context.Context, d time.Duration) error

	tail   *decision.Tail // of state, under policy
	state  *decision.State
	policy decision.Policy
}

// held is a card of which it is known that it was not posted.
type held struct {
	tries int
	until time.Time
}

func newSignaler(o *Options) (*signaler, error) {
	s := &signaler{Options: o, done: map[string]notify.Done{}, held: map[string]held{},
		cards: map[string][]string{}, wait: sleep}
	_, err := notify.Told(o.Home, 0, func(d notify.Done) error {
		s.done[d.ID] = d
		return nil
	})
	return s, err
}

// run shows signals as they are requested, until ctx ends.
func (s *signaler) run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	failed := make(chan error, 1)
	go func() {
		failed <- stream.Follow(ctx, s.Home.Path(notify.LogName), 0, func([]byte, int64) error {
			select {
			case wake <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	for {
		if err := s.all(ctx); err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-wake:
		case <-s.again():
		}
	}
}

// again returns when the next held card is tried again, nil if none is held.
func (s *signaler) again() <-chan time.Time {
	var next <-chan time.Time
	least := longestWait
	for _, h := range s.held {
		least = min(least, h.until.Sub(s.Now()))
		next = time.After(least)
	}
	return next
}

// waits reports whether a signal of the queue has to wait: a card that could not be posted yet, and what
// replaces its content.
func (s *signaler) waits(sg *notify.Signal) bool {
	if h, ok := s.held[sg.ID]; ok {
		return s.Now().Before(h.until)
	}
	_, ok := s.held[sg.Card]
	return sg.Kind == notify.Recard && ok
}

// hold keeps a card in the queue until the chat takes it.
func (s *signaler) hold(sg *notify.Signal, busy *chat.RetryError) {
	h := s.held[sg.ID]
	wait := max(busy.After, min(firstWait<<min(h.tries, 10), longestWait))
	s.held[sg.ID] = held{h.tries + 1, s.Now().Add(wait)}
	s.Say("signal %s: %v; again in %v", sg.ID, busy, wait)
}

// all shows the signals requested so far.
func (s *signaler) all(ctx context.Context) (err error) {
	s.off, err = notify.Asked(s.Home, s.off, func(sg notify.Signal) error {
		if name := cardOf(&sg); name != "" && !slices.Contains(s.cards[name], sg.ID) {
			s.cards[name] = append(s.cards[name], sg.ID)
		}
		if _, ok := s.done[sg.ID]; !ok {
			s.queue = append(s.queue, sg)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := 0; i < len(s.queue) && ctx.Err() == nil; {
		sg := s.queue[i]
		if s.waits(&sg) {
			i++
			continue
		}
		s.queue = slices.Delete(s.queue, i, i+1)
		if _, ok := s.done[sg.ID]; ok {
			continue // requested twice
		}
		d := s.one(ctx, sg)
		if ctx.Err() != nil && d.Outcome == notify.Failed {
			return nil // interrupted: the next process reads the request again
		}
		if d.Outcome == "" {
			s.queue = slices.Insert(s.queue, i, sg)
			continue
		}
		delete(s.held, sg.ID)
		d.ID, d.At = sg.ID, text.Timestamp(s.Now())
		if err := notify.Tell(s.Home, d); err != nil {
			return err
		}
		s.done[sg.ID] = d
	}
	return nil
}

// one shows one signal, or says why it was not shown. Of a card that is held it returns no outcome.
func (s *signaler) one(ctx context.Context, sg notify.Signal) notify.Done {
	sink, ok := s.Sinks[sg.Platform].(chat.Signaler)
	switch {
	case s.Allowed == nil:
		return notify.Done{Outcome: notify.Refused, Why: "no configuration allows it"}
	case !ok:
		return notify.Done{Outcome: notify.Unsupported,
			Why: "no such chat is configured, or it has no signals"}
	case s.late(&sg):
		return notify.Done{Outcome: notify.Late}
	}
	if err := s.Allowed(&sg); err != nil {
		return notify.Done{Outcome: notify.Refused, Why: err.Error()}
	}
	var err error
	for try := range signalTries {
		var id string
		if id, err = s.send(ctx, sink, &sg); err == nil {
			return notify.Done{Outcome: notify.Shown, MessageID: id}
		}
		if sg.Kind == notify.Card && id != "" { // the card is there, without some of its reactions
			return notify.Done{Outcome: notify.Shown, MessageID: id, Why: err.Error()}
		}
		var again *chat.RetryError
		switch {
		case errors.Is(err, chat.ErrUnsupported):
			return notify.Done{Outcome: notify.Unsupported}
		case chat.IsRefused(err):
			return notify.Done{Outcome: notify.Refused, Why: err.Error()}
		case errors.As(err, &again) && sg.Kind == notify.Card:
			s.hold(&sg, again)
			return notify.Done{}
		case errors.As(err, &again):
			err = errors.Join(err, s.wait(ctx, min(again.After, time.Minute)))
		case sg.Kind == notify.Card && s.stands(&sg) == "":
			// The card may have been posted. A second one would ask the same question twice, unless the
			// platform recognizes its key; that is left to the next request.
			return notify.Done{Outcome: notify.Failed, Why: err.Error()}
		default:
			err = errors.Join(err, s.wait(ctx, time.Second<<try))
		}
		if ctx.Err() != nil {
			break
		}
	}
	s.Say("signal %s: %v", sg.ID, err)
	return notify.Done{Outcome: notify.Failed, Why: err.Error()}
}

// send shows a signal. It ends by timeout and not with the program, which would post a card again when it
// starts.
func (s *signaler) send(ctx context.Context, sink chat.Signaler,
	sg *notify.Signal) (messageID string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
	defer cancel()
	card := chat.Card{ChatID: sg.ChatID, Title: sg.Title, Text: sg.Text, Key: sg.ID}
	for _, b := range sg.Buttons {
		card.Buttons = append(card.Buttons, chat.Button(b))
	}
	switch sg.Kind {
	case notify.Edit:
		on, said, err := s.noticed(sg)
		if err != nil {
			return "", err
		}
		return "", sink.Edit(ctx, on.ChatID, on.PostedMessageID, said)
	case notify.React:
		return "", sink.React(ctx, sg.ChatID, sg.MessageID, sg.Emoji, sg.On)
	case notify.Card:
		if on := s.stands(sg); on != "" {
			switch err := sink.UpdateCard(ctx, on, card); {
			case err == nil:
				return on, nil
			case !chat.IsRefused(err) && !errors.Is(err, chat.ErrUnsupported):
				return "", err
			} // it was deleted or cannot be changed: a new card is posted
		}
		posted, err := sink.PostCard(ctx, card)
		return posted.MessageID, err
	}
	on := s.done[sg.Card].MessageID
	if on == "" {
		return "", chat.ErrUnsupported // the card was never shown
	}
	return "", sink.UpdateCard(ctx, on, card)
}

// noticed returns the post of the notice that a signal edits, and its text with other values. All but the
// values follow from the logs: what is shown is what a form gives that is approved now.
func (s *signaler) noticed(sg *notify.Signal) (on outbox.Reply, said string, err error) {
	policy, err := s.Policy()
	if err != nil {
		return on, "", err
	}
	if s.state == nil || !reflect.DeepEqual(policy, s.policy) {
		s.policy, s.tail, s.state = policy, decision.NewTail(s.Home), decision.NewState(policy)
	}
	err = s.tail.Next(func(r decision.Record) error {
		s.state.Add(r)
		return nil
	})
	if err != nil {
		return on, "", err
	}
	form := ""
	if st := s.state.Standing(sg.Key); st != nil && st.Offer != nil && st.Offer.Kind == decision.Notify {
		form, _ = s.state.Form(st.Offer.Form)
	}
	if form == "" || sg.Holes == nil {
		return on, "", fmt.Errorf("%s is not a notice of an approved form: %w", sg.Key, chat.ErrRefused)
	}
	if said, err = notice.Render(form, *sg.Holes); err != nil {
		return on, "", fmt.Errorf("%w: %w", err, chat.ErrRefused)
	}
	err = s.Home.Lines(LogName, 0, func(line []byte) error {
		var r outbox.Reply
		if !bytes.Contains(line, []byte(sg.Key)) || json.Unmarshal(line, &r) != nil {
			return nil
		}
		if r.Key == sg.Key && r.Platform == sg.Platform && r.Outcome == outbox.Posted {
			on = r
		}
		return nil
	})
	if err == nil && on.PostedMessageID == "" {
		err = fmt.Errorf("%s was not posted: %w", sg.Key, chat.ErrRefused)
	}
	return on, said, err
}

// cardOf names the draft whose card a signal requests; "" if it requests none.
func cardOf(sg *notify.Signal) string {
	if sg.Kind != notify.Card || sg.DraftSHA256 == "" {
		return ""
	}
	return fmt.Sprint(sg.Platform, " ", sg.ChatID, " ", decision.ID(sg.Key, sg.Cycle, sg.DraftSHA256))
}

// stands returns the message that already shows the draft's card: tri-approve and tri-dispatch may both
// request one at about the same time. There is one card, and it shows the latest request.
func (s *signaler) stands(sg *notify.Signal) (messageID string) {
	for _, id := range slices.Backward(s.cards[cardOf(sg)]) {
		if d := s.done[id]; id != sg.ID && d.Outcome == notify.Shown {
			return d.MessageID
		}
	}
	return ""
}

// late reports whether a signal is no longer useful: adding a reaction long after its request (removing
// one is never late), or a card that a later signal replaces.
func (s *signaler) late(sg *notify.Signal) bool {
	at, err := time.Parse(time.RFC3339, sg.At)
	if sg.Kind == notify.React {
		return sg.On && (err != nil || s.Now().Sub(at) > reactionAge)
	}
	if h := sg.Holes; sg.Kind == notify.Edit && h != nil && slices.Contains(notice.States[:2], h.State) &&
		(err != nil || s.Now().Sub(at) > notice.Lifetime) {
		return true
	}
	if sg.Kind == notify.Card && sg.By == decision.Dispatcher && sg.DraftSHA256 != "" &&
		(err != nil || s.Now().Sub(at) > decision.AutoLasts) {
		return true // it announces an automatic reply, which is not posted late
	}
	for _, next := range s.queue {
		settled := next.Kind == notify.Recard && len(next.Buttons) == 0
		if sg.Kind == notify.Edit && next.Kind == notify.Edit && next.Key == sg.Key ||
			sg.Kind == notify.Card && settled && next.Card == sg.ID ||
			sg.Kind == notify.Recard && next.Kind == notify.Recard && next.Card == sg.Card {
			return true
		}
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
