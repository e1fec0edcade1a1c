package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// A Printer writes parts of a memory for people, or as records.
type Printer struct {
	*View
	Out  io.Writer
	JSON bool
}

// List writes a line for each entry, oldest first, cut to the terminal.
func (p *Printer) List() error {
	all, err := p.All()
	return errors.Join(err, write(p, all, list))
}

// Show writes everything about an entry.
func (p *Printer) Show(id string) error {
	s, err := p.Find(id)
	if err != nil {
		return err
	}
	return write(p, []Shown{s}, entries)
}

// maxQuestion is the most that is read of a question, in bytes.
const maxQuestion = 1 << 16

// Recalled writes what an investigation of a question would be given; see Recall. An empty question is read
// from in.
func (p *Printer) Recalled(ctx context.Context, folder, platform, chat, question string, in io.Reader) error {
	if question == "" {
		b, err := io.ReadAll(io.LimitReader(in, maxQuestion))
		if err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("read the question: %w", err))
		}
		question = string(b)
	}
	best, err := p.Recall(ctx, folder, platform, chat, question)
	return errors.Join(err, write(p, best, entries))
}

// Verify writes the entries that would be used if their cited lines had not changed, each with what changed.
// It returns how many entries there are, and how many of them it wrote.
func (p *Printer) Verify() (n, gone int, err error) {
	all, err := p.All()
	if err != nil {
		return 0, 0, err
	}
	changed := Gone(all)
	return len(all), len(changed), write(p, changed, list)
}

// Themes writes a line for each theme.
func (p *Printer) Themes() error {
	all, err := p.All()
	return errors.Join(err, write(p, Themes(all), themes))
}

// export writes the used entries as Markdown.
func (p *Printer) Export() error {
	all, err := p.All()
	if err != nil {
		return err
	}
	return export(p.Out, all)
}

func write[T any](p *Printer, all []T, print func(io.Writer, []T) error) error {
	if !p.JSON {
		return print(p.Out, all)
	}
	return ndjson.Write(p.Out, all...)
}

func list(w io.Writer, all []Shown) error {
	var rows [][]string
	for _, s := range all {
		about := text.Line(cmp.Or(s.Question, s.Text), 80)
		rows = append(rows, []string{s.ID[2:8], day(s.At), s.Source,
			text.Line(cmp.Or(s.Out, s.State), 0), about})
	}
	return term.Columns(w, rows, term.Width(w))
}

func themes(w io.Writer, all []Theme) error {
	var rows [][]string
	for _, t := range all {
		rows = append(rows, []string{
			fmt.Sprintf("%d entries on %d days", len(t.IDs), len(t.Days)),
			text.Line(strings.Join(t.Words, " "), 200), strings.Join(t.IDs, " "),
		})
	}
	return term.Columns(w, rows, term.Width(w))
}

func entries(w io.Writer, all []Shown) error {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s  %s by %s on %s, %s\n", s.ID, s.Source, text.Line(strings.Join(s.By, ", "), 0),
			day(s.At), s.Category)
		if s.Used {
			fmt.Fprintf(&b, "used: its cited lines are %s\n", s.State)
		} else {
			fmt.Fprintf(&b, "not used: %s\n", text.Line(cmp.Or(s.Out, s.Why, s.Source+", "+s.Category), 0))
		}
		if s.Key != "" {
			fmt.Fprintf(&b, "thread %s; tri-report thread shows it\n", text.Line(s.Key, 0))
		}
		if s.Question != "" {
			fmt.Fprintf(&b, "\n  %s\n", indented(s.Question))
		}
		fmt.Fprintf(&b, "\n  %s\n\n", indented(s.Text))
		for _, r := range s.Refs {
			fmt.Fprintf(&b, "%s\n", text.Line(r.Ref, 0))
		}
		if s.Why != "" {
			fmt.Fprintf(&b, "%s\n", text.Line(s.Why, 0))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func indented(s string) string { return strings.ReplaceAll(text.Visible(s), "\n", "\n  ") }

// day returns the date of a time in RFC 3339.
func day(at string) string { return at[:min(10, len(at))] }
