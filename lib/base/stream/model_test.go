package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

// A model of what a follower promises, and a world to test it in: a log, its writer, an attacker
// who damages it, and a follower that is paused, ended and killed. All of it is the real code on
// real files; only the time is synctest's, so that a sequence of steps takes a millisecond and can
// be repeated exactly.
//
// The promise is checked whenever the follower has come to rest:
//
//   - it runs, has the current file open, and has delivered every whole line of it once and
//     in order, and nothing else; or
//   - it has ended with sysexit.Data, and the file was cut, rewritten, replaced or removed
//     since it started.
//
// If damage happens between two reads of a follower, only these bounds can be promised: a line
// that was in the file whole may have been delivered before it was cut off; but never a line that
// was not in the file, a partial line, a line twice, or lines of two histories in a row.

// step is one thing that happens; n is its chance.
type step struct {
	what string
	n    uint64
}

func (s step) String() string { return fmt.Sprintf("{%q, %d}", s.what, s.n) }

// world is what a sequence happens in.
type world struct {
	log, out string
	stage    bool     // the follower is Run with an output, and not Follow
	gap      int64    // offset minus seq of a record of the log
	made     int      // lines so far, so that each is like no other
	text     []byte   // the content of the log
	held     []byte   // the end of an incomplete line
	copies   [][]byte // what the log was like at times

	reader *reader
	got    []string    // what Follow delivered, since it began at the beginning
	mark   int64       // where Follow resumes
	known  []byte      // the whole lines in the log when all was last delivered
	sure   os.FileInfo // of the log at mark, while the follower ran; nil: started since

	before  map[string]string // the line before each line, which is unique
	harmed  bool              // since last all was delivered
	stalled bool              // something happened while it was paused, and it was not at rest since
}

// reader is one life of the follower.
type reader struct {
	stop  context.CancelFunc
	done  chan struct{}
	err   error
	over  bool                          // ended by itself
	pause atomic.Pointer[chan struct{}] // not nil: it waits for it to be closed before the next line
}

func newWorld(dir string, rng *rand.Rand) *world {
	w := &world{log: filepath.Join(dir, "in.ndjson"), out: filepath.Join(dir, "out.ndjson"),
		stage: rng.IntN(2) == 0, before: map[string]string{}}
	if rng.IntN(3) == 0 {
		w.gap = int64(1 + rng.IntN(20))
	}
	return w
}

// line returns a new record, without its newline, to be appended to text.
func (w *world) line(text []byte, n uint64) []byte {
	w.made++
	seq := int64(len(text)) - w.gap*int64(bytes.Count(text, []byte(`{"seq"`)))
	more := strings.Repeat("x", int(n%7)*int(n%11)*int(n%13))
	if n%401 == 0 {
		more = strings.Repeat("y", tailSize+int(n%999))
	}
	return fmt.Appendf(nil, `{"seq":%d,"message_id":"m%d","text":"%s%s"}`, max(seq, 0), w.made,
		strings.Repeat("-", int(w.gap)), more)
}

func (w *world) output() []byte {
	b, err := os.ReadFile(w.out)
	if !errors.Is(err, os.ErrNotExist) {
		w.must(err)
	}
	return b
}

// whole are the whole lines of a file, without blank ones.
func whole(b []byte) (lines []string) {
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	for l := range bytes.Lines(b) {
		if len(bytes.TrimSpace(l)) > 0 {
			lines = append(lines, string(l[:len(l)-1]))
		}
	}
	return lines
}

// Each step by its name.
var steps = map[string]func(w *world, n uint64){
	"write":    func(w *world, n uint64) { w.write(1+int(n%3), n) },
	"burst":    func(w *world, n uint64) { w.write(20+int(n%80), 5) },
	"begin":    (*world).begin,
	"go on":    (*world).goOn,
	"mend":     func(w *world, _ uint64) { w.mend() },
	"blank":    func(w *world, _ uint64) { w.mend(); w.add([]byte(" \n")) },
	"junk":     (*world).junk,
	"cut":      (*world).cut,
	"anew":     (*world).anew,
	"replace":  (*world).replace,
	"remove":   (*world).remove,
	"copy":     func(w *world, _ uint64) { w.mend(); w.copies = append(w.copies, bytes.Clone(w.text)) },
	"restore":  (*world).restore,
	"start":    func(w *world, _ uint64) { w.start() },
	"end":      func(w *world, _ uint64) { w.end() },
	"kill":     (*world).kill,
	"pause":    func(w *world, _ uint64) { w.hold() },
	"continue": func(w *world, _ uint64) { w.let() },
	"second":   func(w *world, _ uint64) { w.second() },
	"over":     (*world).beginAnew,
}

func (w *world) must(err error) {
	if err != nil {
		panic(err)
	}
}

// add appends to the log, set makes it hold just b, in place.
func (w *world) add(b []byte) {
	f, err := os.OpenFile(w.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	w.must(err)
	_, err = f.Write(b)
	w.must(errors.Join(err, f.Close()))
	w.text = append(w.text, b...)
}

func (w *world) set(b []byte) {
	w.must(os.WriteFile(w.log, b, 0o600))
	w.text, w.held = bytes.Clone(b), nil
}

func (w *world) truncate(at int) {
	w.must(os.Truncate(w.log, int64(at)))
	w.text, w.held = w.text[:at], nil
}

// mend removes an incomplete line, as our writers do before they append.
func (w *world) mend() {
	if end := bytes.LastIndexByte(w.text, '\n') + 1; end < len(w.text) {
		w.truncate(end)
	}
	w.held = nil
}

// write appends some lines, at once or one by one.
func (w *world) write(lines int, n uint64) {
	w.mend()
	size, text := len(w.text), bytes.Clone(w.text)
	for range lines {
		text = append(append(text, w.line(text, n)...), '\n')
		if n%5 > 0 {
			w.add(text[size:])
			size = len(text)
		}
	}
	w.add(text[size:])
}

// begin writes a part of a line, goOn more of it.
func (w *world) begin(n uint64) {
	w.mend()
	l := append(w.line(w.text, n), '\n')
	at := 1 + int(n%uint64(len(l)-1))
	w.add(l[:at])
	w.held = l[at:]
}

func (w *world) goOn(n uint64) {
	at := min(len(w.held), 1+int(n%200))
	w.add(w.held[:at])
	w.held = w.held[at:]
}

// junk writes a line that is not a record.
func (w *world) junk(n uint64) {
	w.mend()
	w.made++
	w.add(fmt.Appendf(nil, "no record %d %s\n", w.made, strings.Repeat("z", int(n%50))))
}

// cut removes bytes at the end.
func (w *world) cut(n uint64) {
	if len(w.text) > 0 {
		w.harmed = true
		w.truncate(len(w.text) - 1 - int(n%uint64(min(len(w.text), 500))))
	}
}

// anew writes other lines over the log, in place.
func (w *world) anew(n uint64) {
	w.harmed = true
	w.set(nil)
	w.write(int(n%4), n)
}

// remove deletes the log; the next write creates a new one.
func (w *world) remove(uint64) {
	w.harmed = true
	w.must(os.RemoveAll(w.log))
	w.text, w.held = nil, nil
}

// replace puts another file in its place by renaming, as mv and log rotation do.
func (w *world) replace(n uint64) {
	w.harmed = true
	log := w.log
	if n%2 == 0 && len(w.text) > 0 {
		w.must(os.Rename(log, log+".1"))
	}
	w.log += ".new"
	w.set(nil)
	w.write(int(n%5), n)
	w.log = log
	w.must(os.Rename(log+".new", log))
}

// restore restores earlier content, by renaming or in place.
func (w *world) restore(n uint64) {
	if len(w.copies) == 0 {
		return
	}
	w.harmed = true
	log, text := w.log, w.copies[n%uint64(len(w.copies))]
	if n%3 > 0 {
		w.set(text)
		return
	}
	w.log += ".new"
	w.set(text)
	w.log = log
	w.must(os.Rename(log+".new", log))
}

// start begins a life of the follower.
func (w *world) start() {
	if w.reader != nil && !w.reader.over {
		return
	}
	w.end()
	ctx, stop := context.WithCancel(context.Background())
	r := &reader{stop: stop, done: make(chan struct{})}
	w.reader, w.sure, w.stalled = r, nil, false
	if !w.stage && w.harmed && w.mark <= int64(len(w.text)) {
		// The follower only gets an offset: the content before it does not matter.
		w.got = whole(w.text[:w.mark])
	}
	go func() {
		defer close(r.done)
		if w.stage {
			_, r.err = Run(ctx, w.input(), Output{File: w.out}, w.through(r))
			return
		}
		r.err = Follow(ctx, w.log, w.mark, func(line []byte, off int64) error {
			if err := r.wait(ctx); err != nil {
				return nil // as killed before it was dealt with
			}
			w.got = append(w.got, string(line))
			w.mark = off + int64(len(line)) + 1
			return nil
		})
	}()
}

func (w *world) input() Input { return Input{Files: []string{w.log}, Follow: true, After: -1} }

// through is a stage that can be paused, and adds a member.
func (w *world) through(r *reader) Stage[ndjson.Record] {
	return Stage[ndjson.Record]{
		Prepare: func(rec ndjson.Record, t *ndjson.Record) error { *t = rec; return nil },
		Emit: func(dst []byte, t *ndjson.Record) ([]byte, error) {
			_ = r.wait(context.Background())
			return append(append(dst, t.Bytes[:len(t.Bytes)-1]...), `,"seen":true}`+"\n"...), nil
		},
	}
}

func (r *reader) wait(ctx context.Context) error {
	if p := r.pause.Load(); p != nil {
		select {
		case <-*p:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// hold pauses the follower before its next line; let resumes it.
func (w *world) hold() {
	if w.reader != nil && w.reader.pause.Load() == nil {
		p := make(chan struct{})
		w.reader.pause.Store(&p)
	}
}

func (w *world) let() {
	if w.reader == nil {
		return
	}
	if p := w.reader.pause.Swap(nil); p != nil {
		close(*p)
	}
}

// end ends the follower as a signal does.
func (w *world) end() {
	if w.reader == nil {
		return
	}
	w.reader.stop()
	w.let()
	<-w.reader.done
	w.reader = nil
}

// kill ends it at once: its last write may be partial.
func (w *world) kill(n uint64) {
	if w.reader == nil {
		return
	}
	w.end()
	if b := w.output(); len(b) > 0 {
		w.must(os.Truncate(w.out, int64(len(b))-int64(n%uint64(min(len(b), 300)+1))))
		// a sum is written after its bytes are durable
		w.must(os.RemoveAll(filepath.Join(filepath.Dir(w.out), "."+filepath.Base(w.out)+".sum")))
	}
}

// second starts another one on the same output, which must be refused.
func (w *world) second() {
	if !w.stage || w.reader == nil || w.reader.over {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_, err := Run(ctx, w.input(), Output{File: w.out}, w.through(&reader{}))
	if status, _ := sysexit.Of(err); status != sysexit.TempFail {
		panic(fmt.Sprintf("a second one on the same output: %v", err))
	}
}

// beginAnew is what the follower's words advise where its file was harmed.
func (w *world) beginAnew(uint64) {
	w.end()
	w.must(os.RemoveAll(w.out))
	w.got, w.mark = nil, 0
}
