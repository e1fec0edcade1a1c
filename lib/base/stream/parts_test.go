package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

func status(t *testing.T, what string, err error, want int) {
	t.Helper()
	if got, _ := sysexit.Of(err); err == nil || got != want {
		t.Errorf("%s: %v (status %d), want status %d", what, err, got, want)
	}
}

// TestCursor: which records are skipped, remembered and new, by the seq of the
// output's last one and the window before it.
func TestCursor(t *testing.T) {
	for _, tt := range []struct {
		name       string
		after, low int64
		seqs       []int64
		want       string // a letter each: before, warm, fresh
	}{
		{"from the beginning", -1, -1, []int64{0, 10, -1, 20}, "ffff"},
		{"after the second", 10, 10, []int64{0, 10, 20}, "bwf"},
		{"with a window", 20, 10, []int64{0, 10, 20, 30}, "bwwf"},
		{"a window of one byte less", 20, 11, []int64{0, 10, 20, 30}, "bbwf"},
		{"broken lines belong to those around", 10, 10, []int64{-1, 0, -1, 10, -1, 20, -1}, "bbbwfff"},
		{"what comes again", 10, 10, []int64{10, 20, 10, 30}, "wfwf"},
		{"what has no seq, in a window from before the file", 10, -5, []int64{-1, 0, 10, -1, 20}, "bwwff"},
		{"what is old comes again, and then what has no seq", 10, 0, []int64{10, 20, 0, -1}, "wfwf"},
		{"the record itself is missing", 10, 10, []int64{0, 20, -1}, "bff"},
	} {
		c := cursor{after: tt.after, past: tt.after < 0, low: tt.low}
		var got []byte
		for _, seq := range tt.seqs {
			got = append(got, "bwf"[c.place(seq)])
		}
		if string(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// flaky is a file that can be read so many times.
type flaky struct {
	io.ReaderAt
	left int
}

func (f *flaky) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, syscall.EIO
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestSearch: the first record from a seq on is found as by reading all, and a read
// that fails is never an answer.
func TestSearch(t *testing.T) {
	long := strings.Repeat("x", 9<<10)
	text := "junk\n{\"seq\":3}\n{\"a\":1}\n{\"seq\":5,\"x\":\"" + long +
		"\"}\n\nbroken\n{\"seq\":9}\n{\"seq\":12}\n{\"last\":1}\n{\"seq\":40}"
	for _, text := range []string{text, text + "\n", "", "junk\n", "{\"seq\":0}\n"} {
		size := int64(len(text))
		for n := range int64(45) {
			wantOff, wantSeq := size, int64(-1)
			at := 0
			for _, l := range strings.SplitAfter(text, "\n") {
				if seq := seqOf([]byte(strings.TrimSuffix(l, "\n"))); seq >= n {
					wantOff, wantSeq = int64(at), seq
					break
				}
				at += len(l)
			}
			for reads := 0; ; reads++ {
				s := seeker{f: &flaky{strings.NewReader(text), reads}, size: size}
				off, seq, err := s.search(n)
				if err == nil {
					if off != wantOff || seq != wantSeq {
						t.Fatalf("%.20q, %d: record %d at %d, want %d at %d", text, n, seq, off,
							wantSeq, wantOff)
					}
					break
				}
				if !errors.Is(err, syscall.EIO) || seq != -1 || reads > 10_000 {
					t.Fatalf("%d reads: %d, %d, %v", reads, off, seq, err)
				}
				status(t, "a search over a broken disk", err, sysexit.IO)
			}
		}
	}
}

func TestLine(t *testing.T) {
	for _, n := range []int{0, 1, 4<<10 - 1, 4 << 10, 4<<10 + 1, 3 * 4 << 10} {
		text := strings.Repeat("a", n) + "\nnext"
		s := seeker{f: strings.NewReader(text), size: int64(len(text))}
		if line, end, err := s.line(0); string(line) != text[:n] || end != int64(n+1) || err != nil {
			t.Errorf("%d bytes: %d to %d, %v", n, len(line), end, err)
		}
		if line, end, err := s.line(int64(n + 1)); string(line) != "next" ||
			end != int64(len(text)) || err != nil {
			t.Errorf("the last: %q to %d, %v", line, end, err)
		}
	}
	text := strings.Repeat("a", 3*ndjson.MaxLine) + "\n"
	s := seeker{f: strings.NewReader(text), size: int64(len(text))}
	line, end, err := s.line(0)
	if len(line) <= ndjson.MaxLine || len(line) > ndjson.MaxLine+8<<10 ||
		end != int64(len(text)) || err != nil {
		t.Errorf("a line that is too long: %d bytes to %d, %v", len(line), end, err)
	}
	short := seeker{f: strings.NewReader("abc"), size: 10} // it was cut meanwhile
	if _, _, err := short.line(0); err == nil {
		t.Error("read what is not there")
	}
}

func TestIsLog(t *testing.T) {
	for text, want := range map[string]bool{
		string(logOf(3)): true, string(logOf(2)): true, string(logOf(1)): false, "": false, "junk\n": false,
		"{\"seq\":0}\n{\"seq\":11}\n": false, "{\"seq\":0}\njunk\n{\"seq\":15}\n": true,
	} {
		for n := range 4 {
			s := seeker{f: &once{strings.NewReader(text), n}, size: int64(len(text))}
			if got, err := s.isLog(); err == nil && got != want || err != nil && n == 0 {
				t.Errorf("%q, of which read %d fails: a log %v, %v", text, n, got, err)
			}
		}
	}
}

// once is a file of which one read fails, from 1.
type once struct {
	io.ReaderAt
	left int
}

func (o *once) ReadAt(p []byte, off int64) (int, error) {
	if o.left--; o.left == 0 {
		return 0, syscall.EIO
	}
	return o.ReaderAt.ReadAt(p, off)
}

// TestResume: where a log is read on, and when it is not, whichever read fails.
func TestResume(t *testing.T) {
	log := logOf(40)
	lines := bytes.SplitAfter(log, []byte("\n"))
	at := func(n int) int64 { return int64(len(bytes.Join(lines[:n], nil))) }
	cut := slices.Concat(log[:at(20)], log[at(21):])
	for _, tt := range []struct {
		name   string
		text   []byte
		window int64
		want   int64 // -1: refused
	}{
		{"a log", log, 0, at(30)}, {"with a window", log, at(30) - at(28), at(28)},
		{"with more of a window than there is", log, 1 << 20, 0},
		{"a line cut out of it", cut, 0, -1}, {"and with a window", cut, 100, -1},
	} {
		for n := 0; ; n++ {
			read := &once{bytes.NewReader(tt.text), n}
			s := seeker{f: read, size: int64(len(tt.text))}
			off, err := s.resume(Input{After: at(30), Window: tt.window})
			switch {
			case n > 0 && read.left <= 0:
				status(t, fmt.Sprintf("%s, read %d fails", tt.name, n), err, sysexit.IO)
				continue
			case tt.want < 0:
				status(t, tt.name, err, sysexit.Data)
			case off != tt.want || err != nil:
				t.Errorf("%s: from %d, %v; want %d", tt.name, off, err, tt.want)
			}
			if n > 0 {
				break // it makes no more reads
			}
		}
	}
}

func TestCountLines(t *testing.T) {
	const piece = 256 << 10
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", 3*piece/100)
	for _, size := range []int{0, 1, 99, 100, 101, piece - 1, piece, piece + 1, 2 * piece, len(text)} {
		if n, err := countLines(strings.NewReader(text),
			int64(size)); n != int64(strings.Count(text[:size], "\n")) || err != nil {
			t.Errorf("of %d bytes: %d lines, %v", size, n, err)
		}
	}
	for n := range 3 {
		if _, err := countLines(&flaky{strings.NewReader(text), n}, int64(len(text))); !errors.Is(err,
			syscall.EIO) {
			t.Errorf("read %d fails: %v", n+1, err)
		}
	}
	if _, err := countLines(strings.NewReader("a\n"), 5); err == nil {
		t.Error("counted more than there is")
	}
}

func TestFirstError(t *testing.T) {
	refused := sysexit.Errorf(sysexit.Data, "3 records refused")
	boom, bang := errors.New("boom"), errors.New("bang")
	for _, tt := range []struct{ a, b, want error }{
		{nil, nil, nil}, {boom, nil, boom}, {nil, boom, boom}, {boom, bang, boom}, {refused, nil, refused},
		{refused, boom, boom}, {boom, refused, boom},
	} {
		if got := firstError(tt.a, tt.b); got != tt.want {
			t.Errorf("of %v and %v: %v", tt.a, tt.b, got)
		}
	}
	for n, want := range map[int64]string{1: "1 record refused", 2: "2 records refused"} {
		if got := Refusals(n).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestOpenInput(t *testing.T) {
	_, err := Each(ctx(t), Input{Files: []string{"a", "b"}, Follow: true, After: -1},
		func(ndjson.Record) error { return nil })
	status(t, "two files followed", err, sysexit.Usage)
	var got []string
	see := func(rec ndjson.Record) error { got = append(got, rec.Source+":"+string(rec.Bytes)); return nil }
	in := Input{Files: []string{file(t, []byte("{}")), "-"},
		Stdin: strings.NewReader("{\"a\":1}\n"), After: -1}
	if _, err := Each(ctx(t), in, see); err != nil || len(got) != 2 || got[1] != `stdin:{"a":1}` {
		t.Errorf("a file and stdin: %q, %v", got, err)
	}
	_, err = Each(ctx(t), Input{Files: []string{t.TempDir()}, After: -1}, see)
	status(t, "a folder", err, sysexit.IO)
	_, err = Each(ctx(t), Input{Stdin: strings.NewReader("{}\n"), After: -1,
		Rejects: filepath.Join(t.TempDir(), "none", "r")}, see)
	status(t, "no folder for rejects", err, sysexit.IO)
	boom := errors.New("boom")
	_, err = Each(ctx(t), Input{Stdin: io.MultiReader(strings.NewReader("{}\n"), brokenPipe{boom}),
		After: -1}, see)
	status(t, "a source that fails", err, sysexit.IO)
	if !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

type brokenPipe struct{ err error }

func (b brokenPipe) Read([]byte) (int, error) { return 0, b.err }

// TestLinesAreNumberedBehindTheCursor: who resumes names a bad line as who reads all.
func TestLinesAreNumberedBehindTheCursor(t *testing.T) {
	log := logOf(10)
	name := file(t, append(log, "junk\n"...))
	last := int64(bytes.LastIndexByte(log[:len(log)-1], '\n') + 1)
	var said string
	_, err := Each(ctx(t), Input{Files: []string{name}, After: last, Say: func(f string, a ...any) {
		said += fmt.Sprintf(f, a...)
	}},
		func(ndjson.Record) error { t.Error("an old record is new"); return nil })
	status(t, "a bad line", err, sysexit.Data)
	if !strings.HasPrefix(said, name+":11: ") {
		t.Errorf("said %s", said)
	}
}

func TestRejectedRecords(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rejects")
	in := strings.Repeat("\n", 10) + "{\"a\":1}\n\"é\"\n{\"b\":\"\xff\"}\n"
	for range 2 { // it is appended to
		_, err := Each(ctx(t), Input{Stdin: strings.NewReader(in), After: -1, Rejects: name},
			func(ndjson.Record) error { return nil })
		status(t, "two refused", err, sysexit.Data)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"source":"stdin","line":12,"offset":18,"reason":"not a JSON object","text":"\"é\""}` + "\n" +
		`{"source":"stdin","line":13,"offset":23,"reason":"invalid UTF-8 at byte 6","text":"{\"b\":\"` +
		"\uFFFD" + `\"}","base64":"eyJiIjoi/yJ9"}` + "\n"
	if string(text) != want+want {
		t.Errorf("kept\n%s, want twice\n%s", text, want)
	}
	for l := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		if !json.Valid([]byte(l)) {
			t.Errorf("%s", l)
		}
	}
}

// TestSinkSyncs when something is due, and not before.
func TestSinkSyncs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	s, err := openSink(Output{File: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		dirty time.Time
		still bool
	}{{"the first", time.Time{}, true}, {"soon after", time.Now(), true},
		{"too long after", time.Now().Add(-syncEvery), false}} {
		s.dirty = tt.dirty
		if err := s.write([]byte("{}\n")); err != nil {
			t.Fatal(err)
		}
		if s.dirty.IsZero() == tt.still {
			t.Errorf("%s: unsynced %v", tt.name, !s.dirty.IsZero())
		}
	}
	if err := s.write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := s.sync(); err != nil || !s.dirty.IsZero() {
		t.Errorf("synced: %v, %v", s.dirty, err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	status(t, "written to a sink that is closed", s.write([]byte("{}\n")), sysexit.IO)
	if err := s.sync(); err != nil {
		t.Errorf("nothing is unsynced: %v", err)
	}
	s.dirty = time.Now()
	status(t, "synced when it is closed", s.sync(), sysexit.IO)
	if _, err := openSink(Output{File: filepath.Join(t.TempDir(), "none", "out")}); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	dir := t.TempDir()
	if _, err := openSink(Output{File: dir + "/."}); err == nil {
		t.Error("a folder is a sink")
	}
	again, err := openSink(Output{File: name})
	if err != nil {
		t.Fatalf("the lock was not given back: %v", err)
	}
	if _, err := openSink(Output{File: name}); len(sysexit.Hints(err)) == 0 {
		t.Errorf("another has it: %v", err)
	}
	if err := again.log.Close(); err != nil {
		t.Fatal(err)
	}
	if again.close() == nil {
		t.Error("a log that cannot be closed is not an error")
	}
	noLock := filepath.Join(t.TempDir(), "out")
	if err := os.Mkdir(filepath.Join(filepath.Dir(noLock), ".out.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := openSink(Output{File: noLock}); err == nil || len(sysexit.Hints(err)) > 0 {
		t.Errorf("a lock that cannot be made: %v, %q", err, sysexit.Hints(err))
	}
	if same("/no/such", os.Stdin) {
		t.Error("a file that is not there is another")
	}
}

// TestFollowEnds with what its reader says, at a line that is too long, and not at
// the end of its context.
func TestFollowEnds(t *testing.T) {
	name := file(t, []byte("one\n\ntwo\n"))
	enough := errors.New("enough")
	var got []int64
	if err := Follow(ctx(t), name, 0, func(_ []byte, off int64) error {
		got = append(got, off)
		return enough
	}); err != enough || !slices.Equal(got, []int64{0}) {
		t.Errorf("at %v with %v", got, err)
	}
	long := file(t, []byte("one\n"+strings.Repeat("x", ndjson.MaxLine+1)+"\n"))
	err := Follow(ctx(t), long, 0, func([]byte, int64) error { return nil })
	status(t, "a line that is too long", err, sysexit.Data)
	if err == nil || !strings.Contains(err.Error(), "offset 4: longer than") {
		t.Errorf("%v", err)
	}
	if err := Follow(ctx(t), "/no/such/file", 5, func([]byte, int64) error {
		return nil
	}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that must be there: %v", err)
	}
	c, stop := context.WithCancel(t.Context())
	got = nil
	if err := Follow(c, name, 0, func(_ []byte, off int64) error {
		got = append(got, off)
		stop()
		return nil
	}); err != nil || !slices.Equal(got, []int64{0}) {
		t.Errorf("ended at %v with %v", got, err)
	}
	if err := Follow(c, filepath.Join(t.TempDir(), "none"), 0, nil); err != nil {
		t.Errorf("ended before there is a file: %v", err)
	}
	if err := quietEnd(t.Context(), enough); err != enough {
		t.Errorf("%v", err)
	}
	if err := quietEnd(c, enough); err != enough {
		t.Errorf("another error at the end: %v", err)
	}
	if err := quietEnd(c, c.Err()); err != nil {
		t.Errorf("%v", err)
	}
}
