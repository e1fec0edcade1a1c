// Package card shows the review queue in the operators' channel as cards, and reads clicks and replies as
// decisions. It posts nothing itself: it writes signals, which tri-reply shows, and reads the clicks and
// messages that tri-watch has logged. This package maps a click to a decision; decision.State says whether
// the decision counts.
package card

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
)

// The logs that are read, the file with the offsets reached, and the lock.
const (
	actionsName = "actions.ndjson"
	repliesName = "replies.ndjson"
	markName    = "cards.json"
	lockName    = "locks/chat"
)

// lookEvery is how often the cards are checked even if nothing has happened.
const lookEvery = 10 * time.Second

// Options configure the cards.
type Options struct {
	Gate approve.Gate // By is not used: each click names its person
	Say  func(format string, args ...any)
}

// mark is how far the clicks and messages have been read. It may lag behind: a decision names the click
// that it came from, and none is taken twice.
type mark struct {
	Actions int64 `json:"actions"` // bytes of actions.ndjson
	Events  int64 `json:"events"`  // bytes of events.ndjson
}

// channel owns the cards of a home, in one process at a time.
type channel struct {
	Options
	chat    config.GateChat
	policy  decision.Policy   // of history
	people  map[string]string // names by id on the platform
	board   *approve.Board
	store   *store
	history *history
	at      mark
	saved   mark
	read    map[string]int64 // bytes read of each log
	skipped int              // lines after saved that did not concern a card
	held    []line           // lines that may concern a card whose message id is not known yet
}

// line is a complete line of a log and the offset of the next one. It is valid only while it is being
// processed.
type line struct {
	log   string
	bytes []byte
	next  int64
}

// Run shows cards and takes decisions until ctx ends.
func Run(ctx context.Context, o Options) error {
	lock, err := o.Gate.Home.TryLock(lockName)
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("cards are shown for this home already: %w", err),
			"tri-health says which process it is")
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(d.loop(ctx), d.save())
}

// open reads the existing cards and decisions.
func open(ctx context.Context, o Options) (*channel, error) {
	cfg := o.Gate.Config
	d := &channel{Options: o, chat: cfg.Gate.Chat, people: map[string]string{}}
	if d.chat.ChatID == "" || !slices.Contains(cfg.On(), d.chat.Platform) {
		err := sysexit.With(sysexit.Config,
			fmt.Errorf("gate.chat: %q on %q is not a channel of a chat that is configured", d.chat.ChatID,
				d.chat.Platform))
		return nil, sysexit.Hint(err,
			"name the operators' channel: gate: {chat: {platform: slack, chat_id: C0OPS}}")
	}
	d.Gate.Via = "chat"
	for _, p := range d.chat.People {
		d.people[p.ID] = p.Name
	}
	var err error
	if d.at, err = d.load(); err != nil {
		return nil, err
	}
	d.saved = d.at
	if d.store, err = readStore(d.Gate.Home, d.chat); err != nil {
		return nil, err
	}
	if err := d.follow(decision.PolicyOf(cfg)); err != nil {
		return nil, err
	}
	d.read = map[string]int64{
		actionsName: d.at.Actions, config.EventsName: d.at.Events, notify.DoneName: d.store.toldTo,
		decision.LogName: d.history.tail.Offset(), repliesName: d.history.repliesTo,
	}
	d.board, err = d.Gate.Watch(ctx)
	return d, err
}

// follow reads what became of items under a policy.
func (d *channel) follow(p decision.Policy) error {
	d.policy, d.history = p, newHistory(d.Gate.Home, p)
	return d.history.read()
}

// readWords reads the new decisions, and all of them if the policy has changed. One that cannot be read is
// reported by the next decision.
func (d *channel) readWords() error {
	if now, err := d.Gate.Rules(); err == nil && !reflect.DeepEqual(now, d.policy) {
		return d.follow(now)
	}
	return d.history.readWords()
}

// load reads the mark. If a log is shorter than the mark, because it was restored from a backup, reading
// starts again from its beginning.
func (d *channel) load() (m mark, err error) {
	b, err := d.Gate.Home.ReadSealed(markName)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", markName, err))
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, sysexit.Hint(sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", markName, err)),
			"remove it: no word is taken twice")
	}
	for name, off := range map[string]*int64{actionsName: &m.Actions, config.EventsName: &m.Events} {
		if info, err := d.Gate.Home.Root().Stat(name); err != nil || info.Size() < *off {
			*off = 0
		}
	}
	return m, nil
}

func (d *channel) save() error {
	if d.at == d.saved {
		return nil
	}
	b, err := json.Marshal(d.at)
	if err != nil {
		return fmt.Errorf("write %s: %w", markName, err)
	}
	if err := d.Gate.Home.ReplaceSealed(markName, b); err != nil {
		return err
	}
	d.saved, d.skipped = d.at, 0
	return nil
}

// loop reads the logs as they grow, and updates the cards when needed.
func (d *channel) loop(ctx context.Context) error {
	var paths []string
	for _, name := range logs {
		paths = append(paths, d.Gate.Home.Path(name))
	}
	written, look := stream.Watch(ctx, paths...), time.NewTicker(lookEvery)
	defer look.Stop()
	if _, err := d.readAll(); err != nil {
		return err
	}
	for {
		changed := d.board.Changed() // taken first, so that a change during sync is seen by the next one
		if err := d.sync(); err != nil {
			return err
		}
		for matters := false; !matters; {
			var err error
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
				matters = true
			case <-look.C:
				matters = true
			case <-written:
				matters, err = d.readAll()
			}
			if err != nil {
				return err
			}
		}
	}
}

// logs are the logs that are read.
var logs = []string{notify.DoneName, actionsName, config.EventsName, decision.LogName, repliesName}

// readAll reads the new lines of the logs and reports whether the cards may have to change.
func (d *channel) readAll() (matters bool, err error) {
	for _, name := range logs {
		from := d.read[name]
		info, err := d.Gate.Home.Root().Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == from:
			continue
		case err == nil && info.Size() < from:
			err = errors.New("cut or replaced")
		}
		if err != nil {
			return false, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
		}
		err = d.Gate.Home.Tail(name, from, func(b []byte, next int64) error {
			d.read[name] = next
			ours, err := d.take(line{name, b, next})
			matters = matters || ours
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return matters, nil
}

// take processes a line and reports whether the cards may have to change.
func (d *channel) take(l line) (matters bool, err error) {
	switch l.log {
	case decision.LogName:
		return true, nil // the log is read by sync
	case repliesName:
		var r outbox.Reply
		if err := json.Unmarshal(l.bytes, &r); err != nil {
			return false, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", repliesName, err))
		}
		d.history.reply(&r)
		return true, nil
	case notify.DoneName:
		return true, d.told()
	}
	return d.hear(l)
}

// told reads the outcomes of requests, and processes the lines held back for them.
func (d *channel) told() error {
	if err := d.store.readTold(d.Gate.Home); err != nil {
		return err
	}
	held := d.held
	d.held = nil
	for _, l := range held {
		if _, err := d.hear(l); err != nil {
			return err
		}
	}
	return nil
}

// maxHeld is how many clicks and messages are held until cards have been shown.
const maxHeld = 1000

func (d *channel) hold(l line) error {
	if len(d.held) == maxHeld {
		d.Say("%s: more than %d clicks wait for cards to be shown; one is left out", l.log, maxHeld)
		return nil
	}
	l.bytes = slices.Clone(l.bytes)
	d.held = append(d.held, l)
	return nil
}

// hear processes a click or a message, and advances the mark.
func (d *channel) hear(l line) (matters bool, err error) {
	var of *card
	switch {
	case !d.mayBeOurs(l):
	case l.log == actionsName:
		of, err = d.click(l)
	default:
		of, err = d.message(l)
	}
	if errors.Is(err, errUnknown) {
		return false, d.hold(l)
	}
	if err != nil {
		return false, err
	}
	if len(d.held) == 0 { // otherwise a restart would skip the held lines
		if l.log == actionsName {
			d.at.Actions = l.next
		} else {
			d.at.Events = l.next
		}
	}
	if d.skipped++; of != nil || d.skipped >= 1000 {
		err = d.save()
	}
	return of != nil, err
}
