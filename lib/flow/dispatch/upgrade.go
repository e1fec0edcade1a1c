package dispatch

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/record/journal"
	"tri/lib/record/thread"
)

// upgrade converts a home of an earlier version. Its journal holds whole copies of its inputs, which can
// still be read, but its threads were folded by other rules. So the threads in open/ and closed/ are
// written into the journal as they are: from there on this version folds them, and no question is asked or
// answered again. found says whether m was read from disk.
func upgrade(h *durable.Home, j *journal.Journal, m *mark, found bool) error {
	size, err := wholeSize(h, journal.Name)
	if err != nil {
		return err
	}
	m.Fold = foldVersion
	if size == 0 {
		return nil
	}
	if !found {
		if ours, err := ofThisVersion(h); ours || err != nil {
			// Only dispatch.json is lost: the journal holds everything in it except the decisions and
			// replies, which the threads know.
			_, rebuilt, rerr := rebuild(h)
			*m = rebuilt
			return errors.Join(err, rerr)
		}
	}
	if err := finish(h, m); err != nil {
		return err
	}
	at, err := lastTime(h)
	if err != nil {
		return err
	}
	ins, err := snapshots(h, at, &m.Threads)
	if err != nil {
		return err
	}
	for len(ins) > 0 {
		n := min(len(ins), maxBatch)
		if m.Journal, err = j.Append(ins[:n]); err != nil {
			return err
		}
		for _, in := range ins[:n] { // as this version writes them
			next, _ := thread.Apply(thread.Thread{}, in)
			if err := next.Save(h); err != nil {
				return err
			}
		}
		ins = ins[n:]
	}
	return m.save(h)
}

// upgradeHome is upgrade without a dispatcher.
func upgradeHome(h *durable.Home, m *mark, found bool) error {
	j, err := journal.Open(h)
	if err != nil {
		return err
	}
	return errors.Join(upgrade(h, j, m, found), j.Close())
}

// ofThisVersion reports whether a journal was started, or converted, by this version.
func ofThisVersion(h *durable.Home) (ours bool, err error) {
	r := journal.NewReader(h)
	defer r.Close()
	_, err = readLines(h, journal.Name, 0, func(line []byte) error {
		in, err := r.Input(line)
		ours = ours || in.Threads != nil || in.Thread != nil
		if errors.Is(err, journal.ErrGone) {
			err = nil
		}
		return err
	})
	return ours, err
}

// finish applies inputs that the earlier version journalled but did not apply.
func finish(h *durable.Home, m *mark) error {
	r := journal.NewReader(h)
	defer r.Close()
	var err error
	m.Journal, err = readLines(h, journal.Name, m.Journal, func(line []byte) error {
		in, err := r.Input(line)
		if err != nil {
			return err
		}
		t, err := thread.Load(h, in.Key)
		if t == nil {
			t = new(thread.Thread)
		}
		if err != nil || t.Knows(in) {
			return err
		}
		if in.Event != nil && in.Event.Seq != nil {
			m.Seq = max(m.Seq, *in.Event.Seq)
		}
		if p, content, due := t.File(in); due {
			if err := h.Replace(p, []byte(content)); err != nil {
				return err
			}
		}
		next, _ := thread.Apply(*t, in)
		if next.Key == "" {
			return nil
		}
		return next.Save(h)
	})
	return err
}

// lastTime returns the time of the journal's last line: times in it never decrease.
func lastTime(h *durable.Home) (at string, err error) {
	_, err = readLines(h, journal.Name, 0, func(line []byte) error {
		at = gjson.GetBytes(line, "at").String()
		return nil
	})
	return at, err
}

// snapshots returns the threads of a home as inputs.
func snapshots(h *durable.Home, at string, count *thread.Count) ([]thread.Input, error) {
	var ins []thread.Input
	*count = thread.Count{}
	seen := map[string]bool{}
	for file, err := range thread.Files(h) {
		if err != nil {
			return nil, err
		}
		t, err := thread.LoadFile(h, file)
		if err != nil {
			return nil, fmt.Errorf("take over the home of an earlier version: %w", err)
		}
		if t != nil && !seen[t.Key] { // open/ comes first
			seen[t.Key] = true
			count.Add(t.Key)
			ins = append(ins, thread.Input{At: at, Key: t.Key, Thread: t})
		}
	}
	return ins, nil
}
