package box

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Entry is a line of INDEX.jsonl: a run changed to a status.
type Entry struct {
	At        string       `json:"at"` // RFC 3339
	RunName   string       `json:"run_name"`
	Type      string       `json:"type"`
	Status    string       `json:"status"`
	Task      string       `json:"task"`
	Agent     string       `json:"agent"`
	StartedAt string       `json:"started_at"`
	EndedAt   *string      `json:"ended_at"`
	Failure   *run.Failure `json:"failure,omitempty"`
	Usage     *draft.Usage `json:"usage,omitempty"`
}

const (
	ledgerName = "INDEX.jsonl"
	indexName  = "INDEX.md"
	maxIndexed = 100       // runs in INDEX.md
	maxLedger  = 512 << 10 // bytes at the end of the ledger read for INDEX.md
)

// State reads state.json of a run. Its owner replaces the file atomically, so it always exists.
func (b *Box) State(name string) (run.State, error) { return run.LoadState(b.dir(name)) }

// enter publishes a run's status: it appends a line to the ledger, unless the run's last line says the
// same, sets the link for the status, and writes INDEX.md. It is idempotent.
func (b *Box) enter(name string) error {
	return b.locked(context.Background(), "index.lock", func() error {
		log, err := b.home.OpenLog(ledgerName)
		if err != nil {
			return err
		}
		defer log.Close()
		said, err := entries(log.File())
		if err != nil {
			return err
		}
		now, err := b.entry(name)
		if err != nil {
			return err
		}
		if said[name].Status != now.Status {
			if _, err := log.Append(func(int64) ([]byte, error) { return line(now) }); err != nil {
				return err
			}
			said[name] = *now
		}
		if err := b.pointTo(name, now.Status); err != nil {
			return err
		}
		page := pageOf(said)
		if old, err := b.home.ReadFile(indexName); err == nil && bytes.Equal(old, page) {
			return nil
		}
		return b.home.Swap(indexName, page)
	})
}

func (b *Box) entry(name string) (*Entry, error) {
	r, err := b.Run(name)
	if err != nil {
		return nil, err
	}
	s := &r.State
	return &Entry{At: stamp(b.Now()), RunName: name, Type: r.Meta.Type, Status: s.Status,
		Task: prompt.Cut(r.Meta.Task, 500), Agent: r.Meta.Agent,
		StartedAt: s.StartedAt, EndedAt: s.EndedAt, Failure: s.Failure, Usage: s.Usage}, nil
}

func line(e *Entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", ledgerName, err)
	}
	return append(text, '\n'), nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// entries returns the last entry of each run in the final maxLedger bytes of the ledger.
func entries(ledger *os.File) (map[string]Entry, error) {
	info, err := ledger.Stat()
	if err != nil {
		return nil, sysexit.With(sysexit.IO, err)
	}
	text, err := io.ReadAll(io.NewSectionReader(ledger, max(0, info.Size()-maxLedger), maxLedger))
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", ledgerName, err))
	}
	said := map[string]Entry{}
	for line := range bytes.Lines(text) {
		var e Entry
		if json.Unmarshal(line, &e) == nil { // the first line may be cut, the last torn
			said[e.RunName] = e
		}
	}
	return said, nil
}

// pointTo sets the link for a status, if it has one, to a run.
func (b *Box) pointTo(name, status string) error {
	switch status {
	case run.Active:
		return b.point("latest", name)
	case run.Crashed, run.Stalled:
		return b.point("last-fail", name)
	}
	return nil
}

// pageOf returns the content of INDEX.md.
func pageOf(said map[string]Entry) []byte {
	all := slices.SortedFunc(maps.Values(said), func(x, y Entry) int {
		return cmp.Or(strings.Compare(y.StartedAt, x.StartedAt), strings.Compare(y.RunName, x.RunName))
	})
	var p bytes.Buffer
	p.WriteString("# Runs, the newest first\n\n| started (UTC) | status | type | task | took | cost | run |\n|---|---|---|---|---|---|---|\n")
	for _, e := range all[:min(len(all), maxIndexed)] {
		status := e.Status
		if f := e.Failure; f != nil && (status == run.Crashed || status == run.Stalled) {
			status += ": " + f.Kind
		}
		took := ""
		if e.EndedAt != nil {
			took = between(timeOf(&e.StartedAt), timeOf(e.EndedAt))
		}
		fmt.Fprintf(&p, "| %s | %s | %s | %s | %s | %s | [%s](runs/%s/) |\n",
			timeOf(&e.StartedAt).Format("01-02 15:04"), inCell(status), inCell(e.Type),
			inCell(text.Line(e.Task, 80)), took, costOf(e.Usage), inCell(e.RunName), e.RunName)
	}
	return p.Bytes()
}

// inCell escapes outside text for a cell of a Markdown table: it cannot form a cell border, link, code or
// HTML comment.
func inCell(s string) string {
	var b strings.Builder
	for _, r := range text.Visible(s) {
		if strings.ContainsRune("\\|`*[]()<>{}#!~^$&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
