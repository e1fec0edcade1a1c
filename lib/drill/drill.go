// Package drill tests the validator as a fire drill tests a house: into good
// returns it plants the faults that a lying agent would, and it counts which of
// them the verdicts caught.
package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"tri/lib/draft"
	"tri/lib/evidence"
	"tri/lib/ndjson"
	"tri/lib/stream"
	"tri/lib/sysexit"
)

// The faults of triage, AC-04.
const (
	None       = "none" // the good return itself
	BadPath    = "bad_path"
	BadLine    = "bad_line"
	BadContent = "bad_content"
)

// Faults are those that are planted, in this order.
var Faults = []string{BadPath, BadLine, BadContent}

// Drill plants faults.
type Drill struct {
	Root *os.Root // of the codebase that the returns cite
	Seed int64    // the same seed plants the same faults
	Out  io.Writer
	Say  func(format string, args ...any)
}

// record is a return on its way: key and message_id pass through.
type record struct {
	Key       string `json:"key,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	*draft.Return
}

// Each writes each return, marked as good, and behind it one copy for each fault
// with that fault planted in it. A return without a file reference that stands
// in the codebase gets none, and is named.
func (d *Drill) Each(ctx context.Context, in stream.Input) error {
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		var good record
		if err := json.Unmarshal(rec.Bytes, &good); err != nil {
			return stream.Refuse("%w", err)
		}
		if good.Return == nil || good.DraftReply == "" {
			return stream.Refuse("is no return: it has no draft_reply")
		}
		// Of its own chance: what stands before it in the input changes nothing.
		rng := rand.New(rand.NewPCG(uint64(d.Seed), uint64(rec.Line)))
		return d.one(good, fmt.Sprintf("%s:%d", rec.Source, rec.Line), rng)
	})
	return err
}

func (d *Drill) one(good record, of string, rng *rand.Rand) error {
	if err := d.write(good, None, of); err != nil {
		return err
	}
	targets := d.targets(good.EvidenceRefs)
	if len(targets) == 0 {
		d.Say("%s: it cites no file of the codebase, so nothing is planted", of)
		return nil
	}
	for _, fault := range Faults {
		t := targets[rng.IntN(len(targets))]
		bad := good
		ret := *good.Return
		ret.EvidenceRefs = append([]evidence.Ref(nil), ret.EvidenceRefs...)
		bad.Return = &ret
		d.plant(&ret, t, fault, rng)
		// The receipt was for the right bytes; a liar has none.
		ret.EvidenceRefs[t.index].Receipt = nil
		if err := d.write(bad, fault, of); err != nil {
			return err
		}
	}
	return nil
}

func (d *Drill) write(r record, fault, of string) error {
	ret := *r.Return
	ret.Drill = &draft.Drill{Fault: fault, Of: of}
	r.Return = &ret
	line, err := json.Marshal(r)
	if err != nil {
		return sysexit.With(sysexit.Software, fmt.Errorf("write return: %w", err))
	}
	if _, err := d.Out.Write(append(line, '\n')); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write return: %w", err))
	}
	return nil
}

// target is a reference that a fault can be planted into.
type target struct {
	index int
	place evidence.Place
	lines []string // of the file
}

func (d *Drill) targets(refs []evidence.Ref) []target {
	var out []target
	for i, ref := range refs {
		if ref.Kind != evidence.File {
			continue
		}
		p, err := evidence.Parse(ref.Ref)
		if err != nil {
			continue
		}
		// Resolve, for the bytes alone: what it finds of the reference is the
		// validator's to say.
		if f := evidence.Resolve(d.Root, evidence.Repo{}, ref); f.Text != "" {
			out = append(out, target{i, p, split(f.Text)})
		}
	}
	return out
}
