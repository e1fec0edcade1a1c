package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

func none(ndjson.Record) error { return nil }

// TestNotAFile: something else in place of the file, or on the path to it, is reported and not
// waited for.
func TestNotAFile(t *testing.T) {
	in := file(t, logOf(3))
	below := in + "/x"
	for what, do := range map[string]func() error{
		"followed below a file": func() error {
			return Follow(ctx(t), below, 0, func([]byte, int64) error { return nil })
		},
		"its last seq":         func() error { _, err := LastSeq(below); return err },
		"the last seq of junk": func() error { _, err := LastSeq(file(t, []byte("junk\n"))); return err },
		"an output below a file": func() error {
			_, err := Run(ctx(t), Input{Files: []string{in}, After: -1}, Output{File: below}, echo(nil))
			return err
		},
		"followed from a record on, and not there": func() error {
			_, err := Each(ctx(t), Input{Files: []string{in + ".none"}, Follow: true, After: 0}, none)
			return err
		},
	} {
		if err := do(); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := LastSeq(file(t, []byte("junk\n"))); len(sysexit.Hints(err)) == 0 {
		t.Errorf("junk: %v has no hint", err)
	}
	seen := 0
	_, err := Each(ctx(t), Input{Files: []string{"-", in + ".none"}, Stdin: bytes.NewReader(logOf(2)),
		After: -1}, func(ndjson.Record) error { seen++; return nil })
	if !errors.Is(err, os.ErrNotExist) || seen > 0 {
		t.Errorf("a second file that is not there: %v after %d records", err, seen)
	}
	boom := errors.New("boom")
	_, err = Each(ctx(t), Input{Stdin: brokenPipe{boom}, After: -1}, none)
	if err == nil || err.Error() != "read records: boom" {
		t.Errorf("%v", err)
	}
	_, err = Each(ctx(t), Input{Files: []string{"-", in}, Stdin: brokenPipe{boom}, After: -1}, none)
	if !errors.Is(err, boom) {
		t.Errorf("the first of two: %v", err)
	}
}

func TestIsRegular(t *testing.T) {
	f, err := os.Open(file(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for what, tt := range map[string]struct {
		r    io.Reader
		want bool
	}{"a file": {f, true}, "a pipe": {r, false}, "a reader": {strings.NewReader(""), false},
		"nothing": {nil, false}} {
		if isRegular(tt.r) != tt.want {
			t.Errorf("%s is regular: %v", what, !tt.want)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if isRegular(f) {
		t.Error("a closed file is regular")
	}
	_, err = resumeAt(f, Input{After: 3})
	status(t, "resumed in a closed file", err, sysexit.IO)
}

// TestResumeOnlyInOneFile: with several sources, or a pipe, everything is read and old records are
// skipped.
func TestResumeOnlyInOneFile(t *testing.T) {
	log := logOf(4)
	var at []int64
	for i, l := int64(0), log; len(l) > 0; {
		n := int64(bytes.IndexByte(l, '\n') + 1)
		at, l, i = append(at, i), l[n:], i+n
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(log[at[1]:])
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}()
	for name, files := range map[string][]string{
		"two files": {file(t, log[:at[1]]), file(t, log[at[1]:])}, "a pipe": {pipe},
	} {
		var got []int64
		if _, err := Each(ctx(t), Input{Files: files, After: at[2], Durable: true},
			func(r ndjson.Record) error {
				got = append(got, r.Seq)
				return nil
			}); err != nil || !slices.Equal(got, at[3:]) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestAfterAndOutput: of what the caller and the output say was dealt with, the
// later counts.
func TestAfterAndOutput(t *testing.T) {
	log := logOf(6)
	lines := bytes.SplitAfter(log, []byte("\n"))
	upTo := func(n int) []byte { return bytes.Join(lines[:n], nil) }
	seq := func(n int) int64 { return int64(len(upTo(n))) }
	for _, tt := range []struct {
		name  string
		after int64
		had   int // records in the output
		want  []byte
	}{
		{"the output is further", seq(1), 4, log},
		{"the caller is further", seq(3), 2, append(slices.Clone(upTo(2)), log[seq(4):]...)},
		{"both the same", seq(2), 3, log}, {"there is no output yet", seq(4), 0, lines[5]},
	} {
		out := file(t, upTo(tt.had))
		if _, err := Run(ctx(t), Input{Files: []string{file(t, log)}, After: tt.after}, Output{File: out},
			echo(nil)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got, _ := os.ReadFile(out); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	torn := log[:seq(4)-1] // a finished file may end without a newline
	if _, err := Each(ctx(t), Input{Files: []string{file(t, torn)}, After: seq(3)},
		func(r ndjson.Record) error { t.Errorf("new: %s", r.Bytes); return nil }); err != nil {
		t.Errorf("behind a last line without a newline: %v", err)
	}
	mine, other := []byte("{\"seq\":0,\"message_id\":\"1\"}\n"), []byte("{\"seq\":0,\"message_id\":\"2\"}\n")
	_, err := Run(ctx(t), Input{Files: []string{file(t, other)}, After: 0},
		Output{File: file(t, mine)}, echo(nil))
	status(t, "another message in its place", err, sysexit.Data)
	s, err := openSink(Output{File: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.log.Close(); err != nil {
		t.Fatal(err)
	}
	status(t, "resumed in an output that is closed", s.resume(&Input{After: -1}), sysexit.IO)
}

func TestSameMessage(t *testing.T) {
	a, b, no := []byte(`{"message_id":"1","x":1}`), []byte(`{"message_id":"2","x":1}`), []byte(`{"x":1}`)
	for _, tt := range []struct {
		a, b []byte
		want bool
	}{{a, a, true}, {a, b, false}, {a, no, true}, {no, b, true}, {no, no, true}, {a, []byte("junk"), true}} {
		if sameMessage(tt.a, tt.b) != tt.want {
			t.Errorf("%s and %s are the same: %v", tt.a, tt.b, !tt.want)
		}
	}
	why := errors.New("why")
	if err := Refuse("it is wrong: %w", why); !errors.Is(err, why) || err.Error() != "it is wrong: why" {
		t.Errorf("%v", err)
	}
}

// TestSeekerStops at its end, whatever follows.
func TestSeekerStops(t *testing.T) {
	text := "{\"seq\":1}\n{\"seq\":2}\n{\"seq\":3}\n"
	s := seeker{f: strings.NewReader(text), size: 15}
	if line, end, err := s.line(10); string(line) != `{"seq` || end != 15 || err != nil {
		t.Errorf("%q to %d, %v", line, end, err)
	}
	if off, seq, err := s.search(2); off != 15 || seq != -1 || err != nil {
		t.Errorf("record %d at %d, %v", seq, off, err)
	}
	if off, seq, end, err := s.record(15); off != -1 || seq != -1 || end != -1 || err != nil {
		t.Errorf("behind the end: %d, %d, %d, %v", off, seq, end, err)
	}
	for text, from := range map[string]int64{"junk {\"seq\":7}\n{\"seq\":9}\n": 5,
		"x{\"seq\":7}\n{\"seq\":9}\n": 1} {
		inside := seeker{f: strings.NewReader(text), size: int64(len(text))}
		if _, seq, _, err := inside.record(from); seq != 9 || err != nil {
			t.Errorf("%q: what begins inside a line is record %d, %v", text, seq, err)
		}
	}
	broken := seeker{f: strings.NewReader("junk\njunk\n"), size: 10}
	if off, seq, end, err := broken.record(0); off != -1 || seq != -1 || end != -1 || err != nil {
		t.Errorf("of no records: %d, %d, %d, %v", off, seq, end, err)
	}
}

// TestTailFails: what keeps a follower from reading ends it, and is not taken for
// quiet.
func TestTailFails(t *testing.T) {
	name := file(t, []byte("one\n"))
	open := func() *tail {
		t.Helper()
		tl, err := openTail(ctx(t), name, true)
		if err != nil {
			t.Fatal(err)
		}
		return tl
	}
	closed := open()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if more, err := closed.fill(); err == nil || more {
		t.Errorf("read what is closed: %v, %v", more, err)
	}
	if err := closed.unchanged(); err == nil {
		t.Error("what is closed is unchanged")
	}
	if closed.Close() == nil {
		t.Error("closed twice")
	}
	anew := open()
	defer anew.Close()
	if more, err := anew.fill(); !more || err != nil {
		t.Fatal(more, err)
	}
	if err := os.WriteFile(name, []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := anew.fill()
	status(t, "written anew, as long as before", err, sysexit.Data)
	lost := open()
	defer lost.Close()
	lost.path = name + "/x"
	if err := lost.unchanged(); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a path that leads nowhere: %v", err)
	}
}

// TestTailLongLine: a line without end is not held in memory.
func TestTailLongLine(t *testing.T) {
	name := file(t, []byte("one\n"+strings.Repeat("x", 4*ndjson.MaxLine)))
	tl, err := openTail(ctx(t), name, true)
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if more, err := tl.fill(); !more || err != nil || string(tl.ready) != "one\n" {
		t.Fatalf("%q, %v, %v", tl.ready, more, err)
	}
	tl.ready = nil
	began := time.Now()
	for n := 0; len(tl.ready) == 0; n++ {
		if more, err := tl.fill(); err != nil || !more || n > 20 {
			t.Fatalf("after %d reads and %v: %v, %v", n, time.Since(began), more, err)
		}
	}
	if len(tl.ready) <= ndjson.MaxLine || len(tl.buf) > 2*ndjson.MaxLine+tailSize {
		t.Errorf("%d bytes ready, %d held", len(tl.ready), len(tl.buf))
	}
}

// TestFollowBehindTheCursor: who follows from a record on reads on from there, and
// knows where.
func TestFollowBehindTheCursor(t *testing.T) {
	log := logOf(5)
	last := int64(bytes.LastIndexByte(log[:len(log)-1], '\n') + 1)
	before := int64(bytes.LastIndexByte(log[:last-1], '\n') + 1)
	c, stop := context.WithCancel(ctx(t))
	stats, err := Each(c, Input{Files: []string{file(t, log)}, Follow: true, After: before},
		func(r ndjson.Record) error {
			if r.Seq != last || r.Offset != last || r.Line != 5 {
				t.Errorf("record %d at %d, line %d", r.Seq, r.Offset, r.Line)
			}
			stop()
			return nil
		})
	if err != nil || stats.Records != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestTailIsPatient: a file in which nothing happens for an hour is not an error, and what
// comes then is read.
func TestTailIsPatient(t *testing.T) {
	name := file(t, []byte("one\n"))
	synctest.Test(t, func(t *testing.T) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tl := &tail{ctx: t.Context(), path: name, f: f, safe: synced{f: f},
			bell: &waker{rung: make(chan struct{}, 1)}}
		go func() {
			time.Sleep(time.Hour)
			appendTo(t, name, "two\n")
		}()
		p := make([]byte, 100)
		for _, want := range []string{"one\n", "two\n"} {
			if n, err := tl.Read(p); string(p[:n]) != want || err != nil {
				t.Errorf("%q, %v; want %q", p[:n], err, want)
			}
		}
	})
}

// over is a context that ends as soon as it is waited for.
type over struct{ context.Context }

func (over) Err() error { return nil }

func (over) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestRestsBehindWhatWaits: behind a block after which something is waited for, what
// was written is made durable first.
func TestRestsBehindWhatWaits(t *testing.T) {
	for _, waits := range []bool{true, false} {
		s, err := openSink(Output{File: filepath.Join(t.TempDir(), "out")})
		if err != nil {
			t.Fatal(err)
		}
		p := &pipeline[ndjson.Record]{sink: s, bad: &rejects{}, order: make(chan *block[ndjson.Record], 1)}
		b := &block[ndjson.Record]{ready: make(chan struct{}, 1), waits: waits}
		b.ready <- struct{}{}
		p.order <- b
		if got, err := p.next(t.Context()); got != b || err != nil {
			t.Fatal(got, err)
		}
		s.dirty = time.Now()
		if got, err := p.next(over{t.Context()}); got != nil || err != nil || s.dirty.IsZero() != waits {
			t.Errorf("waits %v: %v, %v, unsynced %v", waits, got, err, !s.dirty.IsZero())
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRest: before a wait, written data is made durable; a failure ends the run.
func TestRest(t *testing.T) {
	s, err := openSink(Output{File: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	p := &pipeline[ndjson.Record]{sink: s, bad: &rejects{}, waits: true,
		order: make(chan *block[ndjson.Record])}
	if err := errors.Join(s.write([]byte("{}\n")), p.rest()); err != nil || !s.dirty.IsZero() {
		t.Errorf("unsynced %v, %v", !s.dirty.IsZero(), err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	bad, err := openRejects(Input{Rejects: filepath.Join(t.TempDir(), "r")})
	if err != nil {
		t.Fatal(err)
	}
	if err := bad.close(); err != nil {
		t.Fatal(err)
	}
	bad.dirty = true
	broken := &pipeline[ndjson.Record]{sink: s, bad: bad}
	status(t, "what was refused is not synced", broken.rest(), sysexit.IO)
	s.dirty = time.Now()
	if b, err := p.next(t.Context()); err == nil || b != nil {
		t.Errorf("went on with what is not synced: %v", err)
	}
}
