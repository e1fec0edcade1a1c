package fsck

import (
	"bytes"
	"runtime"
	"slices"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/shape"
	"tri/lib/report/history"
)

// The log of events, and those that stages derive from it, line by line: a line of
// theirs begins as the one with its seq does there, or is at least much like it.
const eventsLog = "events.ndjson"

var derivedLogs = []struct{ name, schema string }{
	{"events-threaded.ndjson", "event"},
	{"events-classified.ndjson", "classified-event"},
}

// streams adds jobs for the log of events and what is derived from it, a part of all
// of them each.
func streams(j *jobs, h *durable.Home) error {
	cuts, err := history.Parts(h, eventsLog, 0, -1, 4*runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	logs := []stretch{{name: eventsLog, schema: "event", cuts: cuts}}
	for _, l := range derivedLogs {
		if !h.Exists(l.name) {
			continue
		}
		its, err := history.PartsBySeq(h, l.name, cuts)
		if err != nil {
			return err
		}
		logs = append(logs, stretch{l.name, l.schema, its})
	}
	for i := range len(cuts) - 1 {
		var fs []*Finding
		for _, l := range logs {
			fs = append(fs, j.finding(l.name))
		}
		j.do = append(j.do, func() error { return sideBySide(h, logs, i, fs) })
	}
	return nil
}

// stretch is a log in parts.
type stretch struct {
	name, schema string
	cuts         []int64
}

// follower is a part of a log that is read beside another's.
type follower struct {
	*part
	lineChecker
	more bool // there is a line
}

// sideBySide checks part i of the log of events, and with each event what was derived
// from it.
func sideBySide(h *durable.Home, logs []stretch, i int, fs []*Finding) error {
	events, err := shape.Load(logs[0].schema)
	if err != nil {
		return err
	}
	var all []*follower
	defer func() {
		for _, f := range all {
			f.close()
		}
	}()
	for n, l := range logs {
		s := events
		if n > 0 {
			if s, err = events.Derive(l.schema); err != nil {
				return err
			}
		}
		p, err := openPart(h, l.name, l.cuts[i], l.cuts[i+1])
		if err != nil {
			return err
		}
		all = append(all, &follower{part: p, lineChecker: lineChecker{shape: s, f: fs[n]}})
	}
	log := all[0]
	for _, f := range all[1:] {
		f.more = f.next()
	}
	for log.next() {
		err := log.check(log.line, nil)
		right := err == nil
		if right {
			err = stands(log.scan.Members, log.at)
		}
		log.note(log.line, err)
		for _, f := range all[1:] {
			f.upTo(log.at, right, &log.scan)
		}
	}
	for n, f := range all {
		f.rest()
		if fs[n].Torn = f.torn; f.err != nil {
			return f.err
		}
	}
	return nil
}

// upTo checks the lines up to those of the event at seq, which is right or not.
func (f *follower) upTo(seq int64, right bool, event *ndjson.Scanner) {
	for ; f.more; f.more = f.next() {
		from := (*ndjson.Scanner)(nil)
		switch at := seqOf(f.line); {
		case at > seq:
			return
		case at == seq && right:
			from = event
		}
		f.note(f.line, f.check(f.line, from))
	}
}

// rest checks what is left.
func (f *follower) rest() {
	for ; f.more; f.more = f.next() {
		f.note(f.line, f.check(f.line, nil))
	}
}

// seqOf is the seq with which a line begins, as ours do; -1 for any other line.
func seqOf(l line) int64 {
	number, ours := bytes.CutPrefix(l.bytes, []byte(`{"seq":`))
	n := slices.Index(number[:min(len(number), 20)], ',')
	if !ours || n < 0 {
		return -1
	}
	return ndjson.Seq(number[:n])
}
