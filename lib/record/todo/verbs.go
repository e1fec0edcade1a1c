package todo

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// Desk is a person at a terminal who looks at the lists, or changes them.
type Desk struct {
	Home *durable.Home
	By   string
	May  bool // By may change them
	JSON bool // write records
	Now  func() time.Time
	Out  io.Writer
}

// Do carries out a command of a desk: nothing or "list" shows the open entries of all people, "add" adds an entry, "done"
// and "undo" change the one whose id begins with the next word.
func Do(d Desk, args []string) error {
	if len(args) == 0 || args[0] == "list" && len(args) == 1 {
		l, err := Read(d.Home)
		if err != nil {
			return err
		}
		return d.show(l.Open(""))
	}
	words := strings.TrimSpace(strings.Join(args[1:], " "))
	if words == "" {
		return sysexit.With(sysexit.Usage, fmt.Errorf("todo %s: it needs a text or an id", args[0]))
	}
	if !d.May {
		return sysexit.With(sysexit.NoPerm, fmt.Errorf("todo %s: %q is not in team.approvers", args[0], d.By))
	}
	line := Line{At: text.Timestamp(d.Now()), By: d.By}
	switch args[0] {
	case "add":
		line.Kind, line.ID, line.Text = Add, ID(line.At+" "+d.By+" "+words), words
	case "done", "undo":
		if line.Kind = Done; args[0] == "undo" {
			line.Kind = Undone
		}
		e, err := d.find(words)
		if err != nil {
			return err
		}
		line.ID = e.ID
	default:
		return sysexit.With(sysexit.Usage, fmt.Errorf("todo %q: there are list, add, done and undo", args[0]))
	}
	l, err := Append(d.Home, line)
	if err != nil {
		return err
	}
	return d.show([]Entry{*l.Get(line.ID)})
}

func (d *Desk) find(word string) (found Entry, err error) {
	l, err := Read(d.Home)
	if err != nil {
		return found, err
	}
	n := 0
	for _, e := range l.Entries {
		if text.Names(word, e.ID) || text.Names("t-"+word, e.ID) {
			found, n = e, n+1
		}
	}
	switch {
	case n == 0:
		err = sysexit.With(sysexit.NoInput, fmt.Errorf("no entry is called %q", word))
	case n > 1:
		err = sysexit.With(sysexit.Usage, fmt.Errorf("%q are %d entries", word, n))
	}
	return found, err
}

func (d *Desk) show(entries []Entry) error {
	if d.JSON {
		enc := json.NewEncoder(d.Out)
		enc.SetEscapeHTML(false)
		for _, e := range entries {
			if err := enc.Encode(e); err != nil {
				return sysexit.With(sysexit.IO, err)
			}
		}
		return nil
	}
	var rows [][]string
	for _, e := range entries {
		state := "open"
		if e.DoneAt != "" {
			state = "done"
		}
		due := "-"
		if at, err := time.Parse(time.RFC3339, e.Due); err == nil {
			due = at.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{e.ID, state, due, text.Line(e.By, 24), text.Line(e.Text, 160)})
	}
	width := 0
	if term.Is(d.Out) {
		width = term.Width(d.Out)
	}
	return sysexit.With(sysexit.IO, term.Columns(d.Out, rows, width))
}
