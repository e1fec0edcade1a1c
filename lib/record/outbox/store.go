package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Dir holds the entries that are under way; those of settled drafts are moved to
// Done below it, so that the folder which everyone lists stays small.
const (
	Dir  = "outbox"
	Done = "outbox/done"
)

// Save makes e durable.
func (e *Entry) Save(h *durable.Home) error {
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("write post %q: %w", e.ID, err)
	}
	return h.Replace(e.path(), append(b, '\n'))
}

func (e *Entry) path() string { return Dir + "/" + e.ID + ".json" }

// Remove takes away an entry of which nothing was ever posted.
func (e *Entry) Remove(h *durable.Home) error { return h.Remove(e.path()) }

// Finish moves e to Done.
func (e *Entry) Finish(h *durable.Home) error { return h.Move(e.path(), Done+"/"+e.ID+".json") }

// Open lists the entries under way. One that cannot be read is an error: to go on
// without it could post it again. One that is finished or taken away meanwhile is not.
func Open(h *durable.Home) ([]*Entry, error) {
	names, err := h.List(Dir)
	if err != nil {
		return nil, err
	}
	var all []*Entry
	for _, name := range names {
		id, ok := strings.CutSuffix(name, ".json")
		if !ok {
			continue
		}
		b, err := h.ReadFile(Dir + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, sysexit.With(sysexit.IO, fmt.Errorf("read post %q: %w", name, err))
		}
		e := new(Entry)
		if err := json.Unmarshal(b, e); err != nil {
			return nil, sysexit.With(sysexit.Data, fmt.Errorf("read post %q: %w", name, err))
		}
		if e.ID != id || e.ID != ID(e.Key, e.Cycle, e.DraftSHA256, e.Part) || e.Part < 1 || e.Part > e.Parts {
			return nil, sysexit.With(sysexit.Data, fmt.Errorf("read post %q: it is of another post", name))
		}
		all = append(all, e)
	}
	return all, nil
}
