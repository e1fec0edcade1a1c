package stream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

type seen struct {
	text string
	off  int64
}

// following runs Follow and hands its lines over.
func following(t *testing.T, name string, from int64) (lines chan seen, done chan error,
	stop context.CancelFunc) {
	c, stop := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(stop)
	lines, done = make(chan seen), make(chan error, 1)
	go func() {
		done <- Follow(c, name, from, func(line []byte, off int64) error {
			select {
			case lines <- seen{string(line), off}:
				return nil
			case <-c.Done():
				return c.Err()
			}
		})
	}()
	return lines, done, stop
}

func TestFollowGivesWholeLinesAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log") // not there yet
	lines, done, stop := following(t, name, 0)
	appendTo(t, name, "one\ntw")
	if got := <-lines; got != (seen{"one", 0}) {
		t.Fatalf("got %v", got)
	}
	var waits []time.Duration
	for i := range 30 {
		began := time.Now()
		appendTo(t, name, fmt.Sprintf("o%d\ntw", i))
		if got := <-lines; got.text != fmt.Sprintf("two%d", i) {
			t.Fatalf("got %v", got)
		}
		waits = append(waits, time.Since(began))
	}
	slices.Sort(waits)
	if quick := waits[2]; quick > pollEvery/2 { // on a busy machine others may take longer
		t.Errorf("wait %v: the watcher does not wake", quick)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTwoFollowersOfOneFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	appendTo(t, name, "a\nb\n")
	first, _, _ := following(t, name, 0)
	second, _, _ := following(t, name, 2)
	if a, b := <-first, <-first; a.text != "a" || b.text != "b" {
		t.Error(a, b)
	}
	if b := <-second; b != (seen{"b", 2}) {
		t.Error(b)
	}
	appendTo(t, name, "c\n")
	if a, b := <-first, <-second; a.text != "c" || b.text != "c" {
		t.Error(a, b)
	}
}

func TestFollowSaysWhatHappenedToItsFile(t *testing.T) {
	for what, harm := range map[string]func(name string) error{
		"cut":     func(n string) error { return os.Truncate(n, 1) },
		"removed": os.Remove,
		"replaced": func(n string) error {
			return os.WriteFile(n+".new", []byte("something longer than before\n"), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "log")
			appendTo(t, name, "first\n")
			lines, done, _ := following(t, name, 0)
			<-lines
			if err := harm(name); err != nil {
				t.Fatal(err)
			}
			if what == "replaced" {
				if err := os.Rename(name+".new", name); err != nil {
					t.Fatal(err)
				}
			}
			err := <-done
			if status, _ := sysexit.Of(err); status != sysexit.Data ||
				!strings.Contains(err.Error(), "was "+what) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPolledBell: without a watcher the net catches.
func TestPolledBell(t *testing.T) {
	b := &waker{rung: make(chan struct{})}
	began := time.Now()
	if err := b.wait(t.Context()); err != nil || time.Since(began) < pollEvery/2 {
		t.Error(err, time.Since(began))
	}
}

// TestRunFollows: records of a growing log, half lines left waiting.
func TestRunFollows(t *testing.T) {
	log := logOf(50)
	name := file(t, log[:100])
	c, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	go func() {
		for at := 100; at < len(log); at += 37 {
			appendTo(t, name, string(log[at:min(at+37, len(log))]))
		}
	}()
	n := 0
	stats, err := Each(c, Input{Files: []string{name}, Follow: true, After: -1},
		func(rec ndjson.Record) error {
			if rec.Seq != rec.Offset {
				t.Errorf("seq %d at %d", rec.Seq, rec.Offset)
			}
			if n++; n == 50 {
				stop()
			}
			return nil
		})
	if err != nil || stats.Records != 50 {
		t.Error(stats, err)
	}
}

// TestFollowOverACutTornTail: what a killed writer left half is cut by the next
// one, which writes something else there. A reader that has seen the half must
// not glue it to what came instead, nor take the cut for damage.
func TestFollowOverACutTornTail(t *testing.T) {
	for _, instead := range []string{"2\n", "a longer second line than the torn one was\n"} {
		name := filepath.Join(t.TempDir(), "log")
		appendTo(t, name, "one\na half of the sec")
		lines, done, stop := following(t, name, 0)
		if got := <-lines; got != (seen{"one", 0}) {
			t.Fatalf("got %v", got)
		}
		for range 3 { // the reader looks at it, and again
			appendTo(t, name, "o")
			time.Sleep(5 * time.Millisecond)
		}
		if err := os.Truncate(name, int64(len("one\n"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		appendTo(t, name, instead)
		if got := <-lines; got != (seen{strings.TrimSuffix(instead, "\n"), 4}) {
			t.Errorf("got %v", got)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestFollowLongLines(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("x", 3*tailSize)
	appendTo(t, name, "one\n"+long[:tailSize+1])
	lines, _, _ := following(t, name, 0)
	<-lines
	appendTo(t, name, long[tailSize+1:]+"\nthree\n")
	if got := <-lines; got != (seen{long, 4}) {
		t.Errorf("got %.20q… of %d at %d", got.text, len(got.text), got.off)
	}
	if got := <-lines; got.text != "three" {
		t.Errorf("got %.20q", got.text)
	}
}

// TestFollowOverAFileWrittenAnew: a log that was cut and has grown beyond the reader's offset,
// between two reads, is not the same log.
func TestFollowOverAFileWrittenAnew(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	appendTo(t, name, "first\n")
	tl, err := openTail(t.Context(), name, true)
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if more, err := tl.fill(); !more || err != nil || string(tl.ready) != "first\n" {
		t.Fatal(more, err, tl.ready)
	}
	if err := os.WriteFile(name, []byte("others, longer\nthan before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	more, err := tl.fill()
	if status, _ := sysexit.Of(err); more || status != sysexit.Data ||
		!strings.Contains(err.Error(), "written anew after 6 bytes") {
		t.Errorf("got %v, %v", more, err)
	}
}

// TestTailKnows: content that did not exist at the start is not taken as read; lines that cannot
// be made durable are not returned; and it uses little memory.
func TestTailKnows(t *testing.T) {
	name := file(t, nil)
	open := func(from int64) *tail {
		tl, err := openTail(t.Context(), name, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tl.Close() }) // or it is closed
		tl.begin(from)
		return tl
	}
	tl := open(1)
	appendTo(t, name, "\nx\n")
	if _, err := tl.fill(); err == nil {
		t.Error("goes on behind what it has not seen")
	}
	tl = open(0)
	for range 3 {
		appendTo(t, name, strings.Repeat("x", 2*knownSize)+"\n")
		if more, err := tl.fill(); !more || err != nil || len(tl.known) > knownSize {
			t.Errorf("keeps %d bytes, %v, %v", len(tl.known), more, err)
		}
	}
	appendTo(t, name, "y\n")
	tl.safe.f, tl.ready = os.NewFile(^uintptr(0), "no file"), nil
	if more, err := tl.fill(); more || err == nil || len(tl.ready) > 0 {
		t.Errorf("%q is ready, %v, %v", tl.ready, more, err)
	}
}

// TestResumeFindsNoOtherLog: a stage resumes only after the record that its output ends with, and
// otherwise fails with a status that says why.
func TestResumeFindsNoOtherLog(t *testing.T) {
	const one, two = `{"seq":0,"message_id":"a"}`, `{"seq":27,"message_id":"b"}`
	for what, log := range map[string]string{
		"its newline is gone, so the writer will take it back": one + "\n" + two,
		"the record in its place is of another message": one + "\n" +
			`{"seq":27,"message_id":"c"}` + "\n",
		"there is nothing": "",
	} {
		t.Run(what, func(t *testing.T) {
			in := file(t, []byte(one+"\n"+two+"\n"))
			out := Output{File: filepath.Join(filepath.Dir(in), "out")}
			if _, err := Run(ctx(t), Input{Files: []string{in}, After: -1}, out, echo(nil)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(in, []byte(log), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Run(ctx(t), Input{Files: []string{in}, Follow: true, After: -1}, out, echo(nil))
			if status, _ := sysexit.Of(err); status != sysexit.Data ||
				!strings.Contains(err.Error(), "no record with seq 27") {
				t.Errorf("got %v", err)
			}
		})
	}
}
