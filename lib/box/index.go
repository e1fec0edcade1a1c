package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"tri/lib/draft"
	"tri/lib/prompt"
	"tri/lib/run"
	"tri/lib/sysexit"
)

// Entry is a line of INDEX.jsonl: a run has come to a status.
type Entry struct {
	At      string       `json:"at"` // RFC 3339
	RunName string       `json:"run_name"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Task    string       `json:"task"`
	Agent   string       `json:"agent"`
	Failure *run.Failure `json:"failure,omitempty"`
	Usage   *draft.Usage `json:"usage,omitempty"`
}

const (
	ledgerName = "INDEX.jsonl"
	indexName  = "INDEX.md"
	maxIndexed = 100 // runs in INDEX.md
)

// State reads state.json of a run. Its writer replaces it whole, so that there
// always is one.
func (b *Box) State(run_ string) (run.State, error) {
	var s run.State
	name := "runs/" + run_ + "/state.json"
	text, err := b.home.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", name, err))
	}
	return s, nil
}

// enter makes a run's status known: a line in the ledger, the links that it
// concerns, and the page for people. So does it for every other run that a killed
// process did not get to.
func (b *Box) enter(name string) error {
	return b.locked(context.Background(), "index.lock", func() error {
		log, err := b.home.OpenLog(ledgerName)
		if err != nil {
			return err
		}
		defer log.Close()
		unsaid, err := b.unsaid(log.File())
		if err != nil || name == "" && len(unsaid) == 0 {
			return errors.Join(err, b.show())
		}
		if name != "" && !slices.Contains(unsaid, name) {
			unsaid = append(unsaid, name)
		}
		if _, err := log.Append(func(int64) ([]byte, error) { return b.lines(unsaid) }); err != nil {
			return err
		}
		return b.show(unsaid...)
	})
}

func (b *Box) lines(names []string) ([]byte, error) {
	var lines []byte
	for _, n := range names {
		line, err := b.line(n)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line...)
	}
	return lines, nil
}

func (b *Box) line(name string) ([]byte, error) {
	m, err := b.Meta(name)
	if err != nil {
		return nil, err
	}
	s, err := b.State(name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(Entry{At: stamp(b.Now()), RunName: name, Type: m.Type, Status: s.Status, Task: prompt.Cut(m.Task, 500), Agent: m.Agent, Failure: s.Failure, Usage: s.Usage})
	return append(text, '\n'), err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// show puts the links right that runs concern, and then INDEX.md. The index's lock
// is held.
func (b *Box) show(changed ...string) error {
	for _, name := range changed {
		s, err := b.State(name)
		if err == nil {
			err = b.pointTo(name, s.Status)
		}
		if err != nil {
			return err
		}
	}
	page, err := b.page()
	if err != nil {
		return err
	}
	if old, err := b.home.ReadFile(indexName); err == nil && bytes.Equal(old, page) {
		return nil
	}
	return b.home.Replace(indexName, page)
}

// pointTo has the link that goes with a status lead to a run.
func (b *Box) pointTo(name, status string) error {
	switch status {
	case run.Active:
		return b.point("latest", name)
	case run.Crashed, run.Stalled:
		return b.point("last-fail", name)
	}
	return nil
}

// page is INDEX.md. It changes only when a status does, so that an old one shows
// that somebody was killed before it was written.
func (b *Box) page() ([]byte, error) {
	runs, err := b.recent(maxIndexed)
	if err != nil {
		return nil, err
	}
	var p bytes.Buffer
	p.WriteString("# Runs, the newest first\n\n| started (UTC) | status | type | task | took | cost | run |\n|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		took, cost := "", ""
		if r.State.Status != run.Active {
			took, cost = r.took(time.Time{}), costOf(r.State.Usage)
		}
		status := r.State.Status
		if f := r.State.Failure; f != nil && (status == run.Crashed || status == run.Stalled) {
			status += ": " + f.Kind
		}
		fmt.Fprintf(&p, "| %s | %s | %s | %s | %s | %s | [%s](runs/%s/) |\n",
			inCell(r.started().Format("01-02 15:04")), inCell(status), r.Meta.Type, inCell(oneLine(r.Meta.Task, 80)), took, cost, r.Meta.RunName, r.Meta.RunName)
	}
	return p.Bytes(), nil
}

// inCell is outside text as words in a table of Markdown: no cell, link, code or
// HTML comes of it.
func inCell(s string) string {
	var b strings.Builder
	for _, r := range draft.Visible(s) {
		if r < unicode.MaxASCII && unicode.IsPunct(r) && !strings.ContainsRune(".,:;?'\"%@/-", r) || strings.ContainsRune("|<>`~^$+=", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if rs := []rune(s); len(rs) > n {
		s = string(rs[:n-1]) + "…"
	}
	return s
}

// maxSaid is how much of the ledger's end is read, in bytes: what a killed process
// did not get to write would stand there.
const maxSaid = 256 << 10

// unsaid are the runs whose last line in the ledger says another status than they
// have.
func (b *Box) unsaid(ledger *os.File) ([]string, error) {
	said, since, err := saidIn(ledger)
	if err != nil {
		return nil, err
	}
	names, err := b.names()
	if err != nil {
		return nil, err
	}
	var unsaid []string
	for _, n := range names {
		s, err := b.State(n)
		if err != nil {
			continue // it cannot be read, and Sweep has said so
		}
		at := timeOf(&s.StartedAt)
		if end := timeOf(s.EndedAt); end.After(at) {
			at = end
		}
		// One from before the lines that were read has its own before them.
		if was, ok := said[n]; ok && was != s.Status || !ok && !at.Before(since) {
			unsaid = append(unsaid, n)
		}
	}
	return unsaid, nil
}

// saidIn is the last status of each run in the end of the ledger, which begins at
// since; the zero time where that is all of it.
func saidIn(ledger *os.File) (said map[string]string, since time.Time, err error) {
	info, err := ledger.Stat()
	if err != nil {
		return nil, since, sysexit.With(sysexit.IO, err)
	}
	from := max(0, info.Size()-maxSaid)
	text, err := io.ReadAll(io.NewSectionReader(ledger, from, maxSaid))
	if err != nil {
		return nil, since, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", ledgerName, err))
	}
	said = map[string]string{}
	for line := range bytes.Lines(text) {
		var e Entry
		if json.Unmarshal(line, &e) != nil {
			continue // the first may be cut, the last torn
		}
		if from > 0 && len(said) == 0 {
			since = timeOf(&e.At)
		}
		said[e.RunName] = e.Status
	}
	return said, since, nil
}
