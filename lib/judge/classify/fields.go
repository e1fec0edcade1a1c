package classify

import (
	"encoding/json"
	"fmt"

	"tri/lib/base/ndjson"
)

// cut finds where our fields go, and the members that must leave for them. There
// are others than ours, since read wants some.
func (e *Event) cut(members []ndjson.Member) {
	kept := false
	for i := range members {
		m := &members[i]
		e.end = m.End
		switch {
		case !isField(m.Key):
			kept = true
		case kept: // with the comma before it
			e.drop = append(e.drop, span{members[i-1].End, m.End})
		default: // with the comma behind it
			e.drop = append(e.drop, span{m.Start, members[i+1].Start})
		}
	}
}

// classified appends the record as it was, with our fields at its end, and lets
// the custom rules have their say. A rule that fails on a message does not hold,
// and the message goes on: others downstream need to hear of it.
func (s *state) classified(dst []byte, e *Event) []byte {
	from := len(dst)
	dst = s.append(dst, e, nil)
	if len(s.rules) == 0 {
		return dst
	}
	var changes map[string]any
	for i := range s.rules {
		r := &s.rules[i]
		yes, err := r.when.Match(dst[from:])
		if err != nil {
			s.failed(r, err)
			e.verdict.because(r.reason + 1)
			dst = s.append(dst[:from], e, changes)
			continue
		}
		if !yes {
			continue
		}
		if changes == nil {
			changes = map[string]any{}
		}
		for key, value := range r.set {
			changes[key] = value
		}
		e.verdict.because(r.reason)
		dst = s.append(dst[:from], e, changes) // the next rule sees what this one set
	}
	return dst
}

// failed tells of a rule's first failure; the others stand in the records.
func (s *state) failed(r *rule, err error) {
	if s.say != nil {
		r.said.Do(func() { s.say("rule %q does not hold where it fails: %v", r.name, err) })
	}
}

func (s *state) append(dst []byte, e *Event, changes map[string]any) []byte {
	at := 0
	for _, d := range e.drop {
		dst = append(dst, e.line[at:d.from]...)
		at = d.to
	}
	dst = append(dst, e.line[at:e.end]...)
	v := &e.verdict
	f := fields{dst, changes}
	said := flags{v.mention, v.question, v.ack, v.chatter, v.stand.inflight}
	if changes == nil {
		f.dst = append(f.dst, flagTexts[said.number()]...)
	} else {
		f.flags(said)
	}
	f.text(`,"classification":`, v.classification())
	f.percent(`,"classifier_confidence":`, v.confidence())
	dst = append(f.dst, s.stamp...)
	for i, reason := range v.reasons[:v.nreasons] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.appendReason(dst, int(reason))
	}
	f.dst = append(dst, ']')
	if v.lang != "" || changes["lang"] != nil {
		f.text(`,"lang":`, v.lang)
	}
	// What stood behind the last member: spaces, the brace.
	return append(f.dst, '}')
}

// flags are what holds of a message or not, in the order of their fields.
type flags [5]bool

var flagFields = [len(flags{})]string{`,"is_bot_mention":`, `,"is_question":`, `,"is_ack_or_emoji":`, `,"is_internal_chatter":`, `,"mentions_thread_with_inflight":`}

// number tells flags from all others.
func (f flags) number() (n int) {
	for i, holds := range f {
		if holds {
			n |= 1 << i
		}
	}
	return n
}

// flagTexts are the fields of all flags that there can be, by their number.
var flagTexts = func() (texts [1 << len(flags{})][]byte) {
	for n := range texts {
		var f fields
		var said flags
		for i := range said {
			said[i] = n>>i&1 != 0
		}
		f.flags(said)
		texts[n] = f.dst
	}
	return texts
}()

// fields writes our fields; a custom rule's word goes before ours.
type fields struct {
	dst     []byte
	changes map[string]any
}

func (f *fields) flags(said flags) {
	for i, holds := range said {
		f.flag(flagFields[i], holds)
	}
}

func (f *fields) flag(name string, value bool) {
	f.dst = append(f.dst, name...)
	switch {
	case f.changed(name):
	case value:
		f.dst = append(f.dst, "true"...)
	default:
		f.dst = append(f.dst, "false"...)
	}
}

func (f *fields) text(name, value string) {
	f.dst = append(f.dst, name...)
	if !f.changed(name) {
		f.dst = append(append(append(f.dst, '"'), value...), '"')
	}
}

// percent writes n/100 as 0.n.
func (f *fields) percent(name string, n int) {
	f.dst = append(f.dst, name...)
	switch {
	case f.changed(name):
	case n == 100:
		f.dst = append(f.dst, '1')
	case n%10 == 0:
		f.dst = append(f.dst, '0', '.', byte('0'+n/10))
	default:
		f.dst = append(f.dst, '0', '.', byte('0'+n/10), byte('0'+n%10))
	}
}

// changed writes what a custom rule has set for the field, if one has.
func (f *fields) changed(name string) bool {
	if f.changes == nil {
		return false
	}
	value, ok := f.changes[name[len(`,"`):len(name)-len(`":`)]]
	if !ok {
		return false
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("a checked value: %v", err))
	}
	f.dst = append(f.dst, text...)
	return true
}
