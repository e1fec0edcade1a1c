package dispatch

import (
	"errors"
	"slices"
	"sync"

	"tri/lib/base/durable"
	"tri/lib/record/journal"
	"tri/lib/record/thread"
)

// store keeps the threads of a home, the journal that they are the fold of, and the mark that says how far
// both are.
type store struct {
	home    *durable.Home
	say     func(format string, args ...any)
	journal *journal.Journal
	open    map[string]*thread.Thread
	askers  map[asker]map[string]bool // the keys of open, by who asked
	mark    mark
	saved   mark // the mark on disk
	since   int  // inputs journalled since saved
	shards  int  // folders in closed/ at the last look
}

func openStore(o *Options) (*store, error) {
	j, err := journal.Open(o.Home)
	if err == nil {
		j.Whole = o.Config.Nats.URL != ""
	}
	return &store{home: o.Home, say: o.Say, journal: j, open: map[string]*thread.Thread{},
		askers: map[asker]map[string]bool{}}, err
}

// append makes inputs durable, first in the journal, then in the threads that they made.
func (s *store) append(b *batch) error {
	size, err := s.journal.Append(b.journalled)
	if err != nil {
		return err
	}
	if err := s.saveAll(b.order, b.threads); err != nil {
		return err
	}
	s.mark.Journal = size
	s.since += len(b.journalled)
	return nil
}

// saveMark makes the mark durable if it has changed.
func (s *store) saveMark() error {
	if s.mark == s.saved {
		return nil
	}
	if err := s.mark.save(s.home); err != nil {
		return err
	}
	s.saved, s.since = s.mark, 0
	return nil
}

// read reads the open threads and applies the journal after the mark.
func (s *store) read() error {
	saved, found, err := loadMark(s.home)
	if err != nil {
		return err
	}
	if s.mark, s.saved = saved, saved; saved.Fold < foldVersion {
		if err := upgrade(s.home, s.journal, &s.mark, found); err != nil {
			return err
		}
	}
	if err := s.readOpen(); err != nil {
		return err
	}
	r := journal.NewReader(s.home)
	defer r.Close()
	s.mark.Journal, err = readLines(s.home, journal.Name, s.mark.Journal, func(line []byte) error {
		in, err := r.Input(line)
		if errors.Is(err, journal.ErrGone) {
			s.say("%v: passed over", err) // a run is repeated, or a message was deleted by hand
			return nil
		}
		if err != nil {
			return err
		}
		return s.replay(in)
	})
	if err != nil {
		return err
	}
	return s.restoreLost(s.mark.Threads)
}

func (s *store) readOpen() error {
	clear(s.open)
	clear(s.askers)
	for t, err := range thread.Open(s.home) {
		if err != nil {
			return err
		}
		s.keep(t)
	}
	return nil
}

// restoreLost rebuilds the threads from the journal if some are missing.
func (s *store) restoreLost(want thread.Count) error {
	have, err := thread.CountFiles(s.home)
	if err != nil || have == want {
		return err
	}
	s.say("open/ and closed/ have %d threads, and should have %d: they are made again from %s", have.N, want.N,
		journal.Name)
	_, m, err := rebuild(s.home)
	if err != nil {
		return err
	}
	s.mark.Threads = m.Threads
	return s.readOpen()
}

// look is restoreLost for a running dispatcher. Usually listing two folders suffices.
func (s *store) look() error {
	names, err := s.home.List("open")
	if err != nil {
		return err
	}
	shards, err := s.home.List("closed")
	if err != nil {
		return err
	}
	if closed := s.mark.Threads.N - len(s.open); len(names) == len(s.open) && len(shards) >= s.shards &&
		(closed == 0 || len(shards) > 0) {
		s.shards = len(shards)
		return nil
	}
	s.shards = 0
	return s.restoreLost(s.mark.Threads)
}

// replay applies a journalled input to the threads on disk.
func (s *store) replay(in thread.Input) error {
	t, err := s.load(in.Key)
	if err != nil {
		return err
	}
	next, _ := thread.Apply(*t, in)
	if in.Event != nil && in.Event.Seq != nil {
		s.mark.Seq = max(s.mark.Seq, *in.Event.Seq)
	}
	if in.Threads != nil {
		s.mark.Threads = *in.Threads
	}
	if err := s.file(t, in); err != nil {
		return err
	}
	return s.save(&next)
}

// sorted returns the open threads, oldest first.
func (s *store) sorted() []*thread.Thread {
	var ts []*thread.Thread
	for _, t := range s.open {
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *thread.Thread) int {
		if a.StartedAt != b.StartedAt {
			if a.StartedAt < b.StartedAt {
				return -1
			}
			return 1
		}
		return len(a.Key) - len(b.Key)
	})
	return ts
}

// waiting returns the number of threads that wait for a person.
func (s *store) waiting() (n int) {
	for _, t := range s.open {
		if t.Status == thread.PendingUser {
			n++
		}
	}
	return n
}

// load returns the thread of a key, or the zero thread if there is none.
func (s *store) load(key string) (*thread.Thread, error) {
	if t, ok := s.open[key]; ok {
		return t, nil
	}
	t, err := thread.LoadFile(s.home, thread.ClosedPath(key))
	if err != nil || t != nil {
		return t, err
	}
	return new(thread.Thread), nil
}

// save makes a thread durable, and keeps it in memory if it is open.
func (s *store) save(t *thread.Thread) error {
	if t.Key == "" {
		return nil
	}
	if err := t.Save(s.home); err != nil {
		return err
	}
	s.keep(t)
	return nil
}

// keep has the memory hold a thread as long as it is open.
func (s *store) keep(t *thread.Thread) {
	by := askerOf(t)
	if t.Status != thread.Closed {
		if s.open[t.Key] = t; s.askers[by] == nil {
			s.askers[by] = map[string]bool{}
		}
		s.askers[by][t.Key] = true
		return
	}
	delete(s.open, t.Key)
	if delete(s.askers[by], t.Key); len(s.askers[by]) == 0 {
		delete(s.askers, by)
	}
}

// asker is a person in a chat.
type asker struct {
	place
	id string
}

func askerOf(t *thread.Thread) asker {
	return asker{place{t.Platform, t.ChatID}, t.OriginalSenderID}
}

// atOnce is how many threads are made durable concurrently: a disk syncs many for about the cost of one.
const atOnce = 16

// saveAll stores the threads of a batch.
func (s *store) saveAll(order []string, moved map[string]*thread.Thread) error {
	if len(order) == 1 {
		return s.save(moved[order[0]])
	}
	errs := make([]error, len(order))
	room := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, key := range order {
		room <- struct{}{}
		wg.Go(func() {
			errs[i] = moved[key].Save(s.home)
			<-room
		})
	}
	wg.Wait()
	for _, key := range order {
		s.keep(moved[key])
	}
	return errors.Join(errs...)
}

// file saves the triage file that in makes due, if any.
func (s *store) file(t *thread.Thread, in thread.Input) error {
	path, content, due := t.File(in)
	if !due {
		return nil
	}
	return s.home.Replace(path, []byte(content))
}
