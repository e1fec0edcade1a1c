package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/judge/codesearch"
)

// speed times a search over the largest codebase: with nothing on disk, in a new
// process with an index on disk, in a process that has answered before, and after
// a file has changed.
func speed(out io.Writer) error {
	largest := codebases[slices.IndexFunc(codebases, func(c codebase) bool { return c.name == "python" })]
	dir, cleanup, err := largest.locate()
	defer cleanup()
	if err != nil {
		return nil // said above
	}
	lines, files := 0, 0
	if err := sources(dir, func(_ string, text []byte) {
		lines += bytes.Count(text, []byte{'\n'})
		files++
	}); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "index")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	home, err := durable.Open(tmp)
	if err != nil {
		return err
	}
	defer home.Close()
	var t timing
	for range 3 {
		if err := t.round(dir, home); err != nil {
			return err
		}
	}
	size := int64(0)
	names, err := home.List("index")
	if err != nil {
		return err
	}
	for _, name := range names {
		if info, err := os.Stat(home.Path("index/" + name)); err == nil {
			size += info.Size()
		}
	}
	ms := func(times []time.Duration) int64 { return slices.Max(times).Milliseconds() }
	fmt.Fprintf(out, "%d lines in %d files, the slowest of 3: cold %d ms, index on disk %d ms, same process %d ms; index %.1f MB on disk, %.1f MB in memory\n",
		lines, files, ms(t.cold), ms(t.warm), ms(t.again), float64(size)/1e6, float64(t.grown)/1e6)
	return nil
}

// timing is what each kind of search took, and the memory of one index.
type timing struct {
	cold, warm, again []time.Duration
	grown             uint64 // bytes
}

// round begins with nothing on disk.
func (t *timing) round(dir string, home *durable.Home) error {
	names, err := home.List("index")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := home.Remove("index/" + name); err != nil {
			return err
		}
	}
	for _, times := range []*[]time.Duration{&t.cold, &t.warm} {
		if err := t.open(dir, home, times); err != nil {
			return err
		}
	}
	return nil
}

// open times the first search of a new process, and its second.
func (t *timing) open(dir string, home *durable.Home, first *[]time.Duration) error {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x, err := codesearch.Open(dir)
	if err != nil {
		return err
	}
	defer x.Close()
	x.Keep(home)
	took, err := once(x)
	if err != nil {
		return err
	}
	*first = append(*first, took)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.grown = after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	took, err = once(x)
	t.again = append(t.again, took)
	return err
}

func once(x *codesearch.Index) (time.Duration, error) {
	start := time.Now()
	_, err := x.Search(context.Background(), "how many redirects do we follow before we stop?", most)
	return time.Since(start), err
}
