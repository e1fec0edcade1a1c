package fsck

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// sums adds a job for each log of the home that has sums: any changed byte of it is reported,
// whatever its schema says.
func sums(j *jobs, h *durable.Home) error {
	entries, err := fs.ReadDir(h.Root().FS(), ".")
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("list the home: %w", err))
	}
	for _, e := range entries {
		name, ours := strings.CutSuffix(e.Name(), ".sum")
		name, hidden := strings.CutPrefix(name, ".")
		if !ours || !hidden {
			continue
		}
		j.add(name, func(f *Finding) error {
			end, err := h.CheckSums(name, 0, func(from, to int64, err error) {
				f.bad(fmt.Sprintf("bytes %d to %d", from, to), err)
			})
			if info, serr := h.Root().Stat(name); serr == nil && f.Bad == 0 && info.Size() > end {
				f.Note = fmt.Sprintf("%d bytes at the end have no sum yet: the next append adds it", info.Size()-end)
			}
			return err
		})
	}
	return nil
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

// sealed checks one file; a missing one is skipped. It reports whether the file is there and whole.
func (r *reader) sealed(f *Finding, dir, name, called string) bool {
	b, err := r.read(dir, name)
	if err != nil {
		return false // not there, or moved after its folder was listed
	}
	f.Records++
	_, err = durable.Sealed(b)
	if err != nil {
		f.bad(called, err)
	}
	return err == nil
}

// runs checks the published results of runs, and what the runs left beside them.
func runs(h *durable.Home, f *Finding) error {
	ids, err := h.List("runs")
	if err != nil {
		return err
	}
	c, err := newChecker(h, "run")
	if err != nil {
		return err
	}
	defer c.close()
	aside := &Finding{}
	for _, id := range ids {
		for _, name := range []string{"state.json", "request.json", "cancel.json"} {
			c.sealed(aside, "runs", id+"/"+name, id+"/"+name)
		}
		was, had := f.Bad, f.Records
		if c.file(f, "runs", id+"/result.json", id); f.Bad > was || f.Records == had {
			continue
		}
		if err := run.CheckFiles(h, "runs/"+id); err != nil {
			f.bad(id, err)
		}
	}
	f.Bad += aside.Bad
	f.Problems = append(f.Problems, aside.Problems[:min(len(aside.Problems), maxProblems-len(f.Problems))]...)
	return nil
}
