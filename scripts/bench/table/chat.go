package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// lines is all of the chat, a line an event.
func (b *bench) lines() ([][]byte, error) {
	names, err := filepath.Glob(filepath.Join(b.chat, "*.ndjson"))
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = slices.AppendSeq(all, bytes.Lines(text))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no events", b.chat)
	}
	return all, nil
}

// events is a file of n events: the chat, again and again, with ids of its own
// each time.
func (b *bench) events(n int) (string, error) {
	name := filepath.Join(b.work, fmt.Sprintf("events-%d.ndjson", n))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	src, err := b.again(n)
	if err != nil {
		return "", err
	}
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, src)
	return name, errors.Join(err, f.Close())
}

// again gives n events as a stream.
func (b *bench) again(n int) (io.Reader, error) {
	lines, err := b.lines()
	return &repeated{lines: lines, left: n}, err
}

// repeated is a stream of the same lines, whose ids and threads are others each time.
type repeated struct {
	lines       [][]byte
	next, round int
	left        int // lines
	buf         []byte
}

var idNames = [][]byte{[]byte(`"message_id": "`), []byte(`"thread_id": "`)}

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.buf) == 0 && r.left == 0 {
		return 0, io.EOF
	}
	for len(r.buf) < len(p) && r.left > 0 {
		line := r.lines[r.next]
		for _, name := range idNames {
			if before, after, ok := bytes.Cut(line, name); ok {
				r.buf = append(append(r.buf, before...), name...)
				r.buf = fmt.Appendf(r.buf, "%d-", r.round)
				line = after
			}
		}
		r.buf = append(r.buf, line...)
		r.left--
		if r.next++; r.next == len(r.lines) {
			r.next, r.round = 0, r.round+1
		}
	}
	n := copy(p, r.buf)
	r.buf = append(r.buf[:0], r.buf[n:]...)
	return n, nil
}
