// Package fsck checks a home's files against their schemas, chains, journal and approvals. It
// changes nothing.
package fsck

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/record/decision"
	"tri/lib/record/discussion"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/todo"

	"github.com/tidwall/gjson"
)

// Finding is the result for one part of the home.
type Finding struct {
	What    string `json:"what"`    // a file or folder of the home
	Records int    `json:"records"` // number of records checked
	Bad     int    `json:"bad"`
	// Problems are the first faulty records, with the reasons.
	Problems []string `json:"problems,omitempty"`
	// Torn is the number of bytes after the last newline: a write that was interrupted or is in
	// progress. They were never acknowledged.
	Torn int64  `json:"torn,omitempty"`
	Note string `json:"note,omitempty"`
}

// Report is the result of a check of the home.
type Report struct {
	Findings []Finding `json:"findings"`
	OK       bool      `json:"ok"`
}

// maxProblems is the maximum number of Problems for each part.
const maxProblems = 5

// logs are the logs of a home with the schemas of their lines, the longest first.
var logs = []struct {
	name, schema string
	also         func(line) error // checks a record further; may be nil
}{
	{"events.ndjson", "event", offset},
	{"events-threaded.ndjson", "event", nil},
	{"events-turns.ndjson", "event", nil},
	{"events-classified.ndjson", "classified-event", nil},
	{"replies.ndjson", "reply", nil},
	{"spend.ndjson", "spend", nil},
	{todo.Name, "todo", nil},
	{"labels.ndjson", "label", nil},
	{"drills.ndjson", "drill", nil},
	{"actions.ndjson", "action", nil},
	{"voice.ndjson", "voice", nil},
	{discussion.LogName, "discussion", nil},
	{"memory.ndjson", "memory", nil},
}

// Home checks the whole home. It returns an error only if the check itself fails; faults of the
// home are in the report.
func Home(h *durable.Home) (*Report, error) {
	j := &jobs{}
	j.add("decisions.ndjson", func(f *Finding) error { return decisions(h, f) })
	t := newThreads(h)
	for i := range t.parts {
		j.add(journal.Name, func(f *Finding) error { return t.fold(i, f) })
	}
	for _, l := range logs {
		if !h.Exists(l.name) {
			continue
		}
		if err := split(j, h, l.name, l.schema, l.also); err != nil {
			return nil, err
		}
	}
	approved := sync.OnceValues(func() (map[string]claim, error) { return claims(h) })
	withClaims := func(what string, check func(map[string]claim, *Finding) error) {
		j.add(what, func(f *Finding) error {
			all, err := approved()
			if err != nil {
				return err
			}
			return check(all, f)
		})
	}
	for _, dir := range []string{outbox.Dir, outbox.Done} {
		withClaims(dir, func(all map[string]claim, f *Finding) error { return posts(h, dir, all, f) })
	}
	j.add("runs", func(f *Finding) error { return runs(h, f) })
	withClaims("replies and their approvals", func(all map[string]claim, f *Finding) error {
		return approvals(h, all, f)
	})
	j.add("marks", func(f *Finding) error { return sealed(h, f) })
	if err := sums(j, h); err != nil {
		return nil, err
	}
	err := j.run()
	r := &Report{Findings: merge(j.findings), OK: true}
	for _, f := range r.Findings {
		r.OK = r.OK && f.Bad == 0
	}
	return r, err
}

// jobs run in parallel and start in the order in which they are added, long ones first. Each has
// its own finding.
type jobs struct {
	do       []func() error
	findings []*Finding
}

func (j *jobs) add(what string, do func(*Finding) error) {
	f := j.finding(what)
	j.do = append(j.do, func() error { return do(f) })
}

func (j *jobs) finding(what string) *Finding {
	f := &Finding{What: what}
	j.findings = append(j.findings, f)
	return f
}

func (j *jobs) run() error {
	var wg sync.WaitGroup
	var taken atomic.Int64
	errs := make([]error, len(j.do))
	for range max(2, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := taken.Add(1) - 1; i < int64(len(j.do)); i = taken.Add(1) - 1 {
				errs[i] = j.do[i]()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// merge combines the findings of the parts of one file and drops files that do not exist.
func merge(all []*Finding) []Finding {
	out := []Finding{}
	for _, f := range all {
		i := slices.IndexFunc(out, func(o Finding) bool { return o.What == f.What })
		if i < 0 {
			out = append(out, *f)
			continue
		}
		o := &out[i]
		o.Records, o.Bad, o.Torn = o.Records+f.Records, o.Bad+f.Bad, max(o.Torn, f.Torn)
		o.Problems = append(o.Problems, f.Problems[:min(len(f.Problems), maxProblems-len(o.Problems))]...)
		o.Note = cmp.Or(o.Note, f.Note)
	}
	return slices.DeleteFunc(out, func(f Finding) bool {
		return f.Records == 0 && f.Bad == 0 && f.Torn == 0 && f.Note == ""
	})
}

func (f *Finding) bad(where string, err error) {
	f.Bad++
	if len(f.Problems) < maxProblems {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", where, err))
	}
}

// decisions checks the chain and the schema of each record. The chain is not checked after a broken
// link: every later record would be reported.
func decisions(h *durable.Home, f *Finding) error {
	head, err := decision.ReadHead(h)
	if err != nil {
		f.bad(decision.HeadName, err)
	}
	var chain decision.Chain
	broken := false
	var size int64
	err = piece(h, decision.LogName, "decision", 0, -1, f, func(l line) error {
		size = l.at + int64(len(l.bytes)) + 1
		if broken {
			return nil
		}
		err := chain.Link(l.bytes)
		if err == nil {
			n, last := chain.Last()
			err = head.At(n, last)
		}
		broken = err != nil
		return err
	})
	n, last := chain.Last()
	if err := head.End(n, last, size); !broken && err != nil {
		f.bad("the end", err)
		broken = true
	}
	if !broken && n > 0 {
		f.Note = fmt.Sprintf("the chain holds; record %d is %.16s", n, last)
	}
	return err
}

// piece checks the lines of a part of a log, and calls also, if not nil, for those that are valid
// records.
func piece(h *durable.Home, name, schema string, from, until int64, f *Finding, also func(line) error) error {
	s, err := loadSchema(schema)
	if err != nil {
		return err
	}
	c := lineChecker{schema: s, f: f}
	f.Torn, err = lines(h, name, from, until, func(l line) {
		err := c.check(l)
		if also != nil && !l.long {
			err = errors.Join(err, also(l))
		}
		c.note(l, err)
	})
	return err
}

// lineChecker validates the lines of a log against a schema.
type lineChecker struct {
	scan   ndjson.Scanner
	schema schema
	f      *Finding
}

// check returns the first fault of a line.
func (c *lineChecker) check(l line) error {
	c.f.Records++
	if l.long {
		return fmt.Errorf("longer than %d bytes", ndjson.MaxLine)
	}
	if err := c.scan.Scan(l.bytes); err != nil {
		return err
	}
	return c.schema.check(l.bytes)
}

func (c *lineChecker) note(l line, err error) {
	if err != nil {
		c.f.bad(fmt.Sprintf("byte %d", l.at), err)
	}
}

// offset checks that an event's seq is the offset of its line.
func offset(l line) error {
	seq := gjson.GetBytes(l.bytes, "seq")
	if !seq.Exists() {
		return errors.New("seq is missing")
	}
	if seq := ndjson.Seq([]byte(seq.Raw)); seq != l.at {
		return fmt.Errorf("its seq is %d: the log was cut or put together", seq)
	}
	return nil
}
