package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"tri/lib/base/durable"
	"tri/lib/record/journal"
	"tri/lib/record/thread"
)

// Rebuilt is the result of Rebuild.
type Rebuilt struct {
	Threads int // threads in the journal
	Changed int // threads whose files differed or were missing
	Removed int // files of threads that are not in the journal
	Kept    int // files left unchanged, since the text of an input is gone
}

// String says in a line what was done, and what could not be.
func (r Rebuilt) String() string {
	said := fmt.Sprintf("%d threads, %d rewritten, %d unknown removed", r.Threads, r.Changed, r.Removed)
	if r.Kept > 0 {
		said += fmt.Sprintf("; %d kept: what their inputs refer to is gone (tri-report verify)", r.Kept)
	}
	return said
}

// Rebuild folds the journal from its beginning and makes the threads' files match it. On an undamaged home
// it changes nothing.
func Rebuild(h *durable.Home) (Rebuilt, error) {
	lock, err := h.TryLock(lockName)
	if err != nil {
		return Rebuilt{}, err
	}
	defer lock.Unlock()
	saved, found, err := loadMark(h)
	if err == nil && saved.Fold < foldVersion {
		err = upgradeHome(h, &saved, found)
	}
	broken := err != nil // then decisions and replies are read again
	done, m, err := rebuild(h)
	if err != nil {
		return done, err
	}
	if broken {
		return done, m.save(h)
	}
	if saved.Threads == m.Threads && found && saved.Fold == foldVersion {
		return done, nil
	}
	saved.Threads, saved.Fold = m.Threads, foldVersion
	return done, saved.save(h)
}

func rebuild(h *durable.Home) (done Rebuilt, m mark, err error) {
	f, err := foldJournal(h)
	if err != nil {
		return done, m, err
	}
	done = Rebuilt{Threads: len(f.threads)}
	for key, t := range f.threads {
		if f.gone[key] && (h.Exists(thread.OpenPath(key)) || h.Exists(thread.ClosedPath(key))) {
			done.Kept++
			continue
		}
		changed, err := restore(h, key, t)
		if err != nil {
			return done, m, err
		}
		done.Changed += changed
	}
	for p, content := range f.files {
		if !h.Exists(p) { // an existing file belongs to the people, who may edit it
			done.Changed++
			if err := h.Replace(p, content); err != nil {
				return done, m, err
			}
		}
	}
	if done.Removed, err = removeUnknown(h, f.threads); err != nil {
		return done, m, err
	}
	f.mark.Threads, err = thread.CountFiles(h)
	return done, f.mark, err
}

// folded is the result of folding a journal.
type folded struct {
	threads map[string]thread.Thread
	files   map[string][]byte // triage files
	gone    map[string]bool   // threads for which the text of an input is gone
	mark    mark
}

func foldJournal(h *durable.Home) (*folded, error) {
	f := &folded{map[string]thread.Thread{}, map[string][]byte{}, map[string]bool{},
		mark{Seq: -1, Fold: foldVersion}}
	r := journal.NewReader(h)
	defer r.Close()
	var err error
	f.mark.Journal, err = readLines(h, journal.Name, 0, func(line []byte) error {
		in, err := r.Input(line)
		if errors.Is(err, journal.ErrGone) {
			f.gone[in.Key] = true
			return nil
		}
		if err != nil {
			return err
		}
		if in.Event != nil && in.Event.Seq != nil {
			f.mark.Seq = max(f.mark.Seq, *in.Event.Seq)
		}
		t := f.threads[in.Key]
		if p, content, due := t.File(in); due {
			f.files[p] = []byte(content)
		}
		if t, _ = thread.Apply(t, in); t.Key != "" {
			f.threads[in.Key] = t
		}
		if in.Thread != nil {
			delete(f.gone, in.Key)
		}
		return nil
	})
	return f, err
}

// restore saves a thread unless its files are already right.
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
	removed := 0
	for file, err := range thread.Files(h) {
		if err != nil {
			return removed, err
		}
		if _, known := threads[thread.KeyOf(file)]; known {
			continue
		}
		removed++
		if err := h.Remove(file); err != nil {
			return removed, err
		}
	}
	return removed, nil
}
