package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// readers runs the pipeline with readers of its programs' stdout as bad as they
// come: one that reads nothing, then a byte now and then, then all; and one that
// goes away. What a program prints may then wait, and the program with it, or it may
// end as anything does whose reader has gone: nothing may be lost or doubled by it,
// and the watcher may not wait at all.
func readers(o options) error {
	if err := slowReaders(o); err != nil {
		return err
	}
	return goneReaders(o)
}

// reader is the far end of a program's stdout.
type reader struct {
	far, near *os.File
	mu        sync.Mutex
	got       bytes.Buffer
}

// smallest is what a pipe holds at least.
const smallest = 4096

func newReader() (*reader, error) {
	far, near, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	const setPipeSize = 1031
	if _, _, no := syscall.Syscall(syscall.SYS_FCNTL, near.Fd(), setPipeSize, smallest); no != 0 {
		return nil, fmt.Errorf("make a small pipe: %w", no)
	}
	return &reader{far: far, near: near}, nil
}

// read reads for ever, at first a byte at a time with a pause before each.
func (r *reader) read(slow int, pause time.Duration) {
	buf := make([]byte, 1, 32<<10)
	for i := 0; ; i++ {
		if i < slow {
			time.Sleep(pause)
		} else {
			buf = buf[:cap(buf)]
		}
		n, err := r.far.Read(buf)
		r.mu.Lock()
		r.got.Write(buf[:n])
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// records counts the lines that were read, each of which is one.
func (r *reader) records() (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(r.got.Bytes()) {
		if n++; !json.Valid(line) || line[len(line)-1] != '\n' {
			return n, fmt.Errorf("record %d is none: %.200q", n, line)
		}
	}
	return n, nil
}

func slowReaders(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	ends := map[string]*reader{}
	stages, err := w.up(func(s *stage) error {
		r, err := newReader()
		if err == nil {
			ends[s.name], s.to = r, r.near
		}
		return err
	})
	defer func() {
		for _, s := range stages {
			s.kill()
		}
		for _, r := range ends {
			r.far.Close()
			r.near.Close()
		}
	}()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { w.approve(done) })
	err = func() error {
		for range o.messages {
			if err := w.talk(); err != nil {
				return err
			}
		}
		// Nobody reads anything, and all is durable.
		if err := w.heard(); err != nil {
			return err
		}
		for _, r := range ends {
			go r.read(300, 2*time.Millisecond)
		}
		return w.settle(stages)
	}()
	close(done)
	approver.Wait()
	if err != nil {
		w.keep = true
		return fmt.Errorf("slow readers: %w", err)
	}
	for deadline := time.Now().Add(w.wait); ; time.Sleep(20 * time.Millisecond) {
		said, err := w.printedAll(ends)
		if err == nil {
			fmt.Printf("readers: slow ones got all that was printed:%s\n", said)
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("slow readers: %w", err)
		}
	}
	for _, s := range stages {
		last := s.kept.String()
		if !s.kill() {
			return fmt.Errorf("slow readers: %s had ended by itself: %s", s.name, last)
		}
	}
	return w.judge(nil)
}

// heard waits until every message is in the log.
func (w *world) heard() error {
	for deadline := time.Now().Add(w.wait); ; time.Sleep(20 * time.Millisecond) {
		lines, err := w.lines("events.ndjson")
		if err != nil {
			return err
		}
		missing := w.missing(lines)
		if missing == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nobody reads what tri-watch prints, and %d messages are in no event", missing)
		}
	}
}

// printedAll: what was read is all that there was to print, in whole records.
func (w *world) printedAll(ends map[string]*reader) (said string, err error) {
	for _, p := range []struct{ stage, log string }{{"watch", "events.ndjson"}, {"reply", "replies.ndjson"}, {"dispatch", ""}, {"thread", ""}, {"classify", ""}} {
		n, err := ends[p.stage].records()
		if err != nil {
			return "", fmt.Errorf("%s printed: %w", p.stage, err)
		}
		said += fmt.Sprintf(" %s %d", p.stage, n)
		if p.log == "" {
			continue
		}
		lines, err := w.lines(p.log)
		if err != nil {
			return "", err
		}
		if n != len(lines) {
			return "", fmt.Errorf("%s printed %d records, and %s has %d", p.stage, n, p.log, len(lines))
		}
	}
	return said, nil
}

// goneReaders: each stage's reader goes away, after a record or at once; whoever
// ends by that is started again with one that stays.
func goneReaders(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	var ends []*reader
	stages, err := w.up(func(s *stage) error {
		r, err := newReader()
		if err != nil {
			return err
		}
		ends = append(ends, r)
		s.to = r.near
		if w.rng.IntN(2) == 0 {
			return r.far.Close()
		}
		go func() {
			_, _ = io.ReadFull(r.far, make([]byte, 100))
			r.far.Close()
		}()
		return nil
	})
	defer func() {
		for _, s := range stages {
			s.kill()
		}
		for _, r := range ends {
			r.near.Close()
		}
	}()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { w.approve(done) })
	ended := 0
	err = func() error {
		for range o.messages {
			if err := w.talk(); err != nil {
				return err
			}
			time.Sleep(time.Duration(w.rng.IntN(40)) * time.Millisecond)
			for _, s := range stages {
				if s.to != nil && s.over() {
					s.kill()
					ended++
					s.to = nil
					if err := s.start(w); err != nil {
						return err
					}
				}
			}
		}
		for _, s := range stages {
			if s.to != nil { // it has printed nothing yet
				s.kill()
				s.to = nil
				if err := s.start(w); err != nil {
					return err
				}
			}
		}
		return w.settle(stages)
	}()
	close(done)
	approver.Wait()
	if err != nil {
		w.keep = true
		return fmt.Errorf("gone readers: %w", err)
	}
	for _, s := range stages {
		if last := s.kept.String(); !s.kill() {
			return fmt.Errorf("gone readers: %s had ended by itself: %s", s.name, last)
		}
	}
	fmt.Printf("readers: %d stages ended when theirs had gone, and went on when started again\n", ended)
	if ended == 0 {
		return errors.New("gone readers: nobody noticed")
	}
	return w.judge(nil)
}
