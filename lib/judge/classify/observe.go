package classify

import (
	"context"
	"io"

	"tri/lib/base/stream"
)

// Observation is what the decider knows of a message, for those who fit it.
type Observation struct {
	Line          []byte
	Features      [nFeatures]uint8
	Grams         []uint32 // the numbers of its words and pairs of words
	Words         int
	Question, Ack bool
	Bound         bool // the rules alone decide it,
	Wanted        bool // and so
}

// TextFeatures is the number of features of the words alone; they come first.
const TextFeatures = fText

// Feature returns the number of a feature by its name, or -1.
func Feature(name string) int {
	for i, f := range featureWords {
		if f.name == name {
			return i
		}
	}
	return -1
}

// Observe calls fn for every message of a history that has not been deleted or written by a program.
func (c *Classifier) Observe(ctx context.Context, in stream.Input, fn func(*Observation)) error {
	st := c.state()
	_, err := stream.Run(ctx, in, stream.Output{Stdout: io.Discard}, stream.Stage[Event]{
		Prepare: c.Prepare,
		Emit: func(dst []byte, e *Event) ([]byte, error) {
			st.place(e)
			v := &e.verdict
			if v.mute {
				return dst, nil
			}
			o := &Observation{Line: e.line, Features: v.stand.x, Words: v.words, Question: v.question, Ack: v.ack, Bound: !v.stand.weighed, Wanted: v.stand.wanted}
			var t reading
			t.read(c.lex, e.body)
			o.Grams = gramsOf(t.words)
			fn(o)
			return dst, nil
		},
	})
	return err
}

// Features is the number of features.
const Features = nFeatures
