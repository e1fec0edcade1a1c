package thread

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/verdict"
)

// OpenPath returns the path of an open thread.
func OpenPath(key string) string { return "open/" + key + ".json" }

// ClosedPath returns the path of a closed thread. Closed threads are stored outside the folder
// that programs list.
func ClosedPath(key string) string {
	return "closed/" + text.SHA256(key)[:2] + "/" + key + ".json"
}

func (t *Thread) path() string {
	if t.Status == Closed {
		return ClosedPath(t.Key)
	}
	return OpenPath(t.Key)
}

// Load reads a thread, open or closed, nil if there is none. Between the two steps of a move both
// files may exist: the open one, if its thread is not closed, is the newer. Save removes the
// other.
func Load(h *durable.Home, key string) (*Thread, error) {
	for _, path := range []string{OpenPath(key), ClosedPath(key)} {
		t, err := LoadFile(h, path)
		if err != nil || t != nil {
			return t, err
		}
	}
	return nil, nil
}

// Open yields the threads that are not closed, in the order of their keys. An unreadable thread
// yields its error instead.
func Open(h *durable.Home) iter.Seq2[*Thread, error] {
	return func(yield func(*Thread, error) bool) {
		names, err := h.List("open")
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			t, err := LoadFile(h, "open/"+name)
			if t == nil && err == nil {
				continue // closed since the folder was listed
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// CountFiles counts the threads that have a file, open or closed.
func CountFiles(h *durable.Home) (c Count, err error) {
	seen := map[string]bool{}
	for file, err := range Files(h) {
		if err != nil {
			return c, err
		}
		if key := KeyOf(file); !seen[key] {
			seen[key] = true
			c.Add(key)
		}
	}
	return c, nil
}

// Files yields the paths of the files of all threads, those of open ones first.
func Files(h *durable.Home) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		folders := []string{"open"}
		shards, err := h.List("closed")
		if err != nil && !yield("", err) {
			return
		}
		for _, s := range shards {
			folders = append(folders, "closed/"+s)
		}
		for _, folder := range folders {
			names, err := h.List(folder)
			if err != nil && !yield("", err) {
				return
			}
			for _, name := range names {
				if !yield(folder+"/"+name, nil) {
					return
				}
			}
		}
	}
}

// KeyOf returns the key of the thread that has a file.
func KeyOf(file string) string { return strings.TrimSuffix(path.Base(file), ".json") }

var statuses = []string{Investigating, AwaitingValidation, PendingUser, BouncedRound1, Escalated, Closed}

// LoadFile reads a thread's file, nil if it does not exist.
func LoadFile(h *durable.Home, path string) (*Thread, error) {
	b, err := h.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read thread %q: %w", path, err))
	}
	t := new(Thread)
	err = json.Unmarshal(b, t)
	if err == nil && !slices.Contains(statuses, t.Status) { // nothing would ever be due for it
		err = sysexit.With(sysexit.Data, fmt.Errorf("its status is %q", t.Status))
	}
	if err != nil {
		return nil, sysexit.Hint(fmt.Errorf("read thread %q: %w", path, err),
			"tri-dispatch --rebuild makes the threads again from dispatch.ndjson")
	}
	if v := t.ValidatorReturn; v != nil && v.Proved == "" {
		t.Badge = strings.Replace(t.Badge, "✓ validated", verdict.Earlier, 1) // the word means more now
	}
	return t, nil
}

// Marshal returns the file format of the thread.
func (t *Thread) Marshal() ([]byte, error) {
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write thread %q: %w", t.Key, err)
	}
	return append(b, '\n'), nil
}

// Save durably writes the thread to its path. The journal is durable before it, so the next fold
// repairs a crash between the two steps of a move.
func (t *Thread) Save(h *durable.Home) error {
	b, err := t.Marshal()
	if err != nil {
		return err
	}
	if err := h.Replace(t.path(), b); err != nil {
		return err
	}
	other := OpenPath(t.Key)
	if t.Status != Closed {
		other = ClosedPath(t.Key)
	}
	if h.Exists(other) {
		return h.Remove(other)
	}
	return nil
}

// FileName makes a safe file name of the name that an agent proposed. It includes a mark of the
// thread and cycle, so that an agent cannot choose an existing file.
func FileName(proposed, key string, cycle int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(proposed) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
			b.WriteRune(r)
		case r == '.' && b.Len() > 0, r == ' ', r == '/':
			b.WriteByte('-')
		}
		if b.Len() >= 80 {
			break
		}
	}
	name := strings.TrimSuffix(strings.Trim(b.String(), "-"), "-md")
	if name == "" {
		name = "note"
	}
	return name + "-" + text.SHA256(fmt.Sprintf("%s\x00%d", key, cycle))[:8] + ".md"
}
