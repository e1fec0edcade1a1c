package fsck

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// sums adds a job for each log of the home that has sums: any changed byte of it is reported,
// whatever its schema says.
func sums(j *jobs, h *durable.Home) error {
	logs, err := summed(h, ".")
	for _, name := range logs {
		j.add(name, func(f *Finding) error { return logSums(h, name, "", f) })
	}
	return err
}

// summed returns the logs of a folder that have sums.
func summed(h *durable.Home, dir string) (logs []string, err error) {
	entries, err := fs.ReadDir(h.Root().FS(), dir)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("list %q: %w", dir, err))
	}
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), ".sum")
		if name, hidden := strings.CutPrefix(name, "."); ours && hidden {
			logs = append(logs, path.Join(dir, name))
		}
	}
	return logs, nil
}

// logSums compares a log with its sums; called is how problems name it.
func logSums(h *durable.Home, name, called string, f *Finding) error {
	was := f.Bad
	end, err := h.CheckSums(name, 0, func(from, to int64, err error) {
		f.bad(fmt.Sprintf("%sbytes %d to %d", called, from, to), err)
	})
	info, serr := h.Root().Stat(name)
	if err != nil || serr != nil || f.Bad > was || info.Size() <= end {
		return err
	}
	if twice, err := repeats(h, name, end, info.Size()); err != nil || twice {
		f.bad(called+"the end", errors.New("its last line is there twice"))
	} else if called == "" {
		f.Note = fmt.Sprintf("%d bytes at the end have no sum yet: the next append adds it", info.Size()-end)
	}
	return err
}

// repeats reports whether the lines of a log from end on, which have no sum yet, are a copy of those before
// it. Each line of a log differs from the one before by its time, offset or id.
func repeats(h *durable.Home, name string, end, size int64) (bool, error) {
	n := size - end
	if n > end || n > ndjson.MaxLine {
		return false, nil
	}
	f, err := h.Root().Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	b := make([]byte, 2*n)
	if _, err := f.ReadAt(b, end-n); err != nil {
		return false, err
	}
	return bytes.Equal(b[:n], b[n:]), nil
}

// sealed checks the files of state that programs trust when they start.
func sealed(h *durable.Home, f *Finding) error {
	names := []string{"dispatch.json", "waiting.json", "decisions.head", "cards.json"}
	saved, err := h.List("watch")
	if err != nil {
		return err
	}
	for _, name := range saved {
		names = append(names, "watch/"+name)
	}
	r := newReader(h)
	defer r.close()
	for _, name := range names {
		r.sealed(f, path.Dir(name), path.Base(name), name)
	}
	return nil
}

// sealed checks one file; a missing one is skipped.
func (r *reader) sealed(f *Finding, dir, name, called string) {
	b, err := r.read(dir, name)
	if err != nil {
		return // not there, or moved after its folder was listed
	}
	f.Records++
	if _, err = durable.Sealed(b); err != nil {
		f.bad(called, err)
	}
}

// runSums checks the files of a run that its programs trust, and what its result says of others.
func (r *reader) runSums(f *Finding, id string) error {
	dir := "runs/" + id
	logs, err := summed(r.home, dir)
	for _, log := range logs {
		err = errors.Join(err, logSums(r.home, log, log+": ", f))
	}
	records := f.Records
	for _, name := range []string{"state.json", "request.json", "cancel.json", "checkpoint.json"} {
		r.sealed(f, "runs", id+"/"+name, id+"/"+name)
	}
	f.Records = records // of results
	if werr := run.CheckFiles(r.home, dir); werr != nil && !errors.Is(werr, fs.ErrNotExist) {
		f.bad(id, werr)
	}
	return err
}
