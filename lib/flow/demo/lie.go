package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// lie plants a false citation in a good draft, and shows that it is caught.
func (d *demo) lie(ctx context.Context) error {
	d.title("3. A draft that cites lines which do not say so")
	threads, err := d.waiting()
	if err != nil {
		return err
	}
	good, err := firstReturn(threads)
	if err != nil {
		return err
	}
	if err := d.record("lie/good.ndjson", good); err != nil {
		return err
	}
	d.say("The first draft is honest. Now its first reference is made to say what it does not:")
	lying := plant(good)
	ref := lying.EvidenceRefs[0]
	d.say("    %s is now said to read", d.paint(bold, text.Line(ref.Ref, 80)))
	d.block(red, ref.Quote)
	if err := d.record("lie/planted.ndjson", lying); err != nil {
		return err
	}
	for _, file := range []string{"good", "planted"} {
		check := []string{"tri-validate", "--code-only", "--codebase", d.Codebase,
			d.path("lie/" + file + ".ndjson")}
		into := d.path("lie/" + file + "-verdict.ndjson")
		if _, err := d.run(ctx, pipe{steps: [][]string{check}, into: into,
			ok: []int{sysexit.No}}); err != nil {
			return err
		}
		if err := d.judge(into, file == "good"); err != nil {
			return err
		}
	}
	return d.drill(ctx)
}

// drill has tri-drill plant its own faults, and counts which are caught.
func (d *demo) drill(ctx context.Context) error {
	d.say("Three more false citations, planted by a program:")
	out, err := d.run(ctx, pipe{steps: [][]string{
		{"tri-drill", "--codebase", d.Codebase, "--faults", "bad_path,bad_line,bad_content",
			d.path("lie/good.ndjson")},
		{"tri-validate", "--code-only", "--codebase", d.Codebase},
		{"tri-drill", "--score", "--json"},
	}, ok: []int{sysexit.No}})
	if err != nil {
		return err
	}
	scores, err := decode[score]("tri-drill --score", out)
	if err != nil {
		return err
	}
	for _, s := range scores {
		for _, f := range s.Faults {
			if f.Caught != f.Planted {
				return sysexit.With(sysexit.Software,
					fmt.Errorf("%s: %d planted, %d caught", f.Fault, f.Planted, f.Caught))
			}
			d.say("  %-12s %d planted, %s", f.Fault, f.Planted,
				d.paint(green, fmt.Sprintf("%d caught", f.Caught)))
		}
	}
	return nil
}

// score is the part of tri-drill's count that the demo reads.
type score struct {
	Faults []struct {
		Fault   string `json:"fault"`
		Planted int    `json:"planted"`
		Caught  int    `json:"caught"`
	} `json:"faults"`
}

// plant returns a copy of a good return in which only the quote, claim and receipt of the first reference
// are changed.
func plant(good *draft.Return) *draft.Return {
	bad := *good
	bad.EvidenceRefs = append(bad.EvidenceRefs[:0:0], bad.EvidenceRefs...)
	ref := &bad.EvidenceRefs[0]
	ref.Quote = "\treturn nil // whatever happens, all is well"
	ref.SupportsClaim = "Whatever happens, all is well."
	ref.Receipt = nil
	return &bad
}

// judge shows a verdict, and checks that it is the expected one.
func (d *demo) judge(file string, pass bool) error {
	verdicts, err := read[verdict.Verdict](file)
	if err != nil {
		return err
	}
	if len(verdicts) != 1 || (verdicts[0].Verdict == verdict.Pass) != pass {
		return sysexit.With(sysexit.Software, fmt.Errorf("%s: not the verdict that it should be", file))
	}
	v := verdicts[0]
	if pass {
		d.say("  the honest draft: %s", d.paint(green, v.Verdict))
		return nil
	}
	d.say("  the false draft: %s", d.paint(red, v.Verdict))
	d.say("  its false reference: %s, %s", d.paint(bold, text.Line(v.SpotCheckRef, 80)),
		d.paint(red, v.SpotCheckResult))
	d.block(faint, v.SpotCheckNote)
	return nil
}

func firstReturn(threads []thread.Thread) (*draft.Return, error) {
	for _, t := range threads {
		if r := t.InvestigatorReturn; r != nil && len(r.EvidenceRefs) > 0 {
			return r, nil
		}
	}
	return nil, sysexit.Hint(sysexit.With(sysexit.NoInput, errors.New("no draft has evidence")),
		"the questions are about the code of tri: name its checkout with --codebase")
}

// record writes one record to a file.
func (d *demo) record(name string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return sysexit.With(sysexit.IO, d.write(name, string(line)+"\n"))
}
