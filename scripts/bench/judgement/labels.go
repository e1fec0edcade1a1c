package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/stream"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// label is what a person who read a message in its conversation says of it;
// data/GUIDELINES.md says what the words mean.
type label struct {
	id                        string
	question, ack, actionable bool
	kind                      string // question type of a message that opens something; else ""
}

var kinds = []string{thread.TechnicalQA, thread.StatusCheck, thread.DataLookup, thread.APIContract,
	thread.Other}

// readLabels reads a file of lines "id, question, ack, actionable, type",
// separated by tabs. An error names the file and the line.
func readLabels(path string) ([]label, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var labels []label
	seen := map[string]bool{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		l, err := parseLabel(lines.Text())
		if err == nil && seen[l.id] {
			err = fmt.Errorf("message %q is labelled twice", l.id)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		seen[l.id] = true
		labels = append(labels, l)
	}
	return labels, lines.Err()
}

func parseLabel(line string) (label, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 5 {
		return label{}, fmt.Errorf("%d fields, want 5", len(fields))
	}
	l := label{id: fields[0]}
	if l.id == "" {
		return label{}, fmt.Errorf("the message has no id")
	}
	for i, to := range []*bool{&l.question, &l.ack, &l.actionable} {
		switch fields[i+1] {
		case "0":
		case "1":
			*to = true
		default:
			return label{}, fmt.Errorf("%q is neither 0 nor 1", fields[i+1])
		}
	}
	if kind := fields[4]; kind != "-" {
		if !slices.Contains(kinds, kind) {
			return label{}, fmt.Errorf("%q is not a question type", kind)
		}
		l.kind = kind
	}
	return l, nil
}

// room is a chat and the labels of one half of its stretches.
type room struct {
	name, half string
	labels     []label
}

// labelHalves are what may be tuned on, and four times what may not: later labels
// are apart, since nobody had seen any figure of them.
var labelHalves = []string{"tuned", "untouched", "untouched2", "untouched3", "untouched8"}

// moreTuned end the names of files of further labels to tune on. They join those
// of the same room.
var moreTuned = []string{".tuned2", ".tuned3", ".tuned4", ".tuned5", ".tuned6", ".tuned7", ".tuned8"}

// labelledRooms reads all labels of a folder, tuned and untouched of a room one
// behind the other.
func labelledRooms(dir string) ([]room, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.tsv"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no labels in %s", dir)
	}
	var rooms []room
	for _, path := range paths {
		base := strings.TrimSuffix(filepath.Base(path), ".tsv")
		for _, more := range moreTuned {
			if name, ok := strings.CutSuffix(base, more); ok {
				base = name + ".tuned"
			}
		}
		dot := strings.LastIndexByte(base, '.')
		if dot < 0 || !slices.Contains(labelHalves, base[dot+1:]) {
			return nil, fmt.Errorf("%s: named neither tuned nor untouched", path)
		}
		labels, err := readLabels(path)
		if err != nil {
			return nil, err
		}
		rooms = join(rooms, room{base[:dot], base[dot+1:], labels})
	}
	return rooms, nil
}

// join adds a room, or its labels to the half that is there already.
func join(rooms []room, r room) []room {
	for i := range rooms {
		if rooms[i].name == r.name && rooms[i].half == r.half {
			rooms[i].labels = append(rooms[i].labels, r.labels...)
			return rooms
		}
	}
	return append(rooms, r)
}

// helpersOf reads who a room's helpers are, one id a line; nil when nobody wrote
// them down, as in a room of peers.
func helpersOf(data, name string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(data, "labels", name+".helpers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(text)), err
}

// loadRoom reads a room's messages from the folder of chat, or the folder slack beside it, without the
// threads that the corpus has from its annotators: such a room has none.
func loadRoom(chat, name string) ([]byte, error) {
	path := filepath.Join(chat, name+".ndjson")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(chat, "../slack", name+".ndjson")
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	var out []byte
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		fields["thread_id"] = json.RawMessage("null")
		bare, err := json.Marshal(fields)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		out = append(append(out, bare...), '\n')
	}
	return out, nil
}

// inThreads gives the messages of a room the threads that tri-thread guesses.
func inThreads(messages []byte) ([]byte, error) {
	var out bytes.Buffer
	_, err := stream.Run(context.Background(), stream.Input{Stdin: bytes.NewReader(messages), After: -1},
		stream.Output{Stdout: &out}, conversation.Stage())
	return out.Bytes(), err
}

// classified runs the filter over a whole room, in order, so that it remembers
// what it would, and returns what it says by message id.
func classified(messages []byte, helpers []string) (map[string]*event.Classified, error) {
	c, err := classify.New(classify.Options{Team: config.Team{Helpers: helpers}, Now: func() time.Time {
		return time.Unix(0, 0)
	}})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	in := stream.Input{Stdin: bytes.NewReader(messages), After: -1, Window: classify.Window}
	if _, err := stream.Run(context.Background(), in, stream.Output{Stdout: &out}, c.Stage()); err != nil {
		return nil, err
	}
	byID := map[string]*event.Classified{}
	for line := range bytes.Lines(out.Bytes()) {
		e := new(event.Classified)
		if err := json.Unmarshal(line, e); err != nil {
			return nil, err
		}
		byID[e.MessageID] = e
	}
	return byID, nil
}

// pick returns what stands for each label, in order. A label of a message that
// is not there is an error: the labels belong to another edition of the room.
func pick(r room, byID map[string]*event.Classified) ([]*event.Classified, error) {
	picked := make([]*event.Classified, len(r.labels))
	for i, l := range r.labels {
		if picked[i] = byID[l.id]; picked[i] == nil {
			return nil, fmt.Errorf("labels of %s, %s: there is no message %q", r.name, r.half, l.id)
		}
	}
	return picked, nil
}

// agreement compares a second reading of some messages with the first.
type agreement struct{ n, same, first, second int }

func (a *agreement) add(first, second bool) {
	a.n++
	for _, c := range []struct {
		is bool
		n  *int
	}{{first == second, &a.same}, {first, &a.first}, {second, &a.second}} {
		if c.is {
			*c.n++
		}
	}
}

// kappa is Cohen's: agreement beyond what two readers have by chance.
func (a *agreement) kappa() float64 {
	p, q := ratio(a.first, a.n), ratio(a.second, a.n)
	chance := p*q + (1-p)*(1-q)
	return (ratio(a.same, a.n) - chance) / (1 - chance)
}

// readAgain compares the labels of a folder below labels with the first reader's.
func readAgain(data, folder string, rooms []room) (question, ack, actionable agreement, err error) {
	first := map[string]label{}
	for _, r := range rooms {
		for _, l := range r.labels {
			first[l.id] = l
		}
	}
	paths, err := filepath.Glob(filepath.Join(data, "labels", folder, "*.tsv"))
	if err != nil {
		return question, ack, actionable, err
	}
	for _, path := range paths {
		labels, err := readLabels(path)
		if err != nil {
			return question, ack, actionable, err
		}
		for _, l := range labels {
			f, ok := first[l.id]
			if !ok {
				return question, ack, actionable,
					fmt.Errorf("%s: message %q was not labelled before", path, l.id)
			}
			question.add(f.question, l.question)
			ack.add(f.ack, l.ack)
			actionable.add(f.actionable, l.actionable)
		}
	}
	return question, ack, actionable, nil
}
