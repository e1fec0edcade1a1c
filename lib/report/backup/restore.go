package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// Restored is the result of Restore.
type Restored struct {
	Files   int
	Revoked int // approvals revoked: drafts whose posting had not begun
	Looked  int // posts that are looked up in the chat before they are made
}

// Restore creates a home from a copy. dir must not exist, or be empty.
//
// What was approved when the copy was made may have been posted since. Therefore Restore revokes
// every approval whose posting had not begun, and the pipeline investigates the question again; a
// post that had begun is looked up in the chat first.
func Restore(r io.Reader, dir string, now time.Time) (Restored, error) {
	return into(dir, now, func(h *durable.Home) (int, error) { return unpack(h, r) })
}

// into makes a home at dir of what fill puts into it, or leaves nothing there.
func into(dir string, now time.Time, fill func(*durable.Home) (int, error)) (done Restored, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return done, sysexit.Hint(sysexit.With(sysexit.Usage, fmt.Errorf("%q is not empty", dir)),
			"name a folder that is not there yet")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return done, sysexit.With(sysexit.IO, err)
	}
	unfinished := dir + ".restoring"
	if _, err := os.Lstat(unfinished); err == nil {
		return done, sysexit.Hint(sysexit.With(sysexit.Usage, fmt.Errorf("%q is in the way", unfinished)),
			"it is of a restore that was cut short; remove it")
	}
	if done, err = restore(unfinished, now, fill); err != nil {
		return done, errors.Join(err, os.RemoveAll(unfinished))
	}
	return done, sysexit.With(sysexit.IO, durable.Rename(unfinished, dir))
}

func restore(dir string, now time.Time, fill func(*durable.Home) (int, error)) (done Restored, err error) {
	h, err := durable.Open(dir)
	if err != nil {
		return done, err
	}
	defer h.Close()
	if done.Files, err = fill(h); err != nil {
		return done, err
	}
	if err := decision.Anchor(h); err != nil {
		return done, err
	}
	state, err := standing(h)
	if err != nil {
		return done, err
	}
	if done.Revoked, err = revoke(h, state, now); err != nil {
		return done, err
	}
	done.Looked, err = look(h, state, now)
	return done, err
}

// maxFile is the maximum size of one file of a copy, in bytes.
const maxFile = 64 << 30

func unpack(h *durable.Home, r io.Reader) (n int, err error) {
	bad := func(err error) error { return sysexit.With(sysexit.Data, fmt.Errorf("read backup: %w", err)) }
	zip, err := gzip.NewReader(r)
	if err != nil {
		return 0, bad(err)
	}
	in := tar.NewReader(zip)
	have := map[string]file{}
	var told *manifest
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, bad(err)
		}
		if head.Typeflag != tar.TypeReg || !fs.ValidPath(head.Name) || head.Size > maxFile || told != nil {
			return n, bad(fmt.Errorf("%q is not a file of a home", head.Name))
		}
		if head.Name == manifestName {
			told = new(manifest)
			if err := json.NewDecoder(in).Decode(told); err != nil {
				return n, bad(fmt.Errorf("%s: %w", manifestName, err))
			}
			continue
		}
		c, err := write(h, head.Name, in)
		if err != nil {
			return n, fmt.Errorf("restore %q: %w", head.Name, err)
		}
		have[c.Name] = c
		n++
	}
	// The checksum of the whole copy follows its last file.
	if _, err := io.Copy(io.Discard, zip); err != nil {
		return n, bad(err)
	}
	if err := told.check(have); err != nil {
		return n, bad(err)
	}
	for name := range have {
		if err := h.SyncDir(path.Dir(name)); err != nil {
			return n, err
		}
	}
	return n, nil
}

// check compares the unpacked files with the manifest. Copies of earlier versions have none; they
// must at least contain a file that every home has.
func (m *manifest) check(have map[string]file) error {
	if m == nil {
		for _, name := range []string{"config.yaml", "events.ndjson", decision.LogName, "dispatch.ndjson"} {
			if _, ok := have[name]; ok {
				return nil
			}
		}
		return errors.New("it holds no home")
	}
	for _, c := range m.Files {
		if have[c.Name] != c {
			return fmt.Errorf("%q is not as it was copied", c.Name)
		}
	}
	if len(m.Files) != len(have) {
		return fmt.Errorf("it has %d files, and lists %d", len(have), len(m.Files))
	}
	return nil
}

func write(h *durable.Home, name string, r io.Reader) (file, error) {
	if err := h.MkdirAll(path.Dir(name)); err != nil {
		return file{}, err
	}
	f, err := h.Root().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return file{}, sysexit.With(sysexit.IO, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), r)
	return file{name, n, hex.EncodeToString(sum.Sum(nil))},
		sysexit.With(sysexit.IO, errors.Join(err, f.Sync(), f.Close()))
}

// since is the reason recorded for revoked and doubtful posts.
const since = "the home was restored from a copy: it may have been posted since"

// standing folds the log of decisions. Approvals count whether or not the approver is on the
// current list: an approval that the list would reject needs no revoking, but revoking it does no
// harm.
func standing(h *durable.Home) (*decision.State, error) {
	rs, err := decision.Read(h)
	policy := decision.Policy{Auto: true}
	for _, r := range rs {
		policy.Approvers = append(policy.Approvers, r.By)
	}
	state := decision.NewState(policy)
	for _, r := range rs {
		state.Add(r)
	}
	return state, err
}

// revoke revokes every approval whose posting had not begun.
func revoke(h *durable.Home, state *decision.State, now time.Time) (n int, err error) {
	var open []decision.Record
	state.Keys(func(st *decision.Standing) {
		if st.Approved() {
			open = append(open, decision.Record{
				Kind: decision.Revoke, By: "tri-backup", Via: "code", Key: st.Key, Cycle: st.Cycle,
				DraftSHA256: st.Decision.DraftSHA256, At: text.Timestamp(now), Note: since,
			})
		}
	})
	slices.SortFunc(open, func(a, b decision.Record) int { return strings.Compare(a.Key, b.Key) })
	for _, r := range open {
		if _, err := decision.Append(h, r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// look marks every post that had begun as interrupted, so that it is looked up in the chat before
// it is made. A post that was claimed and about which nothing else is known waits for a person. What people
// decided about a parked post may have been done since: a higher number of tries makes them decide again.
func look(h *durable.Home, state *decision.State, now time.Time) (n int, err error) {
	claims := state.Claims()
	entries, err := outbox.Open(h)
	rs, bad := decision.Read(h)
	if err = errors.Join(err, bad); err != nil {
		return 0, err
	}
	tries := map[string]int{}
	for _, r := range rs {
		tries[r.Post] = max(tries[r.Post], r.Tries)
	}
	known := map[string]bool{}
	for _, e := range entries {
		id := decision.ID(e.Key, e.Cycle, e.DraftSHA256)
		if state.Claim(id) == nil { // claimed since the copy began
			if err := e.Remove(h); err != nil {
				return n, err
			}
			continue
		}
		known[id] = true
		switch e.Tries = max(e.Tries, tries[e.ID]) + 1; e.State {
		case outbox.Intent:
			e.TriedAt = text.Timestamp(now)
			n++
		case outbox.Parked:
		default:
			continue
		}
		if err := e.Save(h); err != nil {
			return n, err
		}
	}
	if err := unclaimed(h, state); err != nil {
		return n, err
	}
	if err := replied(h, known); err != nil {
		return n, err
	}
	for _, st := range claims {
		d := st.Decision
		if known[d.ID()] || st.Offer.Target == nil {
			continue
		}
		for _, e := range outbox.Derive(d, st.Offer.Target, 0) {
			e.State, e.Tries, e.Why = outbox.Parked, tries[e.ID]+1, since
			e.TriedAt, e.IntentAt = text.Timestamp(now), text.Timestamp(now)
			if err := e.Save(h); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// unclaimed removes the outbox entries of posts that were claimed and finished after the copy
// began.
func unclaimed(h *durable.Home, state *decision.State) error {
	names, err := h.List(outbox.Done)
	if err != nil {
		return err
	}
	for _, name := range names {
		id, ours := strings.CutSuffix(name, ".json")
		if !ours {
			continue
		}
		e, err := outbox.Read(h, outbox.Done, id)
		if err != nil {
			return err
		}
		if e != nil && state.Claim(decision.ID(e.Key, e.Cycle, e.DraftSHA256)) == nil {
			if err := h.Remove(outbox.Done + "/" + name); err != nil {
				return err
			}
		}
	}
	return nil
}

// replied adds the drafts that have a line in replies.ndjson.
func replied(h *durable.Home, known map[string]bool) error {
	text, err := h.ReadFile(repliesName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	for line := range bytes.Lines(text) {
		var r outbox.Reply
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // torn: tri-reply truncates it and looks the post up
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read replies.ndjson: %w", err))
		}
		known[decision.ID(r.Key, r.Cycle, r.DraftSHA256)] = true
	}
	return nil
}
