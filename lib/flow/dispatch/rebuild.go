package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"tri/lib/base/durable"
	"tri/lib/record/thread"
)

// Rebuilt says what Rebuild found.
type Rebuilt struct {
	Threads int // that the journal tells of
	Changed int // whose files said otherwise, or were missing
	Removed int // files of threads that the journal does not know
}

// Rebuild folds the journal from its beginning and makes the threads' files what
// it says. On a home that nothing has damaged it changes nothing.
func Rebuild(h *durable.Home) (Rebuilt, error) {
	lock, err := h.TryLock(lockName)
	if err != nil {
		return Rebuilt{}, err
	}
	defer lock.Unlock()
	j, err := openJournal(h)
	if err != nil {
		return Rebuilt{}, err
	}
	defer j.log.Close()
	threads := map[string]thread.Thread{}
	files := map[string][]byte{}
	m := mark{Seq: -1}
	m.Journal, err = j.read(0, func(in thread.Input) error {
		if in.Event != nil && in.Event.Seq != nil {
			m.Seq = max(m.Seq, *in.Event.Seq)
		}
		t := threads[in.Key]
		if p, content, due := t.File(in); due {
			files[p] = []byte(content)
		}
		threads[in.Key], _ = thread.Apply(t, in)
		return nil
	})
	if err != nil {
		return Rebuilt{}, err
	}
	done := Rebuilt{Threads: len(threads)}
	for key, t := range threads {
		changed, err := restore(h, key, t)
		if err != nil {
			return done, err
		}
		done.Changed += changed
	}
	for p, content := range files {
		if !h.Exists(p) { // one that is there is the people's to edit
			done.Changed++
			if err := h.Replace(p, content); err != nil {
				return done, err
			}
		}
	}
	if done.Removed, err = removeUnknown(h, threads); err != nil {
		return done, err
	}
	if _, err := loadMark(h); err != nil { // decisions and replies are read again
		return done, m.save(h)
	}
	return done, nil
}

// restore saves a thread unless its files are right.
func restore(h *durable.Home, key string, t thread.Thread) (int, error) {
	want, err := t.Marshal()
	if err != nil {
		return 0, err
	}
	right, wrong := thread.OpenPath(key), thread.ClosedPath(key)
	if t.Status == thread.Closed {
		right, wrong = wrong, right
	}
	have, err := h.ReadFile(right)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read %q: %w", right, err)
	}
	if bytes.Equal(have, want) && !h.Exists(wrong) {
		return 0, nil
	}
	return 1, t.Save(h)
}

func removeUnknown(h *durable.Home, threads map[string]thread.Thread) (int, error) {
	folders := []string{"open"}
	shards, err := h.List("closed")
	if err != nil {
		return 0, err
	}
	for _, s := range shards {
		folders = append(folders, "closed/"+s)
	}
	removed := 0
	for _, folder := range folders {
		names, err := h.List(folder)
		if err != nil {
			return removed, err
		}
		for _, name := range names {
			if _, known := threads[name[:len(name)-len(path.Ext(name))]]; known {
				continue
			}
			removed++
			if err := h.Remove(folder + "/" + name); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}
