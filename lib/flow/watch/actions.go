package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// ActionsName is the file in the home to which clicks and reactions are appended.
const ActionsName = "actions.ndjson"

// maxActions is how many of the newest actions are remembered, to recognize one that a platform delivers
// twice.
const maxActions = 10_000

// actions is actions.ndjson. The file is opened at the first action, since most homes have none.
type actions struct {
	home *durable.Home

	mu   sync.Mutex
	log  *durable.Log
	seen map[string]bool
	ring []string // the contents of seen, oldest first from index at
	at   int
}

func openActions(h *durable.Home) (*actions, error) {
	a := &actions{home: h, seen: map[string]bool{}}
	if !h.Exists(ActionsName) {
		return a, nil
	}
	return a, a.open()
}

func (a *actions) open() (err error) {
	if a.log, err = a.home.OpenLog(ActionsName); err != nil {
		return err
	}
	// A torn tail was never acknowledged: it is cut before it is taken for known.
	size, err := a.log.Write(func(int64) ([]byte, error) { return nil, nil })
	if err != nil {
		return err
	}
	r := ndjson.NewReader(io.NewSectionReader(a.log.File(), 0, size), ActionsName, 0, 0)
	var b ndjson.Batch
	for {
		if err := r.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", ActionsName, err))
		}
		for i := range b.Lines {
			var x event.Action
			if json.Unmarshal(b.Lines[i].Bytes, &x) == nil {
				a.know(identityOf(&x))
			}
		}
	}
}

func identityOf(x *event.Action) string { return x.Platform + "\x00" + x.ID }

func (a *actions) know(id string) {
	if len(a.ring) < maxActions {
		a.ring = append(a.ring, id)
	} else {
		delete(a.seen, a.ring[a.at])
		a.ring[a.at] = id
		a.at = (a.at + 1) % maxActions
	}
	a.seen[id] = true
}

// keep appends an action durably, unless it is already there.
func (a *actions) keep(x event.Action) error {
	if x.ID == "" || x.Platform == "" {
		return sysexit.With(sysexit.Software, errors.New("action without an id or a platform"))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.log == nil {
		if err := a.open(); err != nil {
			return err
		}
	}
	if a.seen[identityOf(&x)] {
		return nil
	}
	line, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("keep action %q: %w", x.ID, err)
	}
	if len(line) >= ndjson.MaxLine {
		return nil // longer than any line that readers accept
	}
	if _, err := a.log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil }); err != nil {
		return err
	}
	a.know(identityOf(&x))
	return nil
}

// Close closes the file.
func (a *actions) Close() error {
	if a.log == nil {
		return nil
	}
	return a.log.Close()
}
