package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// world is a folder with a log that one writer appends to, and what that writer
// has written so far: what must come out.
type world struct {
	dir   string
	rng   *rand.Rand
	fixed bool // all records have the same length

	f       *os.File
	off     int64
	written []string // the texts, by number
	bad     map[string]bool
	old     []string // rotated files that are still there, the oldest first
}

func newWorld(dir string, seed uint64) (*world, error) {
	w := &world{dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), bad: map[string]bool{}}
	for _, sub := range []string{"log", "old", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	return w, w.create()
}

func (w *world) log() string   { return filepath.Join(w.dir, "log", "app.log") }
func (w *world) out() string   { return filepath.Join(w.dir, "out") }
func (w *world) state() string { return filepath.Join(w.dir, "state") }

func (w *world) create() (err error) {
	w.off = 0
	w.f, err = os.OpenFile(w.log(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// record makes the next record. Its seq is where it will stand, as in every log of
// ours; the others do not look at it.
func (w *world) record() string {
	n := len(w.written)
	text := fmt.Sprintf("%06d %s", n, strings.Repeat(string(rune('a'+w.rng.IntN(26))), 20+w.rng.IntN(300)))
	seq := fmt.Sprint(w.off)
	if w.fixed {
		text, seq = fmt.Sprintf("%06d %0200x", n, w.rng.Uint64()), fmt.Sprintf("%-9d", w.off)
	}
	w.written = append(w.written, text)
	return fmt.Sprintf(`{"seq":%s,"platform":"bench","chat_id":"r","message_id":"%06d","create_time":"2026-01-01T00:00:00Z","msg_type":"text","content":%q,"sender":{"id":"u","type":"user"},"mentions":[]}`+"\n",
		seq, n, text)
}

// write appends n records in bursts, as a busy program does.
func (w *world) write(n int) error {
	for n > 0 {
		burst := min(n, 1+w.rng.IntN(40))
		for range burst {
			if err := w.raw(w.record()); err != nil {
				return err
			}
		}
		n -= burst
		time.Sleep(time.Duration(1+w.rng.IntN(8)) * time.Millisecond)
	}
	return nil
}

// raw appends bytes by one call.
func (w *world) raw(s string) error {
	n, err := w.f.WriteString(s)
	w.off += int64(n)
	return err
}

// spoil appends lines that are not record: a torn one, and one that never was.
func (w *world) spoil() error {
	for _, line := range []string{`{"seq":1,"platform":"bench","content":"torn by a cras`,
		`] this is not a record [`} {
		w.bad[line] = true
		if err := w.raw(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// rename rotates as logrotate does by default: the file gets another name, then
// the writer makes a new one.
func (w *world) rename() error {
	if err := w.f.Close(); err != nil {
		return err
	}
	name := filepath.Join(w.dir, "old", fmt.Sprintf("app.log.%02d", len(w.old)))
	w.old = append(w.old, name)
	if err := os.Rename(w.log(), name); err != nil {
		return err
	}
	return w.create()
}

// copytruncate rotates as logrotate does with that option. The writer holds its
// breath meanwhile, so that nothing is lost by the rotation itself.
func (w *world) copytruncate() error {
	name := filepath.Join(w.dir, "old", fmt.Sprintf("app.log.%02d", len(w.old)))
	w.old = append(w.old, name)
	from, err := os.Open(w.log())
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	w.off = 0
	return os.Truncate(w.log(), 0)
}

// recreate removes the log and makes another that has the same inode, as ext4 gives
// it again. On a busy disk somebody else may be given it first, again and again:
// then the old file is emptied, which is the same to whoever knows files by inode.
func (w *world) recreate() error {
	before, err := w.inode()
	if err != nil {
		return err
	}
	for range 100 {
		if err := errors.Join(w.f.Close(), os.Remove(w.log()), w.create()); err != nil {
			return err
		}
		after, err := w.inode()
		if err != nil || after == before {
			return err
		}
	}
	w.off = 0
	return w.f.Truncate(0)
}

func (w *world) inode() (uint64, error) {
	info, err := os.Stat(w.log())
	if err != nil {
		return 0, err
	}
	return info.Sys().(*syscall.Stat_t).Ino, nil
}

// tally is what became of the records.
type tally struct {
	lost, twice, torn int
	passed            int // bad lines that came out as if they were records
}

func (t tally) clean() bool { return t.lost+t.twice+t.torn == 0 }

// judge compares the texts that came out with those that went in.
func (w *world) judge(texts []string) (t tally) {
	times := map[string]int{}
	for _, text := range texts {
		times[text]++
	}
	for _, text := range w.written {
		n := times[text]
		delete(times, text)
		if n == 0 {
			t.lost++
		} else {
			t.twice += n - 1
		}
	}
	for text, n := range times {
		if w.bad[text] {
			t.passed += n
		} else {
			t.torn += n
		}
	}
	return t
}
