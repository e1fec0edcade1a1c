package classify

import (
	"encoding/json"
	"fmt"

	"tri/lib/base/ndjson"
)

// cut finds where the new fields go, and the members to remove. There are always other members, since read
// requires some.
func (e *Event) cut(members []ndjson.Member) {
	kept := false
	for i := range members {
		m := &members[i]
		e.end = m.End
		switch {
		case !isField(m.Key):
			kept = true
		case kept: // with the preceding comma
			e.drop = append(e.drop, span{members[i-1].End, m.End})
		default: // with the following comma
			e.drop = append(e.drop, span{m.Start, members[i+1].Start})
		}
	}
}

// classified appends the record with the new fields at its end, and applies the custom rules. A rule that
// fails on a message counts as not holding, and the message still passes: later stages need it.
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
		dst = s.append(dst[:from], e, changes) // the next rule sees the change
	}
	return dst
}

// failed reports a rule's first failure; the others are in the records.
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
	// The text after the last member is spaces and the brace.
	return append(f.dst, '}')
}

// flags are the boolean fields, in order.
type flags [5]bool

var flagFields = [len(flags{})]string{`,"is_bot_mention":`, `,"is_question":`, `,"is_ack_or_emoji":`,
	`,"is_internal_chatter":`, `,"mentions_thread_with_inflight":`}

// number encodes flags as an integer.
func (f flags) number() (n int) {
	for i, holds := range f {
		if holds {
			n |= 1 << i
		}
	}
	return n
}

// flagTexts holds the rendered fields of all values of flags, by number.
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

// fields writes the classifier's fields. A value set by a custom rule takes precedence.
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

// changed writes the value that a custom rule set for the field, if any.
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
