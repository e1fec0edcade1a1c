// Package backup writes a consistent copy of a home into one file while its pipeline runs, and
// restores it without posting twice.
//
// Logs are copied up to their size at the start of the copy. A log that is derived from another is
// measured before it, so that every reply in the copy has its claim in it. Marks of how far a log or
// a chat was read are copied before all logs, so that none is ahead. Threads are derived from the
// journal: tri-backup restore rebuilds them with tri-dispatch --rebuild. The copy ends with the
// hashes of its files and is verified to its last byte. To every program a restored copy looks like
// a home whose programs were killed. What was posted after the copy was made is handled by Restore.
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
	"path"
	"slices"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/presence"
	"tri/lib/record/todo"
)

// left are the files that a copy does not need: they are rebuilt or belong to processes.
var left = []string{"locks", "index", "logs", "supervise.json", "watch.json", presence.Folder,
	decision.HeadName}

const (
	markName     = "dispatch.json"
	repliesName  = "replies.ndjson"
	manifestName = ".manifest.json" // the last entry of a copy
)

// logs are the derived logs, each before the log it is derived from, so that every reply in the
// copy has its claim in it, and every input of the journal its line.
var logs = []string{
	"dispatch.ndjson", "events-classified.ndjson", "events-turns.ndjson", "events-threaded.ndjson",
	"events.ndjson", "signals-done.ndjson", repliesName, decision.LogName, todo.Name,
}

// manifest lists the contents of a copy.
type manifest struct {
	Files []file `json:"files"`
}

// file is one entry of a manifest.
type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Save writes to w the state of a home at the time of the call: logs are copied up to their size at
// that time. Files derived from them are rebuilt by Restore.
func Save(h *durable.Home, w io.Writer) error {
	at, err := begin(h)
	if err != nil {
		return err
	}
	names, err := list(h)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	var m manifest
	for _, name := range names {
		c, err := at.put(h, out, name)
		if err != nil {
			return fmt.Errorf("back up %q: %w", name, err)
		}
		if c != nil {
			m.Files = append(m.Files, *c)
		}
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = out.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(b)),
			Format: tar.FormatPAX})
	}
	if err == nil {
		_, err = out.Write(b)
	}
	return sysexit.With(sysexit.IO, errors.Join(err, out.Close(), zip.Close()))
}

// instant is the state of a home at one point in time: the sizes of its logs, and the marks, which
// no log may be behind.
type instant struct {
	marks map[string][]byte
	sizes map[string]int64
}

// marks match the files that say how far a program has read: tri-dispatch's and the cards' in the logs,
// tri-watch's in each chat.
var marks = []string{"*.json", "watch/*.json"}

func isMark(name string) bool {
	return slices.ContainsFunc(marks, func(pattern string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

func begin(h *durable.Home) (*instant, error) {
	at := &instant{marks: map[string][]byte{}, sizes: map[string]int64{}}
	names, err := list(h)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !isMark(name) {
			continue
		}
		b, err := h.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, sysexit.With(sysexit.IO, err)
		}
		if err == nil {
			at.marks[name] = b
		}
	}
	for _, name := range logs {
		info, err := h.Root().Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, sysexit.With(sysexit.IO, err)
		}
		if at.sizes[name] = -1; err == nil {
			at.sizes[name] = info.Size()
		}
	}
	return at, nil
}

// list returns the files to copy.
func list(h *durable.Home) ([]string, error) {
	var names []string
	err := fs.WalkDir(h.Root().FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // a thread that was just closed; its log contains it
			return nil
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(left, name):
			return fs.SkipDir
		case !d.Type().IsRegular() || slices.Contains(left, name) ||
			strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "lock":
			return nil
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

// put copies one file, as far as it existed at that time; it returns nil if it did not. A log may
// grow meanwhile.
func (at *instant) put(h *durable.Home, out *tar.Writer, name string) (*file, error) {
	f, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size, in := info.Size(), io.Reader(f)
	if n, known := at.sizes[name]; known {
		size = n
	}
	mark, early := at.marks[name]
	if size < 0 || isMark(name) && !early {
		return nil, nil // it was created later
	}
	if early {
		size, in = int64(len(mark)), bytes.NewReader(mark)
	}
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: info.ModTime(),
		Format: tar.FormatPAX}); err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err = io.CopyN(io.MultiWriter(out, sum), in, size); errors.Is(err, io.EOF) {
		return nil, sysexit.With(sysexit.TempFail, errors.New("it became shorter meanwhile: try again"))
	}
	return &file{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}
