package classify

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed model.tsv
var builtIn string

// model holds the weights of the decider, in hundredths of a logit.
type model struct {
	start  weight
	from   int32        // points from which a message is actionable
	values []weight     // by number of a feature's value
	words  []wordWeight // by word of the lexicon
}

// weight is what a value adds to being helped, to being actionable, and to only acknowledging.
type weight struct{ role, worth, ack int16 }

// wordWeight is that of a word, which adds nothing to being actionable.
type wordWeight struct{ role, ack int16 }

// readModel reads lines "name, value, role, worth, ack", separated by tabs; the value of words is the word,
// or nothing for all that no pack has. Others that no pack has are passed over, and the worth of words.
func readModel(text string, lex *lexicon) (*model, error) {
	m := &model{values: make([]weight, featureAt[featureCount]), words: make([]wordWeight, len(lex.words))}
	numbers := map[string]feature{}
	for n, f := range features {
		numbers[f.name] = feature(n)
	}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		part := strings.Split(line, "\t")
		var w [3]int64
		ok := len(part) == 5
		for i := range w {
			if ok {
				var err error
				w[i], err = strconv.ParseInt(part[2+i], 10, 16)
				ok = err == nil
			}
		}
		if !ok {
			return nil, fmt.Errorf("model:%d: want a name, a value and three numbers", n+1)
		}
		to := &m.start
		if part[0] != "start" {
			f, known := numbers[part[0]]
			switch {
			case !known:
				return nil, fmt.Errorf("model:%d: no feature %q", n+1, part[0])
			case f == ofWords:
				if id := lex.lookup([]byte(part[1])); id != unknown || part[1] == "" {
					m.words[id] = wordWeight{int16(w[0]), int16(w[2])}
				}
				continue
			default:
				i, err := strconv.Atoi(part[1])
				if err != nil || i < 0 || i >= int(features[f].size) {
					return nil, fmt.Errorf("model:%d: %s has no value %q", n+1, part[0], part[1])
				}
				to = &m.values[int(featureAt[f])+i]
			}
		}
		*to = weight{int16(w[0]), int16(w[1]), int16(w[2])}
	}
	return m, nil
}

// maxRead is how many words of a message count.
const maxRead = 60

// weighWords sums the weights of what the message's own words show.
func (c *Classifier) weighWords(t *reading, v *verdict) {
	var m marks
	m.aloud(v)
	role, worth, acks := int32(c.model.start.role), int32(c.model.start.worth), int32(c.model.start.ack)
	for _, n := range m.at[:m.n] {
		w := c.model.values[n]
		role, worth, acks = role+int32(w.role), worth+int32(w.worth), acks+int32(w.ack)
	}
	words := t.words[:min(len(t.words), maxRead)]
	for i := range words {
		w := c.model.words[words[i].id]
		role, acks = role+int32(w.role), acks+int32(w.ack)
	}
	v.role, v.worth, v.acks = role, worth, acks
	if c.trace != nil {
		v.traced = &Traced{Aloud: m.numbers()}
		for i := range words { // behind the features' values
			v.traced.Words = append(v.traced.Words, uint32(featureAt[featureCount])+uint32(words[i].id))
		}
	}
}

func (m *marks) numbers() (all []uint32) {
	for _, n := range m.at[:m.n] {
		all = append(all, uint32(n))
	}
	return all
}

// featureOf returns the feature of a value.
func featureOf(n uint16) feature {
	f := feature(0)
	for featureAt[f+1] <= n {
		f++
	}
	return f
}

// strongest returns the reason of the feature around the message with the largest weight for a side, 1 or -1.
func (w *model) strongest(m *marks, side int32) uint16 {
	best, of := int32(0), feature(0)
	for _, n := range m.at[:m.n] {
		if p := side * int32(w.values[n].worth); p > best {
			best, of = p, featureOf(n)
		}
	}
	return uint16(whySign + int(of))
}

// Traced is what the filter made of a message that people wrote.
type Traced struct {
	Words, Aloud, Around                  []uint32 // numbers of values, for Feature
	Bound                                 bool     // the rules alone decided
	Actionable, Question, Acknowledgement bool
}

// Ruled reports whether a value says what the rules found, which is not for a fit to rely on in the rooms
// that the rules were made from.
func Ruled(n uint32) bool {
	return n >= uint32(featureAt[ruledAsk]) && n < uint32(featureAt[featureCount])
}

// Trace is called with the id of each message.
type Trace func(id string, of Traced)

// Feature names a value of a Traced as in a model: name, tab, value.
func (c *Classifier) Feature(n uint32) string {
	if end := uint32(featureAt[featureCount]); n >= end {
		return features[ofWords].name + "\t" + c.lex.words[n-end]
	}
	f := featureOf(uint16(n))
	return fmt.Sprintf("%s\t%d", features[f].name, n-uint32(featureAt[f]))
}
