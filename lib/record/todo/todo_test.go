package todo

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/notify"
)

func home(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.MakeHome(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func add(t *testing.T, h *durable.Home, lines ...Line) *List {
	t.Helper()
	l := &List{}
	if err := l.Append(h, lines...); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAppend: what is there already is not appended again, and the fold of the file is what Append returned.
func TestAppend(t *testing.T) {
	h := home(t)
	milk := Line{ID: ID("m1"), At: "2026-01-01T00:00:00Z", Kind: Add, By: "local:ana", Text: "milk"}
	keys := Line{ID: ID("m2"), At: "2026-01-01T00:00:00Z", Kind: Add, By: "local:bo", Text: "rotate the keys",
		Due: "2026-01-02T09:00:00Z"}
	add(t, h, milk, milk, keys)
	add(t, h, milk)
	add(t, h, Line{ID: milk.ID, Kind: Done, At: "2026-01-01T01:00:00Z"}, Line{ID: "t-unknown", Kind: Done})
	add(t, h, Line{ID: milk.ID, Kind: Done, At: "2026-01-01T02:00:00Z"})
	got := add(t, h, Line{ID: keys.ID, Kind: Told}, Line{ID: keys.ID, Kind: Told})
	read, err := Read(h)
	if err != nil || len(read.Entries) != 2 || len(got.Entries) != 2 {
		t.Fatal(read, got, err)
	}
	if e := read.Entries[0]; e.DoneAt != "2026-01-01T01:00:00Z" || e.Text != "milk" ||
		read.Entries[1].Told != true {
		t.Errorf("%+v", read.Entries)
	}
	if b, _ := os.ReadFile(filepath.Join(h.Dir(), Name)); len(read.Open("")) != 1 ||
		read.off != int64(len(b)) {
		t.Errorf("%d bytes read of %d, %+v", read.off, len(b), read.Open(""))
	}
	if l := add(t, h, Line{ID: milk.ID, Kind: Undone}); len(l.Open("local:ana")) != 1 ||
		len(l.Open("local:bo")) != 1 {
		t.Errorf("%+v", l.Entries)
	}
}

// TestNoEffect: a decision without effect when it was carried out has none later either.
func TestNoEffect(t *testing.T) {
	h := home(t)
	undo := Line{ID: "t-1", Kind: Undone, N: 10}
	add(t, h, Line{ID: "t-1", Kind: Add, By: "a", Text: "x"}, undo)
	if l := add(t, h, Line{ID: "t-1", Kind: Done, At: "2026-01-01T00:00:00Z"}, undo); len(l.Open("a")) != 0 {
		t.Errorf("%+v", l.Entries)
	}
}

// TestTorn: half a line was never acknowledged; a line that is not a record is refused.
func TestTorn(t *testing.T) {
	h := home(t)
	add(t, h, Line{ID: "t-1", Kind: Add, By: "a", Text: "x"})
	file := filepath.Join(h.Dir(), Name)
	b, _ := os.ReadFile(file)
	if err := os.WriteFile(file, append(b, `{"id":"t-2","kind":"ad`...), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Read(h); err != nil || len(l.Entries) != 1 {
		t.Error(l, err)
	}
	if err := os.WriteFile(file, append(b, "no record\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(h); err == nil {
		t.Error("a line that is not a record was read")
	}
}

func TestDue(t *testing.T) {
	h := home(t)
	l := add(t, h,
		Line{ID: "t-1", Kind: Add, By: "a", Text: "past", Due: "2026-01-01T09:00:00+09:00"},
		Line{ID: "t-2", Kind: Add, By: "a", Text: "later", Due: "2026-01-01T02:00:00Z"},
		Line{ID: "t-3", Kind: Add, By: "a", Text: "told", Due: "2026-01-01T00:00:00Z"},
		Line{ID: "t-3", Kind: Told},
		Line{ID: "t-4", Kind: Add, By: "a", Text: "no time"})
	if due := l.Due(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)); len(due) != 1 || due[0].ID != "t-1" {
		t.Errorf("%+v", due)
	}
}

// TestMovedInOneBatch: what Append has applied is not applied again by the next Refresh.
func TestMovedInOneBatch(t *testing.T) {
	h := home(t)
	l := add(t, h, Line{ID: "t-1", Kind: Add, Text: "call", Due: "2026-01-01T09:00:00Z"})
	if err := l.Append(h, Line{ID: "t-1", Kind: Told},
		Line{ID: "t-1", Kind: Add, Text: "call", Due: "2026-01-02T09:00:00Z"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Refresh(h); err != nil || l.Get("t-1").Told {
		t.Errorf("told at its old time only: %+v, %v", l.Get("t-1"), err)
	}
}

// TestMissed: a reminder that the platform refused, or that was never asked for, is missed until it is done;
// one that was shown, or has just come due, is not.
func TestMissed(t *testing.T) {
	h := home(t)
	now := time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
	var lines []Line
	for _, id := range []string{"t-shown", "t-refused", "t-asked", "t-never", "t-late", "t-done"} {
		lines = append(lines, Line{ID: id, Kind: Add, By: "a", Text: "call " + id,
			Due: now.Add(-time.Hour).Format(time.RFC3339)})
	}
	lines[4].Due = now.Add(-time.Minute).Format(time.RFC3339)
	for _, id := range []string{"t-shown", "t-refused", "t-asked"} {
		lines = append(lines, Line{ID: id, Kind: Told})
	}
	l := add(t, h, append(lines, Line{ID: "t-done", Kind: Done, At: "2026-01-01T08:00:00Z"})...)
	if err := notify.Tell(h, notify.Done{ID: "due-t-shown", Outcome: notify.Shown},
		notify.Done{ID: "due-t-refused", Outcome: notify.Refused, Why: "not a member"}); err != nil {
		t.Fatal(err)
	}
	got, err := l.Missed(h, now)
	want := map[string]string{"t-refused": "not a member", "t-asked": "tri-reply has not answered",
		"t-never": "no gate.chat, or tri-dispatch does not run"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	var out strings.Builder
	desk := Command{Home: h, Now: func() time.Time { return now }, Out: &out}
	if err := Do(desk, nil); err != nil || strings.Count(out.String(), "missed") != 3 ||
		!strings.Contains(out.String(), "(not shown: not a member)") {
		t.Errorf("%v\n%s", err, out.String())
	}
	l.apply(Line{ID: "t-refused", Kind: Done, At: "2026-01-01T09:00:00Z"})
	if got, _ := l.Missed(h, now); got["t-refused"] != "" {
		t.Error("it is done")
	}
	l = add(t, h, Line{ID: "t-shown", Kind: Add, Text: "call",
		Due: now.Add(-5 * time.Minute).Format(time.RFC3339)}, Line{ID: "t-shown", Kind: Told})
	if got, _ := l.Missed(h, now); got["t-shown"] != "tri-reply has not answered" {
		t.Errorf("its time was changed after it was shown: %v", got)
	}
}

func TestMeant(t *testing.T) {
	h := home(t)
	l := add(t, h,
		Line{ID: "t-1", Kind: Add, By: "a", Text: "milk"},
		Line{ID: "t-2", Kind: Add, By: "a", Text: "rotate the staging keys"},
		Line{ID: "t-3", Kind: Add, By: "a", Text: "S3の掃除"},
		Line{ID: "t-4", Kind: Add, By: "b", Text: "write the release notes"})
	for words, want := range map[string]string{
		"mark rotate the staging keys as done": "t-2", "check off milk": "t-1", "S3の掃除のtodo済みにして": "t-3",
		"complete task 3": "t-3", "task 2 done": "t-2", "mark the release notes as done": "",
		"complete task 9": "", "mark the Q3 report as done": "", "the 2 pictures are drawn": "", "done: 2": "t-2",
		"done": "", "": "",
	} {
		if got, ok := l.Meant("a", words); got.ID != want && (ok || want != "") {
			t.Errorf("%q: %q, want %q", words, got.ID, want)
		}
	}
	l = add(t, h, Line{ID: "t-1", Kind: Done, At: "2026-01-01T00:00:00Z"})
	if e, ok := l.Meant("a", "check off task 2"); !ok || e.ID != "t-2" {
		t.Errorf("the numbers moved: task 2 is %q", e.ID)
	}
	l = add(t, h, Line{ID: "t-1", Kind: Undone}, Line{ID: "t-5", Kind: Add, By: "a", Text: "milk"})
	if e, ok := l.Meant("a", "check off milk"); ok {
		t.Errorf("two entries are alike, and %s was taken", e.ID)
	}
}

// TestManyEntries: a long list is read in time proportional to its lines: four times as many take about four
// times as long, not sixteen.
func TestManyEntries(t *testing.T) {
	const n = 40_000
	short, long := readingTime(t, n/4), readingTime(t, n)
	if long > 10*short+time.Second {
		t.Errorf("%d entries take %v, a quarter of them %v", n, long, short)
	}
}

// readingTime is the processor time of reading n entries: what else runs on the machine adds nothing to it.
func readingTime(t *testing.T, n int) time.Duration {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"id":"t-%d","kind":"add","text":"x"}`+"\n"+`{"id":"t-%d","kind":"done","at":"y"}`+"\n", i, i)
	}
	var begin, end syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &begin); err != nil {
		t.Fatal(err)
	}
	l := new(List)
	if err := l.fold(bytes.NewReader(b.Bytes())); err != nil || len(l.Entries) != n || len(l.Open("")) > 0 {
		t.Fatal(err, len(l.Entries))
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &end); err != nil {
		t.Fatal(err)
	}
	return time.Duration(end.Utime.Nano() - begin.Utime.Nano())
}
