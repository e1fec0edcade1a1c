// Package faults measures the validator: it plants known faults into good returns and
// counts which ones the verdicts catch.
//
// A planted fault is a fault: before it is written, the codebase is asked whether
// the changed return is wrong, and a place where it would not be is passed over.
// What was changed is said in the record's drill mark alone, which the validator
// carries into its verdict unread.
package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// Drill plants faults.
type Drill struct {
	Root   *os.Root // of the codebase that the returns cite
	Seed   int64    // the same seed plants the same faults
	Faults []string // kinds to plant; nil: all, in the order of Faults
	// Half, 1 or 2, takes phrases and secrets from that half of the lists only, so
	// that one half can be kept from whoever tunes the checks; 0 takes all.
	Half   int
	Canary string // stands for a secret of the team's own; "": none is planted
	Out    io.Writer
	Say    func(format string, args ...any)

	words *words              // of the codebase, read when first asked for
	files map[string][]string // their lines, by path
}

// Record is a return on its way: key and message_id pass through.
type Record struct {
	Key       string `json:"key,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	// Others are what other open threads concluded, for whoever judges the return.
	Others []Other `json:"others,omitempty"`
	*draft.Return
}

// Other is an open thread and what it has concluded.
type Other struct {
	Key     string `json:"key"`
	Summary string `json:"summary"`
}

// Each writes each return, marked as good, and behind it one copy for each kind
// of fault with that fault planted in it. A return that has no place for some
// kinds is named, with why.
func (d *Drill) Each(ctx context.Context, in stream.Input) error {
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		var good Record
		if err := json.Unmarshal(rec.Bytes, &good); err != nil {
			return stream.Refuse("%w", err)
		}
		if good.Return == nil || good.DraftReply == "" {
			return stream.Refuse("is no return: it has no draft_reply")
		}
		return d.one(good, fmt.Sprintf("%s:%d", rec.Source, rec.Line), rec.Line)
	})
	return err
}

// kinds are the faults to plant.
func (d *Drill) kinds() []string {
	if d.Faults == nil {
		return Faults
	}
	return d.Faults
}

func (d *Drill) one(good Record, of string, line int64) error {
	all := []Record{d.Good(good, of)}
	var passed []string
	for _, fault := range d.kinds() {
		bad, err := d.Plant(good, fault, of, uint64(line))
		switch {
		case errors.Is(err, ErrNoPlace):
			passed = append(passed, fault)
		case err != nil:
			return err
		default:
			all = append(all, bad)
		}
	}
	all[0].Drill.Planted = len(all) - 1
	if len(passed) > 0 {
		d.Say("%s: it has no place for %s", of, strings.Join(passed, " "))
	}
	for _, r := range all {
		if err := d.write(r); err != nil {
			return err
		}
	}
	return nil
}

// Good is the return without a fault.
func (d *Drill) Good(good Record, of string) Record {
	ret := *good.Return
	ret.Drill = &draft.Drill{Fault: None, Of: of, Seed: d.Seed}
	good.Return = &ret
	return good
}

// ErrNoPlace means that a return has no place for a kind of fault.
var ErrNoPlace = errors.New("no place")

// Plant returns a copy of a good return with one fault in it. The fault is a
// function of the seed, its kind, chance and the return alone. ErrNoPlace, with
// why, where it cannot be planted; other errors are those of reading the codebase.
func (d *Drill) Plant(good Record, fault, of string, chance uint64) (Record, error) {
	i := slices.IndexFunc(table, func(k kind) bool { return k.name == fault })
	if i < 0 {
		return Record{}, sysexit.With(sysexit.Usage, fmt.Errorf("plant %q: there is no such fault", fault))
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", fault, chance) // a hash never fails
	s := &subject{
		Drill: d, ret: copied(good.Return), rng: rand.New(rand.NewPCG(uint64(d.Seed), h.Sum64())),
		mark: draft.Drill{Fault: fault, Of: of, Decidable: true, Seed: d.Seed},
	}
	s.targets = d.targets(s.ret.EvidenceRefs)
	if err := table[i].plant(s); err != nil {
		return Record{}, fmt.Errorf("plant %s: %w", fault, err)
	}
	s.ret.Drill = &s.mark
	good.Return = s.ret
	return good, nil
}

// copied is a return whose parts can be changed.
func copied(r *draft.Return) *draft.Return {
	ret := *r
	ret.EvidenceRefs = slices.Clone(r.EvidenceRefs)
	ret.OpenQuestions = slices.Clone(r.OpenQuestions)
	if r.ProposedTriageFile != nil {
		file := *r.ProposedTriageFile
		ret.ProposedTriageFile = &file
	}
	return &ret
}

func (d *Drill) write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return sysexit.With(sysexit.Software, fmt.Errorf("write return: %w", err))
	}
	if _, err := d.Out.Write(append(line, '\n')); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write return: %w", err))
	}
	return nil
}

// subject is a return into which a fault is being planted.
type subject struct {
	*Drill
	ret     *draft.Return
	targets []target
	rng     *rand.Rand
	mark    draft.Drill
}

// target is a reference of the return that points at lines of the codebase.
type target struct {
	index int
	place evidence.Place
	lines []string // of the file
}

func (d *Drill) targets(refs []draft.Ref) []target {
	var out []target
	for i, ref := range refs {
		if ref.Kind != draft.KindFile {
			continue
		}
		p, err := evidence.Parse(ref.Ref)
		if err != nil {
			continue
		}
		if lines := d.lines(p.Path, ref); lines != nil && p.End <= len(lines) {
			out = append(out, target{i, p, lines})
		}
	}
	return out
}

// lines are those of a file of the codebase, nil where it cannot be cited.
func (d *Drill) lines(name string, ref draft.Ref) []string {
	if have, ok := d.files[name]; ok {
		return have
	}
	// Resolve, for the bytes alone: what it finds of the reference is the
	// validator's to say.
	ref.Receipt, ref.Quote = nil, ""
	f := evidence.Resolve(d.Root, evidence.Repo{}, ref)
	var lines []string
	if f.Text != "" {
		lines = split(f.Text)
	}
	if d.files == nil {
		d.files = map[string][]string{}
	}
	d.files[name] = lines
	return lines
}

func split(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// cited are the lines that t points at, and those up to around beside them.
func (t target) cited(around int) string {
	if t.place.Start == 0 {
		return ""
	}
	return strings.Join(t.lines[max(t.place.Start-1-around, 0):min(t.place.End+around, len(t.lines))], "\n")
}

// did says what was changed, and where.
func (s *subject) did(what string, where ...string) {
	s.mark.What, s.mark.Where = what, strings.Join(where, ", ")
}

// noPlace says why a fault cannot be planted.
func noPlace(why string) error { return fmt.Errorf("%w: %s", ErrNoPlace, why) }

// pick is one of a list, of the half that the drill draws from.
func pick[T any](s *subject, list []T) T {
	if s.Half == 0 || len(list) < 2 {
		return list[s.rng.IntN(len(list))]
	}
	n := (len(list) + 2 - s.Half) / 2
	return list[2*s.rng.IntN(n)+s.Half-1]
}

// shuffled is a list in an order of chance.
func shuffled[T any](s *subject, list []T) []T {
	out := slices.Clone(list)
	s.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
