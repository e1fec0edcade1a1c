package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/todo"
)

// copied are the logs that FromCopy takes. The others are made from them by the stages.
var copied = []string{
	"actions.ndjson", decision.LogName, "discussions.ndjson", "events.ndjson", "labels.ndjson",
	"memory.ndjson", repliesName, "signals-done.ndjson", "spend.ndjson", todo.Name,
}

// FromCopy creates a home from a folder with copies of logs, as tri-nats sub keeps them. dir must not
// exist, or be empty.
//
// Each copy may lack lines of its own: the journal is cut where it names a line that is not there, and
// its inputs are then taken again from the other logs. Approvals and claims are treated as by Restore;
// since no file of the outbox is copied, every post that was claimed, and of which no reply is known,
// waits for a person.
func FromCopy(from, dir string, now time.Time) (Restored, error) {
	return into(dir, now, func(h *durable.Home) (n int, err error) {
		src, err := os.OpenRoot(from)
		if err != nil {
			return 0, sysexit.With(sysexit.NoInput, fmt.Errorf("read copy: %w", err))
		}
		defer src.Close()
		for _, name := range append(copied, journal.Name) {
			switch err := take(src, h, name); {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return n, fmt.Errorf("read copy of %s: %w", name, err)
			}
			n++
		}
		if !h.Exists("events.ndjson") || !h.Exists(decision.LogName) || !h.Exists(journal.Name) {
			return n, sysexit.Hint(sysexit.With(sysexit.Data,
				fmt.Errorf("%s has no copies of events, decisions and dispatch", from)),
				"tri-nats sub all keeps them")
		}
		if err := errors.Join(lists(h), claim(h, now)); err != nil {
			return n, err
		}
		return n, errors.Join(cutJournal(h), h.SyncDir("."))
	})
}

// take copies the whole lines of a log; a copy can end in the middle of one.
func take(src *os.Root, h *durable.Home, name string) error {
	in, err := src.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, sysexit.With(sysexit.Data, errors.New("no regular file")))
	}
	_, end, err := durable.LastLine(in, info.Size())
	if err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	_, err = write(h, name, io.LimitReader(in, end))
	return err
}

// lists drops the lines of todos.ndjson that carry out decisions which did not come over: others will have
// their numbers.
func lists(h *durable.Home) error {
	last, _, err := decision.Verify(h)
	if err != nil || !h.Exists(todo.Name) {
		return err
	}
	var kept []byte
	err = h.Lines(todo.Name, 0, func(line []byte) error {
		var l todo.Line
		if err := ndjson.Unmarshal(line, &l); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", todo.Name, err))
		}
		if l.N <= last {
			kept = append(append(kept, line...), '\n')
		}
		return nil
	})
	return errors.Join(err, h.Replace(todo.Name, kept))
}

// claim adds the claims of posts whose line came over and whose claim did not; a reply whose approval
// did not come either is left out.
func claim(h *durable.Home, now time.Time) error {
	state, err := standing(h)
	if err != nil {
		return err
	}
	var missing []decision.Record
	end, err := prefix(h, repliesName, func(line []byte) (bool, error) {
		var r outbox.Reply
		if err := ndjson.Unmarshal(line, &r); err != nil {
			return false, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", repliesName, err))
		}
		if state.Claim(decision.ID(r.Key, r.Cycle, r.DraftSHA256)) != nil {
			return true, nil
		}
		st := state.Standing(r.Key)
		if st == nil || !st.Approved() || st.Cycle != r.Cycle || st.Decision.DraftSHA256 != r.DraftSHA256 {
			return false, nil
		}
		missing = append(missing, decision.Record{Kind: decision.Claim, By: "tri-backup", Via: "code",
			Key: r.Key, Cycle: r.Cycle, DraftSHA256: r.DraftSHA256, At: text.Timestamp(now),
			Note: "it was posted: replies.ndjson has it"})
		return true, nil
	})
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		if err := decision.Anchor(h); err != nil {
			return err
		}
	}
	for _, r := range missing {
		if _, err := decision.Append(h, r); err != nil {
			return err
		}
	}
	return cut(h, repliesName, end)
}

// cutJournal cuts the journal before the first line that names an event which is missing. The result of a
// run that is missing is of the time before the logs were sent, and no reason.
func cutJournal(h *durable.Home) error {
	r := journal.NewReader(h)
	defer r.Close()
	end, err := prefix(h, journal.Name, func(line []byte) (bool, error) {
		var l journal.Line
		_, err := r.Input(line)
		if !errors.Is(err, journal.ErrGone) {
			return err == nil, err
		}
		err = ndjson.Unmarshal(line, &l)
		return err == nil && strings.Contains(l.Ref.Log, "/"), err
	})
	if err != nil {
		return err
	}
	return cut(h, journal.Name, end)
}

// prefix returns the end of the lines of a log before the first that does not fit.
func prefix(h *durable.Home, name string, fits func(line []byte) (bool, error)) (end int64, err error) {
	enough := errors.New("enough")
	err = h.Lines(name, 0, func(line []byte) error {
		ok, err := fits(line)
		if err == nil && !ok {
			err = enough
		}
		if err == nil {
			end += int64(len(line)) + 1
		}
		return err
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return end, err
}

func cut(h *durable.Home, name string, end int64) error {
	if !h.Exists(name) {
		return nil
	}
	return sysexit.With(sysexit.IO, os.Truncate(filepath.Clean(h.Path(name)), end))
}
