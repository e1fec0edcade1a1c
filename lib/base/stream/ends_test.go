package stream

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// TestWatcherAdds: existing paths are watched; for a missing path its folder is, as long as
// needed; if the folder is missing too, the watcher polls.
func TestWatcherAdds(t *testing.T) {
	dir := t.TempDir()
	here, later, far := filepath.Join(dir, "here"), filepath.Join(dir, "later"),
		filepath.Join(dir, "no", "folder")
	appendTo(t, here, "a\n")
	for _, tt := range []struct {
		name    string
		asked   []string
		pause   time.Duration
		left    []string
		watched []string
		then    []string // watched when later has appeared
	}{
		{"there", []string{here}, slowest, nil, []string{here}, []string{here}},
		{"to appear", []string{here, later}, slowest, []string{later}, []string{dir, here},
			[]string{here, later}},
		{"in a folder that is asked for too", []string{dir, later}, slowest, []string{later}, []string{dir},
			[]string{dir, later}},
		{"without a folder", []string{here, far}, pollEvery, []string{far}, []string{here}, []string{here}},
		{"both", []string{far, later}, pollEvery, []string{later, far}, []string{dir}, []string{later}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := fsnotify.NewWatcher()
			if err != nil {
				t.Skip(err)
			}
			defer w.Close()
			v := &watcher{Watcher: w, asked: map[string]bool{}, left: map[string]bool{}}
			for _, path := range tt.asked {
				v.asked[path] = true
			}
			maps.Copy(v.left, v.asked)
			is := func(what string, left, watched []string, pause time.Duration) {
				t.Helper()
				list := w.WatchList()
				slices.Sort(list)
				if got := slices.Sorted(maps.Keys(v.left)); pause != tt.pause || !slices.Equal(got, left) ||
					!slices.Equal(list, watched) {
					t.Errorf("%s: looks after %v, %q are left, %q watched; want %v, %q, %q", what, pause, got,
						list, tt.pause, left, watched)
				}
			}
			is("at first", tt.left, tt.watched, v.add())
			is("once more", tt.left, tt.watched, v.add())
			appendTo(t, later, "b\n")
			defer os.Remove(later)
			is("when it has appeared", slices.DeleteFunc(slices.Clone(tt.left), func(p string) bool {
				return p == later
			}), tt.then, v.add())
		})
	}
}

// TestWatcherLoses: a removed file is watched again when it reappears; nothing else is forgotten.
func TestWatcherLoses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "log")
	appendTo(t, file, "a\n")
	for _, tt := range []struct {
		event fsnotify.Event
		lost  bool
	}{
		{fsnotify.Event{Name: file, Op: fsnotify.Remove}, true},
		{fsnotify.Event{Name: file + "/.", Op: fsnotify.Rename}, true},
		{fsnotify.Event{Name: file, Op: fsnotify.Write}, false},
		{fsnotify.Event{Name: dir, Op: fsnotify.Remove}, false},
	} {
		w, err := fsnotify.NewWatcher()
		if err != nil {
			t.Skip(err)
		}
		v := &watcher{Watcher: w, asked: map[string]bool{file: true}, left: map[string]bool{file: true}}
		v.add()
		v.gone(tt.event)
		if watched := len(w.WatchList()) == 1; watched == tt.lost || v.left[file] != tt.lost || v.left[dir] {
			t.Errorf("%v: watched %v, left %v", tt.event, watched, v.left)
		}
		w.Close()
	}
}

// TestBellWaits, in synthetic time: the wait doubles without a notification, up to a bound; it
// stays at pollEvery if nothing is watched, or notifications were missed.
func TestBellWaits(t *testing.T) {
	for _, tt := range []struct {
		bell waker
		want string
	}{
		{waker{watched: true}, "250ms 500ms 1s 2s 2s"}, {waker{}, "250ms 250ms 250ms 250ms 250ms"},
		{waker{watched: true, missed: deaf}, "250ms 250ms 250ms 250ms 250ms"},
		{waker{watched: true, missed: deaf - 1}, "250ms 500ms 1s 2s 2s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := tt.bell
			b.rung = make(chan struct{}, 1)
			var got []string
			for range 5 {
				began := time.Now()
				if err := b.wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				got = append(got, time.Since(began).String())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%+v waits %s, want %s", tt.bell, got, tt.want)
			}
			b.pause = 0
			if b.news(); b.missed != tt.bell.missed {
				t.Errorf("%+v: news at once are none that were missed", b)
			}
		})
	}
}

// counted counts writes.
type counted struct {
	bytes.Buffer
	writes, most int
}

func (c *counted) Write(p []byte) (int, error) {
	c.writes++
	c.most = max(c.most, len(p))
	return c.Buffer.Write(p)
}

// TestWrites: a file goes out in big pieces, what came live at once one by one, and
// a backlog of it in one piece.
func TestWrites(t *testing.T) {
	lines := func(n, size int) []byte {
		return bytes.Repeat(append([]byte(`{"a":"`+strings.Repeat("x", size-9)+`"}`), '\n'), n)
	}
	more := func(times int) Stage[ndjson.Record] {
		st := echo(nil)
		st.Emit = func(dst []byte, r *ndjson.Record) ([]byte, error) {
			for range times {
				dst = append(append(dst, r.Bytes...), '\n')
			}
			return dst, nil
		}
		return st
	}
	for _, tt := range []struct {
		name        string
		text        []byte
		file        bool
		times       int
		least, most int // writes
		biggest     int
	}{
		{"a small file", lines(3, 20), true, 1, 1, 1, 60},
		{"a big file", lines(10_000, 100), true, 1, 4, 4, writeSize + 100},
		{"a file that grows on its way", lines(500, 1000), true, 20, 36, 36, writeSize + 20_000},
		{"pieces of just the size", lines(8, 64), true, writeSize / 4 / 64, 2, 2, writeSize},
		{"live", lines(5, 20), false, 1, 5, 5, 20},
		{"a backlog", lines(400, 100), false, 1, 1, 1, 40_000},
	} {
		var out counted
		in := Input{Stdin: bytes.NewReader(tt.text), After: -1}
		if tt.file {
			in.Files = []string{file(t, tt.text)}
		}
		if _, err := Run(ctx(t), in, Output{Stdout: &out}, more(tt.times)); err != nil {
			t.Fatal(err)
		}
		if out.writes < tt.least || out.writes > tt.most || out.most > tt.biggest ||
			out.Len() != tt.times*len(tt.text) {
			t.Errorf("%s: %d bytes in %d writes, at most %d", tt.name, out.Len(), out.writes, out.most)
		}
	}
}

// TestFromZero: After 0 skips the first record and malformed lines before it.
func TestFromZero(t *testing.T) {
	var got []int64
	stats, err := Each(ctx(t), Input{Stdin: strings.NewReader("junk\n{\"seq\":0}\n{\"seq\":9}\njunk\n"),
		After: 0}, func(r ndjson.Record) error {
		got = append(got, r.Seq)
		return nil
	})
	if status, _ := sysexit.Of(err); status != sysexit.Data || !slices.Equal(got, []int64{9}) ||
		stats != (Stats{Records: 1, Refused: 1}) {
		t.Errorf("%v, %+v, %v", got, stats, err)
	}
}

// TestRefusedByPrepare: the reason is reported, and the record does not reach Warm when it is read
// again.
func TestRefusedByPrepare(t *testing.T) {
	text := []byte("{\"seq\":0}\n{\"seq\":10,\"x\":\"refuse me\"}\n{\"seq\":44}\n{\"seq\":55}\n")
	var said string
	var warmed []int64
	in := Input{Stdin: bytes.NewReader(text), After: 44, Window: 100, Say: func(f string, a ...any) {
		said += fmt.Sprintf(f, a...)
	}}
	var out bytes.Buffer
	stats, err := Run(ctx(t), in, Output{Stdout: &out}, echo(&warmed))
	if err != nil || stats.Records != 1 || out.String() != "{\"seq\":55}\n" ||
		!slices.Equal(warmed, []int64{0, 44}) || said != "" {
		t.Errorf("%+v, %v, %q, warmed with %v, said %q", stats, err, out.String(), warmed, said)
	}
	in.Stdin, in.After, out = bytes.NewReader(text), -1, bytes.Buffer{}
	stats, err = Run(ctx(t), in, Output{Stdout: &out}, echo(nil))
	if err == nil || stats != (Stats{Records: 3, Refused: 1}) || said != "stdin:2: as asked" {
		t.Errorf("%+v, %v, said %q", stats, err, said)
	}
}

// TestNothingStaysOpen: a program reads and follows for months.
func TestNothingStaysOpen(t *testing.T) {
	name, out := file(t, logOf(3)), filepath.Join(t.TempDir(), "out")
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close them, some day
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	enough := errors.New("enough")
	do := func() {
		_, err := LastSeq(name)
		_, err2 := Each(t.Context(), Input{Files: []string{name, name}, After: -1, Rejects: out + ".rejects"},
			func(ndjson.Record) error { return nil })
		err3 := Follow(t.Context(), name, 0, func([]byte, int64) error { return enough })
		_, err4 := Run(t.Context(), Input{Files: []string{name}, After: -1}, Output{File: out}, echo(nil))
		if err := errors.Join(err, err2, err4); err != nil || err3 != enough {
			t.Fatal(err, err3)
		}
	}
	do()
	before := open()
	for range 20 {
		do()
	}
	if after := open(); after > before+8 {
		t.Errorf("%d files open before, %d after", before, after)
	}
}

// TestBesideTheFolder: an output is named as people name files.
func TestBesideTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"out", "./out2"} {
		if _, err := Run(ctx(t), Input{Stdin: bytes.NewReader(logOf(2)), After: -1}, Output{File: name},
			echo(nil)); err != nil {
			t.Error(err)
		}
	}
	if got, err := LastSeq("out"); got != 16 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := LastSeq("."); err == nil {
		t.Error("the last record of a folder")
	}
}

func TestRejectsSync(t *testing.T) {
	r, err := openRejects(Input{Rejects: filepath.Join(t.TempDir(), "r")})
	if err != nil {
		t.Fatal(err)
	}
	l := &ndjson.Line{Record: ndjson.Record{Source: "s"}}
	for _, do := range []func() error{r.sync, func() error { return r.add(l, errors.New("why")) }} {
		before := r.dirty
		if err := do(); err != nil || before {
			t.Errorf("unsynced %v, %v", before, err)
		}
	}
	if !r.dirty {
		t.Error("what was added is synced already")
	}
	if err := r.sync(); err != nil || r.dirty {
		t.Errorf("unsynced %v, %v", r.dirty, err)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	status(t, "added to a file that is closed", r.add(l, errors.New("why")), sysexit.IO)
	r.dirty = true
	status(t, "synced when it is closed", r.sync(), sysexit.IO)
	if r.close() == nil {
		t.Error("closed twice")
	}
}

// TestRefusalsAreCounted: of a thousand refusals of one kind ten are reported, and how many there
// were. If the form of the input is known, it is named first, and one of a kind is reported.
func TestRefusalsAreCounted(t *testing.T) {
	for _, tt := range []struct{ head, hint string }{
		{"id,text", "CSV"}, {"{", "jq -c ."}, {"[", "jq -c '.[]'"}, {`[{"a":1},`, "jq -c '.[]'"},
		{"why does it fail?", "tri-watch stdin --text"}, {"\xff\xfe", ""}, {`{"a":1`, ""},
	} {
		var said []string
		in := Input{
			Stdin: strings.NewReader(tt.head + "\n" + strings.Repeat("x 17\n", 5000)), After: -1,
			Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) },
		}
		stats, err := Each(t.Context(), in, func(ndjson.Record) error { return nil })
		if stats.Refused != 5001 || err == nil {
			t.Fatalf("%d refused, %v: %q", stats.Refused, err, said)
		}
		all := strings.Join(said, "\n")
		if tt.hint != "" {
			if !strings.Contains(said[0], tt.hint) || len(said) > 6 || !strings.Contains(all, "and 4999 more: ") &&
				!strings.Contains(all, "and 5000 more: ") {
				t.Errorf("%q: %q, want %q first", tt.head, said, tt.hint)
			}
			continue
		}
		if len(said) < maxShown+1 || len(said) > maxShown+5 || !strings.Contains(said[len(said)-1], "and 4990 more: ") &&
			!strings.Contains(said[len(said)-1], "and 4991 more: ") {
			t.Errorf("%q", said)
		}
	}
}

// TestKinds: kinds are bounded, whatever the reasons.
func TestKinds(t *testing.T) {
	r, err := openRejects(Input{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 * maxKinds {
		r.tell(&ndjson.Line{}, errors.New(strings.Repeat("x", i)))
	}
	if len(r.kinds) != maxKinds+1 {
		t.Errorf("%d kinds", len(r.kinds))
	}
}

// TestMend: a refused record is taken as Mend returns it, once.
func TestMend(t *testing.T) {
	var out bytes.Buffer
	in := Input{Stdin: strings.NewReader("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"), After: -1}
	in.Repair = func(rec ndjson.Record, cause error) ([]byte, error) {
		if rec.Get("c") != nil {
			return nil, fmt.Errorf("repair: %w", cause)
		}
		return []byte(`{"a":2}`), nil
	}
	stats, err := Run(t.Context(), in, Output{Stdout: &out}, Stage[[]byte]{
		Prepare: func(rec ndjson.Record, t *[]byte) error {
			if rec.Get("a") == nil {
				return errors.New("no a")
			}
			*t = rec.Bytes
			return nil
		},
		Emit: func(dst []byte, t *[]byte) ([]byte, error) { return append(append(dst, *t...), '\n'), nil },
	})
	if out.String() != "{\"a\":1}\n{\"a\":2}\n" || stats != (Stats{Records: 2, Refused: 1}) || err == nil {
		t.Errorf("%q, %+v, %v", out.String(), stats, err)
	}
}
