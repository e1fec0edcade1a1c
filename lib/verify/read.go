package verify

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"

	"github.com/tidwall/gjson"

	"tri/lib/decision"
	"tri/lib/disk"
	"tri/lib/ledger"
	"tri/lib/ndjson"
	"tri/lib/shape"
	"tri/lib/sysexit"
)

// split adds a job for each part of a log.
func split(j *jobs, h *disk.Home, name, schema string) error {
	cuts, err := ledger.Parts(h, name, 0, -1, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	for i := range len(cuts) - 1 {
		j.add(name, func(f *Finding) error { return piece(h, name, schema, cuts[i], cuts[i+1], f, nil) })
	}
	return nil
}

// lines calls fn for each whole line that begins in a part of a log, and returns
// how many bytes stand behind the last newline.
func lines(h *disk.Home, name string, from, until int64, fn func(at int64, line []byte, long bool)) (torn int64, err error) {
	file, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, readError(name, err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return 0, readError(name, err)
	}
	at, r := from, bufio.NewReaderSize(file, ndjson.MaxLine+1)
	for until < 0 || at < until {
		line, err := r.ReadSlice('\n')
		size, long := int64(len(line)), errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			var more []byte
			more, err = r.ReadSlice('\n')
			size += int64(len(more))
		}
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return 0, readError(name, err)
		}
		if !long {
			line = line[:len(line)-1]
		}
		fn(at, line, long)
		at += size
	}
	return 0, nil
}

func readError(name string, err error) error {
	return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
}

// files checks each file of a folder.
func files(h *disk.Home, dir, schema string, f *Finding) error {
	names, err := h.List(dir)
	if err != nil {
		return err
	}
	s, err := shape.Load(schema)
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(name) > 5 && name[len(name)-5:] == ".json" {
			f.Records++
			if err := file(h, dir+"/"+name, s); err != nil {
				f.bad(name, err)
			}
		}
	}
	return nil
}

func file(h *disk.Home, path string, s *shape.Shape) error {
	b, err := h.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was moved since it was listed
	}
	if err == nil {
		err = ndjson.Check(b)
	}
	if err != nil {
		return err
	}
	return s.Check(b)
}

// runs checks the results that are published.
func runs(h *disk.Home, f *Finding) error {
	ids, err := h.List("runs")
	if err != nil {
		return err
	}
	s, err := shape.Load("run")
	if err != nil {
		return err
	}
	for _, id := range ids {
		path := "runs/" + id + "/result.json"
		if !h.Exists(path) {
			continue
		}
		f.Records++
		if err := file(h, path, s); err != nil {
			f.bad(id, err)
		}
	}
	return nil
}

// approvals checks that a claim stands before each reply: that is what an approval
// becomes when it is posted.
func approvals(h *disk.Home, f *Finding) error {
	claimed := map[string]bool{}
	err := h.Lines(decision.LogName, 0, func(line []byte) error {
		if v := gjson.GetManyBytes(line, "kind", "key", "cycle", "draft_sha256"); v[0].Str == decision.Claim {
			claimed[decision.ID(v[1].String(), int(v[2].Int()), v[3].String())] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.Lines("replies.ndjson", 0, func(line []byte) error {
		var r struct {
			Key   string `json:"key"`
			Cycle int    `json:"cycle"`
			SHA   string `json:"draft_sha256"`
		}
		f.Records++
		if err := json.Unmarshal(line, &r); err != nil {
			f.bad("replies.ndjson", err)
		} else if !claimed[decision.ID(r.Key, r.Cycle, r.SHA)] {
			f.bad(fmt.Sprintf("%s, cycle %d", r.Key, r.Cycle), errors.New("it was posted, and no claim stands in the decision log"))
		}
		return nil
	})
}
