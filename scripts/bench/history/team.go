package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// order is what is to be written.
type order struct {
	days, events, threads int
	end                   time.Time
	rng                   *rand.Rand
}

// team is everything that happened.
type team struct {
	order
	events  []*event.Classified
	journal []*thread.Input
	words   []*decision.Record
	replies []*outbox.Reply
	posts   []*outbox.Entry
	spend   []*budget.Entry
	next    int // message ids
}

var (
	rooms  = []string{"backend", "ops", "product", "random", "support"}
	people = strings.Fields("ana ben cho dai eve fay gil hana ines jun kai lea mia noa omar pia")
	nouns  = strings.Fields("gateway retry limit timeout queue worker cache index invoice webhook token session schema migration rollout alert dashboard cluster shard replica customer ledger batch export header")
	verbs  = strings.Fields("retries drops caches rejects signs rotates expires batches splits merges replays throttles")
	filler = strings.Fields("the a this our that every one again today after before with without in on for by and but so still just maybe really again")
	types  = []string{thread.TechnicalQA, thread.TechnicalQA, thread.TechnicalQA, thread.APIContract,
		thread.DataLookup, thread.StatusCheck, thread.Other}
)

func (t *team) pick(of []string) string { return of[t.rng.IntN(len(of))] }

func (t *team) chance(p float64) bool { return t.rng.Float64() < p }

// between is a time from one to the other, skewed to the short.
func (t *team) between(low, high time.Duration) time.Duration {
	x := t.rng.Float64()
	return low + time.Duration(x*x*x*float64(high-low))
}

// sentence is chat of so many words.
func (t *team) sentence(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch t.rng.IntN(4) {
		case 0:
			b.WriteString(t.pick(nouns))
		case 1:
			b.WriteString(t.pick(verbs))
		default:
			b.WriteString(t.pick(filler))
		}
	}
	return b.String()
}

// hour is a time of day at which people talk.
func (t *team) hour() time.Duration {
	h := 8 + 10*t.rng.Float64()
	if t.chance(0.1) {
		h = 24 * t.rng.Float64()
	}
	return time.Duration(h * float64(time.Hour))
}

// moment is when somebody says something in the last days: on working days, mostly.
func (t *team) moment(days int) time.Time {
	day := t.end.Truncate(24*time.Hour).AddDate(0, 0, -t.rng.IntN(days))
	for wd := day.Weekday(); (wd == time.Saturday || wd == time.Sunday) &&
		t.chance(0.85); wd = day.Weekday() {
		day = t.end.Truncate(24*time.Hour).AddDate(0, 0, -t.rng.IntN(days))
	}
	at := day.Add(t.hour())
	if at.After(t.end) {
		at = at.AddDate(0, 0, -1)
	}
	return at.Truncate(time.Second)
}

// say puts a message into the stream. root is "" for one that stands alone.
func (t *team) say(at time.Time, room, root, who, text, class string, reasons ...string) *event.Classified {
	t.next++
	e := &event.Classified{
		Event: event.Event{
			Platform: "slack", ChatID: "C0" + strings.ToUpper(room), ChatName: room,
			MessageID: fmt.Sprintf("%d.%06d", at.Unix(), t.next), CreateTime: at.UTC().Format(time.RFC3339),
			MsgType: "text", Content: text,
			Sender:    event.Sender{ID: "U0" + strings.ToUpper(who), Type: "user", Name: who},
			Mentions:  []string{},
			Permalink: fmt.Sprintf("https://chat.example/archives/%s/p%d%06d", room, at.Unix(), t.next),
		},
		IsQuestion: class == event.Actionable, IsAckOrEmoji: class == event.Ack, Classification: class,
		ClassifierConfidence: 0.85, ClassifierVersion: "47a823d52f95",
		ClassifiedAt: at.Add(t.between(500*time.Millisecond, 12*time.Second)).UTC().Format(time.RFC3339),
		Reasons:      reasons, Lang: "en",
	}
	if root != "" {
		e.ThreadID, e.MsgType = &root, "thread_reply"
	}
	t.events = append(t.events, e)
	return e
}

// live makes the questions first, then the talk around them.
func live(o order) *team {
	t := &team{order: o}
	for range o.threads {
		t.question()
	}
	for range o.threads / 10 {
		t.byHand()
	}
	for len(t.events) < o.events {
		t.talk()
	}
	t.settle()
	return t
}

func (t *team) talk() {
	at, room := t.moment(t.days), t.pick(rooms)
	switch {
	case t.chance(0.15):
		t.say(at, room, "", t.pick(people), t.pick([]string{"thanks", "ok", "👍", "noted", "great, thanks"}),
			event.Ack, "ack:words")
	case t.chance(0.04): // said to be a question, and opens nothing that the dispatcher keeps
		t.say(at, room, "", t.pick(people), "did everyone see "+t.sentence(6)+"?", event.Ambient,
			"chatter:everyone")
	default:
		t.say(at, room, "", t.pick(people), t.sentence(4+t.rng.IntN(18)), event.Ambient, "nothing-asked")
	}
}

// settle puts everything in the order of its time and stamps what depends on it.
func (t *team) settle() {
	t.events = until(t.events, t.end, func(e *event.Classified) string { return e.ClassifiedAt })
	t.journal = until(t.journal, t.end, func(in *thread.Input) string { return in.At })
	t.words = until(t.words, t.end, func(r *decision.Record) string { return r.At })
	t.replies = until(t.replies, t.end, func(r *outbox.Reply) string { return r.PostedAt })
	t.spend = until(t.spend, t.end, func(e *budget.Entry) string { return e.At })
	t.posts = slices.DeleteFunc(t.posts, func(e *outbox.Entry) bool { return e.PostedAt > stamp(t.end) })
}

// until sorts by time and leaves out what lies behind the end.
func until[T any](all []T, end time.Time, at func(T) string) []T {
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(at(a), at(b)) })
	last := stamp(end)
	return slices.DeleteFunc(all, func(x T) bool { return at(x) > last })
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func (t *team) sums() string {
	return fmt.Sprintf("%d messages, %d inputs, %d decisions, %d replies", len(t.events), len(t.journal),
		len(t.words), len(t.replies))
}
