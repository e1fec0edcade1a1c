package box

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// enter makes a run's status known: a line in the ledger, the page for people, and
// the links that it concerns.
func (b *Box) enter(name string) error {
	return b.ledger(func() ([]byte, error) { return b.line(name) }, name)
}

// ledger appends what lines gives, and puts page and links right, all under the
// ledger's lock. begun is a run that has just begun, or "".
func (b *Box) ledger(lines func() ([]byte, error), entered string) error {
	log, err := b.home.OpenLog(ledgerName)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = log.Append(func(int64) ([]byte, error) {
		text, err := lines()
		if err != nil {
			return nil, err
		}
		return text, b.show(entered)
	})
	return err
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

// show writes INDEX.md and the links. The ledger's lock is held.
func (b *Box) show(entered string) error {
	page, err := b.page()
	if err != nil {
		return err
	}
	if old, err := b.home.ReadFile(indexName); err != nil || !bytes.Equal(old, page) {
		if err := b.home.Replace(indexName, page); err != nil {
			return err
		}
	}
	if entered == "" {
		return nil
	}
	s, err := b.State(entered)
	if err != nil {
		return err
	}
	switch s.Status {
	case run.Active:
		return b.point("latest", entered)
	case run.Crashed, run.Stalled:
		return b.point("last-fail", entered)
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

// mend puts ledger, page and links right where a process was killed before it
// could: that shows in the page, which is written last.
func (b *Box) mend() error {
	page, err := b.page()
	if err != nil {
		return err
	}
	if old, err := b.home.ReadFile(indexName); err == nil && bytes.Equal(old, page) {
		return nil
	}
	return b.ledger(b.missing, "")
}

// missing are lines for the runs whose last line in the ledger says another status
// than they have.
func (b *Box) missing() ([]byte, error) {
	said, err := b.said()
	if err != nil {
		return nil, err
	}
	runs, err := b.recent(0)
	if err != nil {
		return nil, err
	}
	var lines []byte
	for _, r := range slices.Backward(runs) {
		if said[r.Meta.RunName] == r.State.Status {
			continue
		}
		line, err := b.line(r.Meta.RunName)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line...)
		word := map[string]string{run.Active: "latest", run.Crashed: "last-fail", run.Stalled: "last-fail"}[r.State.Status]
		if word != "" {
			if err := b.point(word, r.Meta.RunName); err != nil {
				return nil, err
			}
		}
	}
	return lines, nil
}

// said is the last status of each run in the ledger.
func (b *Box) said() (map[string]string, error) {
	f, err := b.home.Root().Open(ledgerName)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", ledgerName, err))
	}
	said := map[string]string{}
	for line := range bytes.Lines(text) {
		var e Entry
		if json.Unmarshal(line, &e) == nil { // a broken line says nothing
			said[e.RunName] = e.Status
		}
	}
	return said, nil
}
