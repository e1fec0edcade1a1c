package classify

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strings"
)

// drawing is a talk, or some texts, and what became of each message.
type drawing struct {
	name string
	said []string // the messages
	made []made
}

// made is what a message was judged to be, and what that was made of.
type made struct {
	is     string
	of     heard
	points int32 // 0 if the rules alone decided
}

func makes(e *Event, c *state) made {
	v := &e.verdict
	flags := []byte("------")
	for i, set := range []bool{v.mention, v.question, v.ack, v.chatter, v.stand.inflight, v.mute} {
		if set {
			flags[i] = "mqacix"[i]
		}
	}
	out := fmt.Appendf(nil, "%s %s %d %s", v.classification(), flags, v.confidence(), v.lang)
	for _, reason := range v.reasons[:v.nreasons] {
		out = c.appendReason(append(out, ' '), int(reason))
	}
	return made{string(out), v.heard, v.stand.points}
}

func (m made) letter() byte {
	h := fnv.New64a()
	fmt.Fprint(h, m.is, m.of, m.points)
	sum := h.Sum64()
	return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(sum^sum>>32)%64]
}

// madeOf returns what was heard in its words, and the points of its signs if they counted.
func (m made) madeOf() string {
	out := fmt.Appendf(nil, "%d words", m.of.words)
	v := reflect.ValueOf(m.of)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Bool && f.Bool() {
			out = append(append(out, ' '), v.Type().Field(i).Name...)
		}
	}
	if m.points != 0 {
		out = fmt.Appendf(out, " %+d", m.points)
	}
	return string(out)
}

func (m made) String() string {
	return m.is + "; " + m.madeOf()
}

func (d *drawing) letters() string {
	var out []byte
	for _, m := range d.made {
		out = append(out, m.letter())
	}
	return string(out)
}

// differs reports the first message whose result differs.
func (d *drawing) differs(name, letters string) string {
	if name != d.name {
		return fmt.Sprintf("%s, was %s", d.name, name)
	}
	for i, m := range d.made {
		if i >= len(letters) || m.letter() != letters[i] {
			return fmt.Sprintf("%s, message %d is\n%s\nwas another, letter %.1s; before it\n%s", d.name, i, m,
				letters[min(i, len(letters)):], strings.Join(d.said[max(0, i-12):i+1], "\n"))
		}
	}
	return d.name + " is shorter"
}
