// Package faults measures the validator: it plants known faults into good returns and counts which
// ones the verdicts catch.
//
// Every planted fault is verified: before it is written, the changed return is checked against the
// codebase, and a place where it would not be wrong is skipped. The change is described only in the
// record's drill mark, which the validator copies into its verdict without reading it.
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
	// Half, 1 or 2, restricts phrases and secrets to that half of the lists, so that the other half can
	// be withheld from those who tune the checks; 0 uses all.
	Half       int
	TeamSecret string // stands for a secret of the team; "": none is planted
	Out        io.Writer
	Say        func(format string, args ...any)

	words *words              // of the codebase, read on first use
	files map[string][]string // lines of its files, by path
}

// Record is a return with the fields of its record; key and message_id are passed through.
type Record struct {
	Key       string `json:"key,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	// Others are the conclusions of other open threads, for the judge of the return.
	Others []Other `json:"others,omitempty"`
	*draft.Return
}

// Other is an open thread and its conclusion.
type Other struct {
	Key     string `json:"key"`
	Summary string `json:"summary"`
}

// Each writes each return, marked as good, followed by one copy for each kind of fault with that
// fault planted. For a return without a place for some kinds, it reports these and the reason.
func (d *Drill) Each(ctx context.Context, in stream.Input) error {
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		var good Record
		if err := json.Unmarshal(rec.Bytes, &good); err != nil {
			return stream.Refuse("%w", err)
		}
		if good.Return == nil || good.DraftReply == "" {
			return stream.Refuse("is not a return: it has no draft_reply")
		}
		return d.one(good, fmt.Sprintf("%s:%d", rec.Source, rec.Line), rec.Line)
	})
	return err
}

// kinds returns the faults to plant.
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
		why := ""
		if len(good.EvidenceRefs) > 0 && len(d.targets(good.EvidenceRefs)) == 0 {
			why = "; none of the lines that it cites is in the folder: --codebase names another"
		}
		d.Say("%s: no place to plant %s%s", of, strings.Join(passed, " "), why)
	}
	return ndjson.Write(d.Out, all...)
}

// Good returns the record of the return without a fault.
func (d *Drill) Good(good Record, of string) Record {
	ret := *good.Return
	ret.Drill = &draft.Drill{Fault: None, Of: of, Seed: d.Seed}
	good.Return = &ret
	return good
}

// ErrNoPlace means that a kind of fault cannot be planted in a return.
var ErrNoPlace = errors.New("no place")

// Plant returns a copy of a good return with one fault. The result depends only on the seed, the
// kind of fault, chance and the return. It returns ErrNoPlace, with the reason, if the fault cannot
// be planted; other errors are of reading the codebase.
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

// copied returns a deep copy of a return.
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

// subject is a return into which a fault is planted.
type subject struct {
	*Drill
	ret     *draft.Return
	targets []target
	rng     *rand.Rand
	mark    draft.Drill
}

// target is a reference of the return to lines of the codebase.
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

// lines returns the lines of a file of the codebase, nil if it cannot be cited.
func (d *Drill) lines(name string, ref draft.Ref) []string {
	if have, ok := d.files[name]; ok {
		return have
	}
	// Resolve is used only to read the file: judging the reference is up to the validator.
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

// cited returns the lines that t refers to, and around more on each side.
func (t target) cited(around int) string {
	if t.place.Start == 0 {
		return ""
	}
	return strings.Join(t.lines[max(t.place.Start-1-around, 0):min(t.place.End+around, len(t.lines))], "\n")
}

// did records what was changed, and where.
func (s *subject) did(what string, where ...string) {
	s.mark.What, s.mark.Where = what, strings.Join(where, ", ")
}

// noPlace returns why a fault cannot be planted.
func noPlace(why string) error { return fmt.Errorf("%w: %s", ErrNoPlace, why) }

// pick returns a random element of a list, from the half that the drill uses.
func pick[T any](s *subject, list []T) T {
	if s.Half == 0 || len(list) < 2 {
		return list[s.rng.IntN(len(list))]
	}
	n := (len(list) + 2 - s.Half) / 2
	return list[2*s.rng.IntN(n)+s.Half-1]
}

// shuffled returns a list in random order.
func shuffled[T any](s *subject, list []T) []T {
	out := slices.Clone(list)
	s.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
