package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"

	"tri/lib/record/journal"
	"tri/lib/record/thread"
)

// recover brings memory and threads to the end of the journal: inputs that were journalled but not applied
// when the last dispatcher ended are applied now.
func (d *Dispatcher) recover(ctx context.Context) error {
	if err := d.readThreads(); err != nil {
		return err
	}
	for _, t := range d.threads { // a move interrupted between its two steps
		if err := d.Home.Remove(thread.ClosedPath(t.Key)); err != nil {
			return err
		}
	}
	if err := d.readDecisions(); err != nil {
		return err
	}
	if _, err := readLines(d.Home, "replies.ndjson", 0, func(line []byte) error { return d.noteReply(line) }); err != nil {
		return err
	}
	if err := d.retireClosed(); err != nil {
		return err
	}
	for _, t := range d.sorted() {
		if err := d.do(t); err != nil {
			return err
		}
	}
	if err := errors.Join(d.stopLost(), d.settleLost()); err != nil {
		return err
	}
	if err := d.each(func(s subscriber) error { return s.begun(d.sorted(), d.load) }); err != nil {
		return err
	}
	for _, t := range d.sorted() {
		d.noteBroke(t)
	}
	return d.startRuns(ctx)
}

// readThreads reads the open threads and applies the journal after the mark.
func (d *Dispatcher) readThreads() error {
	saved, found, err := loadMark(d.Home)
	if err != nil {
		return err
	}
	if d.mark, d.saved = saved, saved; saved.Fold < foldVersion {
		if err := upgrade(d.Home, d.journal, &d.mark, found); err != nil {
			return err
		}
	}
	if err := d.loadOpen(); err != nil {
		return err
	}
	r := journal.NewReader(d.Home)
	defer r.Close()
	d.mark.Journal, err = readLines(d.Home, journal.Name, d.mark.Journal, func(line []byte) error {
		in, err := r.Input(line)
		if errors.Is(err, journal.ErrGone) {
			d.Say("%v: passed over", err) // a run is repeated, or a message was deleted by hand
			return nil
		}
		if err != nil {
			return err
		}
		return d.replay(in)
	})
	if err != nil {
		return err
	}
	return d.restoreLost(d.mark.Threads)
}

func (d *Dispatcher) loadOpen() error {
	clear(d.threads)
	for t, err := range thread.Open(d.Home) {
		if err != nil {
			return err
		}
		d.threads[t.Key] = t
	}
	return nil
}

// restoreLost rebuilds the threads from the journal if some are missing.
func (d *Dispatcher) restoreLost(want thread.Count) error {
	have, err := thread.CountFiles(d.Home)
	if err != nil || have == want {
		return err
	}
	d.Say("open/ and closed/ have %d threads, and should have %d: they are made anew from %s", have.N, want.N, journal.Name)
	_, m, err := rebuild(d.Home)
	if err != nil {
		return err
	}
	d.mark.Threads = m.Threads
	return d.loadOpen()
}

// lookForThreads is restoreLost for a running dispatcher. Usually listing two folders suffices.
func (d *Dispatcher) lookForThreads() error {
	names, err := d.Home.List("open")
	if err != nil {
		return err
	}
	shards, err := d.Home.List("closed")
	if err != nil {
		return err
	}
	if closed := d.mark.Threads.N - len(d.threads); len(names) == len(d.threads) && len(shards) >= d.shards && (closed == 0 || len(shards) > 0) {
		d.shards = len(shards)
		return nil
	}
	d.shards = 0
	return d.restoreLost(d.mark.Threads)
}

// retireClosed withdraws offers left open by a dispatcher that was killed after closing a thread and
// before recording it in the decision log.
func (d *Dispatcher) retireClosed() error {
	for key := range d.offered {
		s := d.decisions.Standing(key)
		if d.threads[key] != nil || s == nil || s.Offer == nil || s.Void != "" || s.Claimed {
			continue
		}
		t, err := d.load(key)
		if err != nil {
			return err
		}
		if err := d.do(t); err != nil {
			return err
		}
	}
	return nil
}

// replay applies a journalled input to the threads on disk.
func (d *Dispatcher) replay(in thread.Input) error {
	t, err := d.load(in.Key)
	if err != nil {
		return err
	}
	next, _ := thread.Apply(*t, in)
	if in.Event != nil && in.Event.Seq != nil {
		d.mark.Seq = max(d.mark.Seq, *in.Event.Seq)
	}
	if in.Threads != nil {
		d.mark.Threads = *in.Threads
	}
	if err := d.file(t, in); err != nil {
		return err
	}
	return d.store(&next)
}

// sorted returns the open threads, oldest first.
func (d *Dispatcher) sorted() []*thread.Thread {
	var ts []*thread.Thread
	for _, t := range d.threads {
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

// load returns the thread of a key, or the zero thread if there is none.
func (d *Dispatcher) load(key string) (*thread.Thread, error) {
	if t, ok := d.threads[key]; ok {
		return t, nil
	}
	t, err := thread.LoadFile(d.Home, thread.ClosedPath(key))
	if err != nil || t != nil {
		return t, err
	}
	return new(thread.Thread), nil
}

// store makes a thread durable, and keeps it in memory if it is open.
func (d *Dispatcher) store(t *thread.Thread) error {
	if t.Key == "" {
		return nil
	}
	if err := t.Save(d.Home); err != nil {
		return err
	}
	d.keep(t)
	return nil
}

func (d *Dispatcher) keep(t *thread.Thread) {
	if t.Status == thread.Closed {
		delete(d.threads, t.Key)
	} else {
		d.threads[t.Key] = t
	}
}

// atOnce is how many threads are made durable concurrently: a disk syncs many for about the cost of one.
const atOnce = 16

// storeAll stores the threads of a batch.
func (d *Dispatcher) storeAll(order []string, moved map[string]*thread.Thread) error {
	if len(order) == 1 {
		return d.store(moved[order[0]])
	}
	errs := make([]error, len(order))
	room := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, key := range order {
		room <- struct{}{}
		wg.Go(func() {
			errs[i] = moved[key].Save(d.Home)
			<-room
		})
	}
	wg.Wait()
	for _, key := range order {
		d.keep(moved[key])
	}
	return errors.Join(errs...)
}

// file saves the triage file that in makes due, if any.
func (d *Dispatcher) file(t *thread.Thread, in thread.Input) error {
	path, content, due := t.File(in)
	if !due {
		return nil
	}
	return d.Home.Replace(path, []byte(content))
}
