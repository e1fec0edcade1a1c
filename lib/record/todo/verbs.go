package todo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/decision"
)

// Command is what a person at a terminal looks at the lists with, or changes them.
type Command struct {
	Home   *durable.Home
	By     string
	Policy decision.Policy
	// Decide appends a decision of the kind todo: what becomes of the entry of an id, and its text.
	Decide func(id, act, text string) error
	JSON   bool // write records
	Now    func() time.Time
	Out    io.Writer
}

// Do carries out a command: nothing or "list" shows the open entries of all people, "add"
// adds an entry, "done" and "undo" change the one whose id begins with the next word.
func Do(d Command, args []string) error {
	if len(args) == 0 || args[0] == "list" && len(args) == 1 {
		l, err := d.list()
		if err != nil {
			return err
		}
		return d.show(l.Open(""))
	}
	words := strings.TrimSpace(strings.Join(args[1:], " "))
	if words == "" {
		return sysexit.With(sysexit.Usage, fmt.Errorf("todo %s: it needs a text or an id", args[0]))
	}
	kind, ok := map[string]string{"add": Add, "done": Done, "undo": Undone}[args[0]]
	if !ok {
		return sysexit.With(sysexit.Usage, fmt.Errorf("todo %q: there are list, add, done and undo", args[0]))
	}
	id, said := ID(text.Timestamp(d.Now())+" "+d.By+" "+words), words
	if kind != Add {
		e, err := d.find(words)
		if err != nil {
			return err
		}
		id, said = e.ID, ""
	}
	if err := d.Decide(id, kind, said); err != nil {
		return err
	}
	l, err := d.list()
	if err != nil {
		return err
	}
	e := l.Get(id)
	if e == nil {
		return sysexit.With(sysexit.Data, fmt.Errorf("todo %s: %s has no entry %s", args[0], Name, id))
	}
	return d.show([]Entry{*e})
}

// list returns the lists with the decisions that tri-dispatch has still to carry out.
func (d *Command) list() (*List, error) {
	l, err := Read(d.Home)
	if err != nil {
		return nil, err
	}
	_, err = decision.Fold(d.Home, d.Policy, func(r *decision.Record, counts bool, _ string) {
		if line := Of(r); counts && r.Kind == decision.Todo && l.changes(line) {
			l.apply(line)
		}
	})
	return l, err
}

func (d *Command) find(word string) (found Entry, err error) {
	l, err := d.list()
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

func (d *Command) show(entries []Entry) error {
	if d.JSON {
		return ndjson.Write(d.Out, entries...)
	}
	missed, err := (&List{Entries: entries}).Missed(d.Home, d.Now())
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range entries {
		state := "open"
		if e.DoneAt != "" {
			state = "done"
		}
		said := text.Line(e.Text, 160)
		if why := missed[e.ID]; why != "" {
			state, said = "missed", said+" (not shown: "+text.Line(why, 80)+")"
		}
		due := "-"
		if at, err := time.Parse(time.RFC3339, e.Due); err == nil {
			due = at.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{e.ID, state, due, text.Line(e.By, 24), said})
	}
	width := 0
	if term.Is(d.Out) {
		width = term.Width(d.Out)
	}
	return sysexit.With(sysexit.IO, term.Columns(d.Out, rows, width))
}
