package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
)

// Dir holds the entries in progress. Those of settled drafts are moved to Done below it, so that
// the folder that programs list stays small.
const (
	Dir  = "outbox"
	Done = "outbox/done"
)

// Save makes e durable.
func (e *Entry) Save(h *durable.Home) error {
	b, err := e.encode()
	if err != nil {
		return fmt.Errorf("write post %q: %w", e.ID, err)
	}
	return h.Replace(e.path(), b)
}

// encode returns the content of e's file, with its sum.
func (e *Entry) encode() ([]byte, error) {
	e.Sum = ""
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	e.Sum = decision.Sum(string(b))
	b, err = json.MarshalIndent(e, "", "  ")
	return append(b, '\n'), err
}

func (e *Entry) path() string { return Dir + "/" + e.ID + ".json" }

// Remove deletes an entry of which nothing was ever posted.
func (e *Entry) Remove(h *durable.Home) error { return h.Remove(e.path()) }

// Finish moves e to Done. An entry already there stays.
func (e *Entry) Finish(h *durable.Home) error {
	done := Done + "/" + e.ID + ".json"
	if !h.Exists(e.path()) && h.Exists(done) {
		return nil
	}
	return h.Move(e.path(), done)
}

// Open lists the entries in progress. An unreadable entry is an error: skipping it could cause a
// second post. An entry finished or removed meanwhile is not an error.
func Open(h *durable.Home) ([]*Entry, error) {
	var first error
	all, err := Readable(h, func(_ string, err error) {
		if first == nil {
			first = err
		}
	})
	if err == nil {
		err = first
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Readable is Open for programs that do not post: it calls bad for each entry that is not as it
// was written, with its ID, and lists the others.
func Readable(h *durable.Home, bad func(id string, err error)) ([]*Entry, error) {
	names, err := h.List(Dir)
	if err != nil {
		return nil, err
	}
	var all []*Entry
	for _, name := range names {
		id, ours := strings.CutSuffix(name, ".json")
		if !ours {
			continue
		}
		e, err := Read(h, Dir, id)
		if status, _ := sysexit.Of(err); err != nil && status == sysexit.IO {
			return nil, err
		}
		if err != nil {
			bad(id, err)
		} else if e != nil {
			all = append(all, e)
		}
	}
	return all, nil
}

// Read returns the entry id in Dir or Done, nil if it does not exist.
func Read(h *durable.Home, dir, id string) (*Entry, error) {
	name := dir + "/" + id + ".json"
	b, err := h.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read post %q: %w", name, err))
	}
	e := new(Entry)
	if err := json.Unmarshal(b, e); err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read post %q: %w", name, err))
	}
	if e.ID != id || e.ID != ID(e.Key, e.Cycle, e.DraftSHA256, e.Part) || e.Part < 1 || e.Part > e.Parts {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read post %q: it belongs to another post", name))
	}
	if e.Sum != "" || e.Limit > 0 { // versions without sums have neither
		again := *e
		if want, err := again.encode(); err != nil || !bytes.Equal(b, want) {
			return nil, hinted(fmt.Errorf("read post %q: it was changed: its sum differs", name))
		}
	}
	return e, nil
}
