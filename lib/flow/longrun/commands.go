package longrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// Commands are the subcommands of tri-escalate, with their output.
type Commands struct {
	*Manager
	In  io.Reader
	Out io.Writer
	Say func(format string, args ...any)
	By  string
}

// Start starts a long run for a thread, unless one is running, and prints its record. rubric, if given, is
// a file with the requirements on its answer.
func (c *Commands) Start(t *thread.Thread, rubric string) error {
	id, begun, err := c.Next(t.Key)
	if err != nil {
		return err
	}
	if rubric != "" {
		text, err := os.ReadFile(rubric)
		if err != nil {
			return err
		}
		t.Rubric = strings.TrimSpace(string(text))
	}
	if begun {
		c.Say("%s is under way already: %s", t.Key, id)
	}
	r := Request{Order: run.Order{RunID: id, By: c.By}, Thread: t, Hints: []thread.Hint{}}
	fits, err := c.settleEnded(&r)
	if err != nil {
		return err
	}
	if !fits {
		c.Say("today's budget has no room for it; it starts anyway, as you asked")
	}
	if _, err := c.Begin(r); err != nil {
		return err
	}
	e, err := c.entry(id)
	if err != nil {
		return err
	}
	c.Say("tri-escalate attach %s shows it live", id)
	return ndjson.Write(c.Out, e)
}

// Thread returns the thread that a person names: by key one that tri-dispatch knows, otherwise the one in
// the record on standard input, or the one that the record starts.
func (c *Commands) Thread(keys []string, parse func(line []byte) (*thread.Thread,
	error)) (*thread.Thread, error) {
	if len(keys) > 0 {
		t, err := thread.Load(c.Home, keys[0])
		if err == nil && t == nil {
			err = sysexit.Hint(fmt.Errorf("no thread %q: %w", keys[0], fs.ErrNotExist),
				"tri-report why MESSAGE names a message's thread; without a key, a record on standard input begins one")
		}
		return t, err
	}
	line, err := io.ReadAll(io.LimitReader(c.In, ndjson.MaxLine+1))
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read record: %w", err))
	}
	line = bytes.TrimSpace(line)
	if err := ndjson.Check(line); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read record: %w", err))
	}
	t, err := parse(line)
	if err == nil && t == nil {
		err = errors.New("it asks nothing")
	}
	if err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read record: %w", err))
	}
	return t, nil
}

// Show lists all runs: as columns on a terminal, otherwise as records.
func (c *Commands) Show() error {
	all, unread := c.List()
	if len(all) == 0 && unread == nil {
		c.Say("there is none yet; tri-escalate start starts one")
	}
	if !term.Is(c.Out) {
		return errors.Join(ndjson.Write(c.Out, all...), unread)
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	for _, e := range all {
		at, _ := time.Parse(time.RFC3339, e.At) // the zero time has an age too
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.RunID, e.Status, term.Age(at, c.Now()), e.Key,
			text.Visible(e.Doing))
	}
	return errors.Join(sysexit.With(sysexit.IO, w.Flush()), unread)
}

// Ended prints those runs that have ended, of the named ones or of all. If none has, the error carries
// sysexit.No.
func (c *Commands) Ended(ctx context.Context, names []string, wait bool) error {
	var ids []string
	for _, name := range names {
		id, err := c.Resolve(name)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	told := 0
	err := c.Poll(ctx, ids, wait, func(x *run.Result) error {
		told++
		return ndjson.Write(c.Out, x)
	})
	if err == nil && told == 0 {
		err = sysexit.With(sysexit.No, errors.New("none has ended"))
	}
	return err
}

// End ends a run and prints its result.
func (c *Commands) End(ctx context.Context, name string) error {
	id, err := c.Resolve(name)
	if err != nil {
		return err
	}
	x, err := c.Kill(ctx, id, c.By)
	if err != nil {
		return err
	}
	return ndjson.Write(c.Out, x)
}

// Watch attaches to a run.
func (c *Commands) Watch(ctx context.Context, name string, write bool) error {
	id, err := c.Resolve(name)
	if err != nil {
		return err
	}
	return c.attach(ctx, id, write)
}
