package codesearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/filename"
	"tri/lib/judge/safety"
)

// file is the index's record of one file.
type file struct {
	entry
	extra bool // it is in the extra segment; the base is out of date for it
}

// least is how many changed files are kept in the extra segment before everything is read again; for a
// large folder, an eighth of it.
const least = 64

// refresh finds new, changed and deleted files by size and modification time, as git does, and reads them.
// The first time, it looks for an index on disk.
func (x *Index) refresh(ctx context.Context) error {
	if x.root == nil {
		return ctx.Err()
	}
	if x.base == nil {
		x.load()
	}
	changed, err := x.walk(ctx)
	if err != nil {
		return fmt.Errorf("read %q: %w", x.root.Name(), err)
	}
	if !changed && x.base != nil {
		return nil
	}
	apart := 0
	for _, f := range x.known {
		if f.extra {
			apart++
		}
	}
	if x.base == nil || apart > max(least, len(x.base.files)/8) {
		x.base, x.extra = x.build(slices.Collect(maps.Keys(x.known))), nil
		for path, f := range x.known {
			f.extra = false
			x.known[path] = f
		}
		x.save()
		return ctx.Err()
	}
	x.extra = nil
	if apart > 0 {
		var paths []string
		for path, f := range x.known {
			if f.extra {
				paths = append(paths, path)
			}
		}
		x.extra = x.build(paths)
	}
	return ctx.Err()
}

// walk brings known up to date and reports whether anything has changed.
func (x *Index) walk(ctx context.Context) (changed bool, err error) {
	x.skipped, x.fault = 0, nil
	seen := map[string]bool{}
	total := int64(0)
	git := ignores(x.root)
	err = fs.WalkDir(x.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if path == "." {
				return err
			}
			x.note(err)
			return skip(d) // unreadable, or deleted meanwhile: continue with the rest
		}
		if d.IsDir() {
			if path != "." && (skipDir(d.Name()) || x.made(path) || git != nil && git.passes(path, d)) {
				return fs.SkipDir
			}
			if git != nil {
				git.enter(x.root, path)
			}
			return nil
		}
		if !d.Type().IsRegular() || skipFile(d.Name()) || git != nil && git.passes(path, d) {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() > MaxFile || info.Size() == 0 {
			x.note(err)
			return nil
		}
		if total += info.Size(); len(seen) >= MaxFiles || total > MaxBytes {
			x.skipped++
			return nil
		}
		seen[path] = true
		changed = x.visit(path, info) || changed
		return nil
	})
	if err != nil {
		return false, err
	}
	for path := range x.known {
		if !seen[path] {
			delete(x.known, path)
			changed = true
		}
	}
	return changed, nil
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// visit records one file and reports whether it is new or changed.
func (x *Index) visit(path string, info fs.FileInfo) bool {
	size, mtime := info.Size(), info.ModTime().UnixNano()
	if old, ok := x.known[path]; ok && !old.racy && old.size == size && old.mtime == mtime {
		return false
	}
	// File times have limited resolution: a file written a moment ago can be written again within the same
	// tick.
	racy := time.Now().UnixNano()-mtime < int64(50*time.Millisecond)
	x.known[path] = file{entry: entry{path: path, size: size, mtime: mtime, racy: racy}, extra: true}
	return true
}

// note keeps the first error by which an existing file could not be read. Without one, finding nothing is
// significant.
func (x *Index) note(err error) {
	if x.fault == nil && err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		x.fault = err
	}
}

// build reads files into a segment, on all processors.
func (x *Index) build(paths []string) *segment {
	slices.Sort(paths)
	typed := x.typescript()
	files := make([]entry, len(paths))
	spans := make([][]span, len(paths))
	readers := make([]*reader, max(1, min(runtime.GOMAXPROCS(0), len(paths)/16)))
	faults := make([]error, len(paths))
	next := make(chan int)
	var all sync.WaitGroup
	for i := range readers {
		readers[i] = newReader()
		all.Go(func() {
			for n := range next {
				files[n] = x.known[paths[n]].entry
				text, err := x.text(paths[n])
				faults[n] = err
				if err == nil && readable(text) && !(filename.MayHold(paths[n]) && safety.HoldsKey(text)) {
					files[n].kind = uint8(kindOf(paths[n], text))
					base := path.Base(paths[n])
					if typed[strings.TrimSuffix(base, path.Ext(base))] && compiled(base, text) {
						files[n].kind = uint8(vendored)
					}
					spans[n] = readers[i].read(uint32(n), paths[n], text)
				}
			}
		})
	}
	for n := range paths {
		next <- n
	}
	close(next)
	all.Wait()
	for n, err := range faults {
		if err != nil {
			x.note(err)
			f := x.known[paths[n]]
			f.racy = true // it may be readable next time
			x.known[paths[n]] = f
			files[n].racy = true
		}
	}
	return assemble(files, spans, readers)
}

// typescript returns the names of the files of TypeScript, without folders and extensions.
func (x *Index) typescript() map[string]bool {
	names := map[string]bool{}
	for name := range x.known {
		if base := path.Base(name); path.Ext(base) == ".ts" && !strings.HasSuffix(base, ".d.ts") {
			names[strings.TrimSuffix(base, ".ts")] = true
		}
	}
	return names
}

// compiled reports whether a file of JavaScript was made by a compiler, which says so in its last line.
func compiled(name string, text []byte) bool {
	return slices.Contains([]string{".js", ".mjs", ".cjs"}, path.Ext(name)) &&
		bytes.Contains(text[max(0, len(text)-200):], []byte("//# sourceMappingURL="))
}

// text reads a file for its lines.
func (x *Index) text(path string) ([]byte, error) {
	if x.root == nil {
		return []byte(x.texts[path]), nil
	}
	b, err := durable.ReadFile(x.root, path)
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("%w: grown too large", fs.ErrNotExist)
	}
	return b, err
}
