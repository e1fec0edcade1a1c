package sample

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// File is the log of labels in the home. It is append-only.
const File = "labels.ndjson"

// Labels of a message.
const (
	Opens   = "actionable" // it asks something new, which needs an answer
	Follows = "follow-up"  // it adds to what its writer has asked, and has to be read for the answer
	Nothing = "dropped"    // it needs no answer
	Skip    = "skip"       // cannot be decided
	Undo    = "undo"       // revokes the message's last label
)

// Label is one line of labels.ndjson: a person's label of a message, with the parameters of
// the sample, so that the estimate can be repeated.
type Label struct {
	At                string `json:"at"` // RFC 3339
	By                string `json:"by"`
	Platform          string `json:"platform"`
	ChatID            string `json:"chat_id"`
	MessageID         string `json:"message_id"`
	ClassifierVersion string `json:"classifier_version"`
	Classification    string `json:"classification"` // as the filter classified it
	Label             string `json:"label"`
	Seed              int64  `json:"seed"`  // of the random order
	Rank              int    `json:"rank"`  // in that order, from 1
	Frame             int    `json:"frame"` // how many messages the sample was drawn from
	Sample            int    `json:"sample"`
}

func (l *Label) key() string {
	return l.ClassifierVersion + "\x00" + l.Platform + "\x00" + l.ChatID + "\x00" + l.MessageID
}

// Labels are the valid labels, by version and message.
type Labels struct {
	all  map[string]Label
	last map[side]Label
}

// side names the messages that a version of the filter dropped, or took for actionable.
type side struct {
	version string
	asked   bool
}

// readLabels folds the log. If it does not exist, there are no labels.
func readLabels(h *durable.Home) (*Labels, error) {
	ls := &Labels{all: map[string]Label{}, last: map[side]Label{}}
	b, err := h.ReadFile(File)
	if errors.Is(err, fs.ErrNotExist) {
		return ls, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read labels: %w", err))
	}
	text := string(b)
	text = text[:strings.LastIndexByte(text, '\n')+1] // an incomplete last line was never acknowledged
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var l Label
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, sysexit.With(sysexit.Data, fmt.Errorf("%s:%d: %w", File, i+1, err))
		}
		ls.add(l)
	}
	return ls, nil
}

func (ls *Labels) add(l Label) {
	ls.last[side{l.ClassifierVersion, !dropped(l.Classification)}] = l
	if l.Label == Undo {
		delete(ls.all, l.key())
		return
	}
	ls.all[l.key()] = l
}

// keep makes a label durable before it counts.
func (ls *Labels) keep(h *durable.Home, l Label) error {
	if err := durable.Append(h, File, l); err != nil {
		return err
	}
	ls.add(l)
	return nil
}

// of returns the label of a message for a version of the filter.
func (ls *Labels) of(version string, d *drop) (Label, bool) {
	l, ok := ls.all[(&Label{ClassifierVersion: version, Platform: d.platform, ChatID: d.chat,
		MessageID: d.message}).key()]
	return l, ok
}

// version returns the version of the filter whose messages were labelled last, "" if there is no label.
func (ls *Labels) version() string {
	var newest Label
	for _, l := range ls.last {
		if l.At > newest.At {
			newest = l
		}
	}
	return newest.ClassifierVersion
}
