package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// memory measures the most memory that programs have by events: of a filter as they
// come through a pipe, of a report in the logs of a home.
func (b *bench) memory() error {
	sizes := []int{100_000, 1_000_000}
	if b.long {
		sizes = append(sizes, 10_000_000)
	}
	for _, filter := range []string{"tri-classify", "tri-thread"} {
		for _, n := range sizes {
			g := b.sized(filter, bytesOf, n, "events")
			src, err := b.again(n)
			if err != nil {
				return err
			}
			t, err := process(src, b.ours(filter))
			if err != nil {
				return err
			}
			g.add(filter, t.memory)
		}
	}
	home := filepath.Join(b.work, "grown")
	if _, err := process(nil, b.ours("history"), "-home", home, "-events", strconv.Itoa(50_000)); err != nil {
		return err
	}
	had := 50_000
	for _, n := range sizes {
		if err := repeatLast(filepath.Join(home, "events-classified.ndjson"), n-had); err != nil {
			return err
		}
		had = n
		for _, report := range []string{"brief", "acceptance"} {
			g := b.sized("tri-report "+report, bytesOf, n, "events")
			t, err := process(nil, b.ours("tri-report"), report, "--home", home)
			if err != nil {
				return err
			}
			g.add("tri-report", t.memory)
		}
	}
	return os.RemoveAll(home)
}

// repeatLast appends messages to a log of classified events: the last one that
// stands there, with others' ids.
func repeatLast(name string, n int) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	tail := make([]byte, min(size, 64<<10))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	last := tail[bytes.LastIndexByte(tail[:len(tail)-1], '\n')+1:]
	const id = `"message_id":"`
	before, after, ok := bytes.Cut(last, []byte(id))
	if !ok {
		return errors.New("the last line of " + name + " has no message_id")
	}
	out := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := range n {
		line = append(append(line[:0], before...), id...)
		line = strconv.AppendInt(append(line, 'n'), size+int64(i), 10)
		line = append(append(line, '-'), after...)
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return errors.Join(out.Flush(), f.Close())
}
