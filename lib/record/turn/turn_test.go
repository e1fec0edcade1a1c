package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/stream/streamtest"
)

// line is an event: who says it, in which thread ("-": none), at which second, and a mark of an edit or a
// deletion.
func line(id, who, thread string, at int, more string) string {
	root := `"` + thread + `"`
	if thread == "-" {
		root = "null"
	}
	return fmt.Sprintf(`{"platform":"irc","chat_id":"#dev","chat_name":"dev","message_id":%q,"create_time":%q,"msg_type":"text","content":"x","thread_id":%s,%s"sender":{"id":%q,"type":"user"},"mentions":[]}`+"\n",
		id, time.Unix(int64(at), 0).UTC().Format(time.RFC3339), root, more, who)
}

func filter(t *testing.T, st stream.Stage[Event], text string) string {
	t.Helper()
	var out bytes.Buffer
	in := stream.Input{Stdin: strings.NewReader(text), After: -1, Say: t.Logf}
	if _, err := stream.Run(context.Background(), in, stream.Output{Stdout: &out}, st); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var story = line("1", "ana", "-", 0, "") +
	line("2", "ana", "1", 5, "") +
	line("3", "ben", "-", 6, "") + // another conversation: nobody else in hers
	line("4", "ana", "1", 7, "") +
	line("5", "ben", "1", 8, "") +
	line("6", "ana", "1", 9, "") +
	line("7", "ana", "1", 189, "") +
	line("8", "ana", "1", 490, "") +
	line("2", "ana", "1", 5, `"edited_at":"1970-01-01T00:05:00Z",`) +
	line("4", "ana", "1", 7, `"deleted":true,`) +
	line("99", "ana", "1", 7, `"edit_id":"e","edited_at":"1970-01-01T00:05:00Z",`) +
	line("9", "ana", "1", 200, "") + // time runs backwards
	line("10", "ana", "3", 201, "")

func TestPlaces(t *testing.T) {
	var got []string
	for l := range strings.Lines(filter(t, Stage(), story)) {
		var p struct {
			MessageID string `json:"message_id"`
			Place
		}
		if err := json.Unmarshal([]byte(l), &p); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(p.MessageID, " ", p.ID, " ", p.N, " ", p.Why))
	}
	want := strings.Split("1 1 1 begins,2 1 2 same-person,3 3 1 begins,4 1 3 same-person,5 5 1 answered-between,6 6 1 answered-between,"+
		"7 6 2 same-person,8 8 1 too-late,2 1 0 change,4 1 0 change,99 99 0 change,9 8 2 same-person,10 10 1 answered-between", ",")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAlone: in a room without threads a message of somebody to whom nobody speaks may be an answer, but not
// at once.
func TestAlone(t *testing.T) {
	inferred := `"thread_inferred":"same-words",`
	ben := line("3", "ben", "-", 10, "")
	for _, tt := range []struct {
		name, between, more string
		at                  int
		want                string
	}{
		{"later", ben, inferred, 60, Answered},
		{"soon", ben, inferred, 40, SamePerson},
		{"the platform's thread", ben, "", 60, SamePerson},
		{"nobody", "", inferred, 60, SamePerson},
		{"before her last", ben + line("4", "ana", "1", 20, inferred), inferred, 70, SamePerson},
		{"herself", line("3", "ana", "-", 10, ""), inferred, 60, SamePerson},
		{"in a thread of the platform", line("3", "ben", "t", 10, ""), inferred, 60, SamePerson},
		{"in another conversation", line("3", "cyd", "-", 9, "") + line("4", "ben", "3", 10, inferred) +
			line("5", "cyd", "3", 11, inferred), inferred, 60, Answered}, // by cyd's first message
	} {
		out := filter(t, Stage(), line("1", "ana", "-", 0, "")+line("2", "ana", "1", 5, inferred)+tt.between+
			line("9", "ana", "1", tt.at, tt.more))
		lines := strings.Split(strings.TrimSpace(out), "\n")
		var p Place
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &p); err != nil || p.Why != tt.want {
			t.Errorf("%s: %+v, want %s, %v", tt.name, p, tt.want, err)
		}
	}
}

func TestClosed(t *testing.T) {
	stage, end := Lines()
	out := filter(t, stage, story)
	rest, err := end()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for l := range strings.Lines(out + string(rest)) {
		var c Closed
		if err := json.Unmarshal([]byte(l), &c); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(c.Sender.ID, " ", c.ThreadID, " ", c.MessageIDs, " ", c.Closed))
	}
	want := []string{
		"ana 1 [1 2 4] answered", "ben 1 [5] answered", "ana 1 [6 7] too-late", "ben 3 [3] too-late",
		"ana 1 [8 9] end", "ana 3 [10] end",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// stretch is a log of n messages, a few people and conversations, with times that jump and run backwards,
// duplicates, and one person who speaks alone for a long time.
func stretch(n int, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var b []byte
	at := 1000
	for i := range n {
		id, who, thread, more := fmt.Sprint(i), fmt.Sprintf("u%d", rnd.IntN(3)),
			fmt.Sprint("r", rnd.IntN(4)), ""
		solo := i/8000%2 == 1
		switch at += rnd.IntN(20); rnd.IntN(40) {
		case 0:
			if !solo {
				at += 300
			}
		case 1:
			at -= 500
		case 2:
			id = fmt.Sprint(max(0, i-rnd.IntN(9000)))
			more = `"edit_id":"e",`
		case 3:
			id = fmt.Sprint(max(0, i-rnd.IntN(9000))) // said again, under the same id
		case 4:
			thread = "-"
		}
		if solo || rnd.IntN(3) == 0 {
			who, thread = "solo", "alone"
		}
		if more == "" && rnd.IntN(2) == 0 {
			more = `"thread_inferred":"same-words",`
		}
		l := line(id, who, thread, max(0, at), more)
		b = append(fmt.Appendf(b, `{"seq":%d,`, len(b)), l[1:]...)
	}
	return b
}

// TestWindow: a reader who starts anywhere agrees, a Window later, with one who read all.
func TestWindow(t *testing.T) {
	log := stretch(60_000, 1)
	if len(log) < 3*Window {
		t.Fatal("the log is too short")
	}
	type at struct {
		seq int64
		m   Message
		p   Place
	}
	var all []at
	scan := new(ndjson.Scanner)
	f := NewFold()
	cut, before := 0, Place{}
	for l := range bytes.Lines(log) {
		l = bytes.TrimSuffix(l, []byte("\n"))
		if err := scan.Scan(l); err != nil {
			t.Fatal(err)
		}
		var e Event
		rec := ndjson.Record{Bytes: l, Members: scan.Members, Seq: ndjson.Seq(scan.Members[0].Value)}
		if err := prepare(rec, &e); err != nil {
			t.Fatal(err)
		}
		p := f.Add(e.at, e.message)
		if before.N > 1000 && p.Why == Begins && e.message.Sender == "solo" {
			cut++
		}
		before = p
		all = append(all, at{e.at, e.message, p})
	}
	if cut < 3 {
		t.Errorf("%d long turns are cut: the period is not tested", cut)
	}
	if most := len(f.convs) + len(f.turns) + len(f.spoke) + len(f.said); most > 4*period/150 {
		t.Errorf("it remembers %d things", most)
	}
	for _, from := range []int{1, 500, 3999, 4001, 9_000, 17_777, 20_000} {
		f := NewFold()
		for _, a := range all[from:] {
			if p := f.Add(a.seq, a.m); a.seq-all[from].seq >= Window && p != a.p {
				t.Fatalf("from %d, at %d: %+v, want %+v", from, a.seq, p, a.p)
			}
		}
	}
}

// TestKilled: what a killed tri-turn leaves behind is, in the end, what one undisturbed run writes.
func TestKilled(t *testing.T) {
	log := stretch(40_000, 3)
	got, want := streamtest.Killed(t, "tri-turn", log)
	if len(log) < Window*5/4 || bytes.Count(want, []byte(`"turn_why":"same-person"`)) < 5_000 {
		t.Error("hardly anything is continued: the window is not tested")
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d lines, want %d, or others", bytes.Count(got, []byte("\n")),
			bytes.Count(want, []byte("\n")))
	}
}

// FuzzSplice: a record with the fields is valid, keeps its own bytes, and is itself the next time.
func FuzzSplice(f *testing.F) {
	f.Add(strings.TrimSuffix(line("1", "ana", "-", 0, `"turn_n":3,"turn_id":"x",`), "\n"))
	f.Add(`{"turn_why":1,"turn_id":"x","platform":"a","chat_id":"b","message_id":"c","create_time":"2026-01-01T00:00:00Z","sender":{"id":"d"} , "turn_n" : 2 }`)
	f.Fuzz(func(t *testing.T, text string) {
		once, ok := spliced(text)
		if !ok {
			return
		}
		if err := ndjson.Check(once); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		again, ok := spliced(string(once))
		if !ok || !bytes.Equal(once, again) {
			t.Errorf("%s\nagain: %s", once, again)
		}
		if !strings.Contains(text, "turn_") && !bytes.HasPrefix(once,
			[]byte(strings.TrimRight(text, " \t\r}"))) {
			t.Errorf("%s: changes %s", once, text)
		}
	})
}

func spliced(text string) ([]byte, bool) {
	scan := new(ndjson.Scanner)
	if strings.Contains(text, "\n") || scan.Scan([]byte(text)) != nil {
		return nil, false
	}
	var e Event
	if prepare(ndjson.Record{Bytes: []byte(text), Members: scan.Members, Seq: -1}, &e) != nil {
		return nil, false
	}
	st := Stage()
	b, err := st.Emit(nil, &e)
	return bytes.TrimSuffix(b, []byte("\n")), err == nil
}

// TestResumedAnywhere: wherever a run ended, the next one says what an undisturbed run says.
func TestResumedAnywhere(t *testing.T) {
	streamtest.Resumed(t, streamtest.Room(1500, 20<<10), 29, Window, Stage, bytes.Clone)
}
