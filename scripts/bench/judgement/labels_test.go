package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tri/lib/record/event"
)

func TestReadLabels(t *testing.T) {
	for name, c := range map[string]struct{ text, err string }{
		"good":         {"a\t1\t0\t1\ttechnical_qa\nb\t0\t0\t0\t-\n", ""},
		"short":        {"a\t1\t0\t1\t-\nb\t1\n", "room.tuned.tsv:2: 2 fields, want 5"},
		"long":         {"a\t1\t0\t1\t-\textra\n", "room.tuned.tsv:1: 6 fields, want 5"},
		"empty line":   {"a\t1\t0\t1\t-\n\n", "room.tuned.tsv:2: 1 fields, want 5"},
		"not a bit":    {"a\tyes\t0\t1\t-\n", `room.tuned.tsv:1: "yes" is neither 0 nor 1`},
		"unknown type": {"a\t1\t0\t1\triddle\n", `room.tuned.tsv:1: "riddle" is not a question type`},
		"no id":        {"\t1\t0\t1\t-\n", "room.tuned.tsv:1: the message has no id"},
		"twice": {"a\t1\t0\t1\t-\na\t0\t0\t1\t-\n",
			`room.tuned.tsv:2: message "a" is labelled twice`},
		"type is empty": {"a\t1\t0\t1\t\n", `room.tuned.tsv:1: "" is not a question type`},
	} {
		path := filepath.Join(t.TempDir(), "room.tuned.tsv")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		labels, err := readLabels(path)
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)):
			t.Errorf("%s: %v, want %s", name, err, c.err)
		case c.err == "":
			want := label{"a", true, false, true, "technical_qa"}
			if len(labels) != 2 || labels[0] != want || labels[1] != (label{id: "b"}) {
				t.Errorf("%s: %+v", name, labels)
			}
		}
	}
}

func TestLabelledRooms(t *testing.T) {
	dir := t.TempDir()
	if _, err := labelledRooms(dir); err == nil {
		t.Error("a folder without labels is taken")
	}
	stray := filepath.Join(dir, "room.half.tsv")
	if err := os.WriteFile(stray, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := labelledRooms(dir); err == nil || !strings.Contains(err.Error(), stray) {
		t.Errorf("a file of neither half: %v", err)
	}
}

// TestFurtherLabels: those of another reader join the tuned half, and a room
// that has none yet gets one.
func TestFurtherLabels(t *testing.T) {
	dir := t.TempDir()
	for name, id := range map[string]string{"a.0.tuned.tsv": "1", "a.0.tuned2.tsv": "2",
		"a.0.untouched.tsv": "3", "b.tuned2.tsv": "4"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(id+"\t0\t0\t0\t-\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rooms, err := labelledRooms(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []room{
		{"a.0", "tuned", []label{{id: "1"}, {id: "2"}}},
		{"a.0", "untouched", []label{{id: "3"}}},
		{"b", "tuned", []label{{id: "4"}}},
	}
	if !reflect.DeepEqual(rooms, want) {
		t.Errorf("rooms are %+v, want %+v", rooms, want)
	}
}

func TestPick(t *testing.T) {
	here := map[string]*event.Classified{"a": {}}
	if _, err := pick(room{"chat", "tuned", []label{{id: "a"}}}, here); err != nil {
		t.Error(err)
	}
	_, err := pick(room{"chat", "tuned", []label{{id: "a"}, {id: "gone"}}}, here)
	if err == nil || err.Error() != `labels of chat, tuned: there is no message "gone"` {
		t.Errorf("a label of no message: %v", err)
	}
}

// TestLabels reads the labels that are kept: each of a message once, in one half
// only, and what opens something is something.
func TestLabels(t *testing.T) {
	var rooms []room
	for _, dir := range []string{"data/labels", "data/labels/slack", "data/labels/openings"} {
		some, err := labelledRooms(dir)
		if err != nil {
			t.Fatal(err)
		}
		rooms = append(rooms, some...)
	}
	halfOf := map[string]string{}
	for _, r := range rooms {
		for _, l := range r.labels {
			if other := halfOf[l.id]; other != "" {
				t.Errorf("%s is both %s and %s", l.id, other, r.half)
			}
			halfOf[l.id] = r.half
			if l.kind != "" && !l.actionable || l.ack && l.question {
				t.Errorf("%s: %+v contradicts itself", l.id, l)
			}
		}
	}
	if len(halfOf) < 1000 {
		t.Errorf("%d labels", len(halfOf))
	}
}

func TestKappa(t *testing.T) {
	var a agreement
	for _, pair := range [][2]bool{{true, true}, {true, true}, {true, false}, {false, false}, {false, false},
		{false, true}} {
		a.add(pair[0], pair[1])
	}
	if k := a.kappa(); k < 0.33 || k > 0.34 { // 4 of 6 alike, 3 of 6 by chance
		t.Errorf("kappa %v of %+v", k, a)
	}
}
