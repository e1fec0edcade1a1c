package autoreply

import (
	"cmp"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/run"
)

// Read makes the book of a home from its logs. Journal entries before from are ignored: the gate looks
// four weeks back.
func Read(h *durable.Home, p *Policy, who decision.Policy, from time.Time) (*Book, error) {
	b := newBook(p)
	if _, err := decision.Fold(h, who, func(r *decision.Record, counts bool, _ string) {
		b.Decided(r, counts)
	}); err != nil {
		return nil, err
	}
	if err := journal.Lines(h, 0, func(line []byte) error { return b.Journal(line, from) }); err != nil {
		return nil, err
	}
	drills, err := Drills(h, from)
	b.drills = drills
	return b, err
}

// Journal records a complete line of dispatch.ndjson: questions, results and messages.
func (b *Book) Journal(line []byte, from time.Time) error {
	v := gjson.ParseBytes(line)
	at := text.ParseTime(v.Get("at").String())
	if at.Before(from) {
		return nil
	}
	key := v.Get("key").String()
	if e := v.Get("event"); e.Exists() {
		b.event(key, e, v.Get("facts"), at)
		return nil
	}
	r := v.Get("run")
	if !r.Exists() || r.Get("status").String() != string(run.Done) {
		return nil
	}
	cycle, n := int(r.Get("cycle").Int()), int(r.Get("round").Int())
	if r.Get("kind").String() == run.Validate {
		b.Validated(key, cycle, n, r.Get("value.verdict").String(), r.Get("value.risk_gate_check").String())
	} else {
		b.Returned(key, cycle, n, r.Get("value.confidence").String())
	}
	return nil
}

func (b *Book) event(key string, e, facts gjson.Result, at time.Time) {
	said := e.Get("content").String()
	switch own := facts.Get("own").Bool(); {
	case own && e.Get("deleted").Bool():
		b.Deleted(key, at)
	case own, e.Get("sender.type").String() == "bot":
	default:
		b.Said(key, cmp.Or(e.Get("sender.name").String(), e.Get("sender.id").String(), "somebody"), said,
			text.ParseTime(e.Get("create_time").String()))
		if e.Get("classification").String() != event.Actionable {
			return
		}
		a := Asked{Key: key, MessageID: e.Get("message_id").String(), At: at,
			Mention: e.Get("is_bot_mention").Bool(), Type: facts.Get("question_type").String()}
		a.Never, a.Production = b.policy.Rules([]byte(e.Raw), said)
		b.Asked(a)
	}
}
