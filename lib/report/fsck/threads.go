package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path"
	"runtime"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/record/journal"
	"tri/lib/record/thread"
)

// threads compares the thread files with the journal. The threads are divided into parts that are
// folded in parallel.
type threads struct {
	home  *durable.Home
	seed  maphash.Seed
	parts []map[string]thread.Thread
}

func newThreads(h *durable.Home) *threads {
	return &threads{home: h, seed: maphash.MakeSeed(),
		parts: make([]map[string]thread.Thread, max(1, runtime.GOMAXPROCS(0)))}
}

func (t *threads) mine(part int, key string) bool {
	return maphash.String(t.seed, key)%uint64(len(t.parts)) == uint64(part)
}

// fold checks the lines of a part's threads, applies them, and compares the result with the files.
func (t *threads) fold(part int, f *Finding) error {
	s, err := loadSchema("journal")
	if err != nil {
		return err
	}
	folded, gone := map[string]thread.Thread{}, map[string]bool{}
	r := journal.NewReader(t.home)
	defer r.Close()
	c := lineChecker{schema: s, f: f}
	f.Torn, err = lines(t.home, journal.Name, 0, -1, func(l line) {
		key := ""
		if !l.long {
			key = gjson.GetBytes(l.bytes, "key").String()
		}
		if !t.mine(part, key) {
			return
		}
		var in thread.Input
		err := c.check(l)
		if err == nil {
			in, err = r.Input(l.bytes)
		}
		if err != nil {
			gone[key] = gone[key] || errors.Is(err, journal.ErrGone)
			c.note(l, err)
			return
		}
		folded[key], _ = thread.Apply(folded[key], in)
	})
	if err != nil {
		return err
	}
	t.parts[part] = folded
	if t.earlier() {
		f.Note = "threads of an earlier version; tri-dispatch takes them over when it starts"
		return nil
	}
	return t.compare(part, gone, f)
}

// earlier reports whether the threads were folded by an earlier version.
func (t *threads) earlier() bool {
	b, err := t.home.ReadFile("dispatch.json")
	return err == nil && gjson.ValidBytes(b) && gjson.GetBytes(b, "seq").Exists() &&
		!gjson.GetBytes(b, "fold").Exists()
}

// compare compares each folded thread with its file.
func (t *threads) compare(part int, gone map[string]bool, f *Finding) error {
	s, err := loadSchema("thread")
	if err != nil {
		return err
	}
	r := newReader(t.home)
	defer r.close()
	for key, folded := range t.parts[part] {
		if folded.Key == "" || gone[key] {
			continue
		}
		want, err := folded.Marshal()
		if err != nil {
			return err
		}
		right, wrong := thread.OpenPath(key), thread.ClosedPath(key)
		if folded.Status == thread.Closed {
			right, wrong = wrong, right
		}
		have, err := r.read(path.Split(right))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.bad(right, errors.New("the journal has this thread, and its file is missing"))
		case err != nil:
			return fmt.Errorf("read %s: %w", right, err)
		case !bytes.Equal(have, want):
			f.bad(right, errors.New("it differs from the journal; tri-dispatch --rebuild rewrites it"))
		case folded.Status == thread.Closed && r.exists(path.Split(wrong)):
			f.bad(wrong, errors.New("the thread is closed, and has a file in open"))
		default:
			if err := s.check(want); err != nil {
				f.bad(right, err)
			}
		}
	}
	return t.unknown(part, f)
}

// unknown reports thread files that the journal does not contain.
func (t *threads) unknown(part int, f *Finding) error {
	for file, err := range thread.Files(t.home) {
		if err != nil {
			return err
		}
		if _, known := t.parts[part][thread.KeyOf(file)]; !known && t.mine(part, thread.KeyOf(file)) {
			f.bad(file, errors.New("the journal has no such thread"))
		}
	}
	return nil
}
