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

// piped is a pipeline whose programs print into pipes, each with a reader of ours.
type piped struct {
	*world
	stages []*stage
	ends   map[string]*reader
}

// withReaders gives each stage the reader that attach makes of a new pipe, lives
// with them, and counts.
func withReaders(o options, attach func(*world, *reader) error, live func(*piped) error) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	p := &piped{world: w, ends: map[string]*reader{}}
	p.stages, err = w.up(func(s *stage) error {
		r, err := newReader()
		if err != nil {
			return err
		}
		p.ends[s.name], s.to = r, r.near
		return attach(w, r)
	})
	defer p.end()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { w.approve(done) })
	err = live(p)
	close(done)
	approver.Wait()
	for _, s := range p.stages {
		if last := s.kept.String(); !s.kill() && err == nil {
			err = fmt.Errorf("%s had ended by itself: %s", s.name, last)
		}
	}
	if err != nil {
		w.keep = true
		return err
	}
	return w.judge(nil)
}

func (p *piped) end() {
	for _, s := range p.stages {
		s.kill()
	}
	for _, r := range p.ends {
		_ = errors.Join(r.far.Close(), r.near.Close()) // some are closed
	}
}

func slowReaders(o options) error {
	return withReaders(o, func(*world, *reader) error { return nil }, func(p *piped) error {
		for range p.messages {
			if err := p.talk(); err != nil {
				return err
			}
		}
		// Nobody reads anything, and all is durable.
		if err := p.heard(); err != nil {
			return err
		}
		for _, r := range p.ends {
			go r.read(300, 2*time.Millisecond)
		}
		if err := p.settle(p.stages); err != nil {
			return err
		}
		for deadline := time.Now().Add(p.wait); ; time.Sleep(20 * time.Millisecond) {
			said, err := p.printedAll(p.ends)
			if err == nil {
				fmt.Printf("readers: slow ones got all that was printed:%s\n", said)
				return nil
			}
			if time.Now().After(deadline) {
				return err
			}
		}
	})
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
	for _, p := range []struct {
		stage, log string
	}{{"watch", "events.ndjson"}, {"reply", "replies.ndjson"}, {"dispatch", ""}, {"thread", ""},
		{"classify", ""}} {
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
	ended := 0
	return withReaders(o, func(w *world, r *reader) error {
		if w.rng.IntN(2) == 0 {
			return r.far.Close()
		}
		go func() {
			_, _ = io.ReadFull(r.far, make([]byte, 100))
			r.far.Close()
		}()
		return nil
	}, func(p *piped) error {
		for range p.messages {
			if err := p.talk(); err != nil {
				return err
			}
			time.Sleep(time.Duration(p.rng.IntN(40)) * time.Millisecond)
			n, err := p.again((*stage).over)
			if err != nil {
				return err
			}
			ended += n
		}
		// The others have printed nothing yet.
		if _, err := p.again(func(*stage) bool { return true }); err != nil {
			return err
		}
		if ended == 0 {
			return errors.New("nobody noticed that his reader has gone")
		}
		fmt.Printf("readers: %d stages ended when theirs had gone, and went on when started again\n", ended)
		return p.settle(p.stages)
	})
}

// again starts those stages anew, without a pipe, that have one and of which is says
// so.
func (p *piped) again(is func(*stage) bool) (n int, err error) {
	for _, s := range p.stages {
		if s.to == nil || !is(s) {
			continue
		}
		s.kill()
		s.to = nil
		n++
		if err := s.start(p.world); err != nil {
			return n, err
		}
	}
	return n, nil
}
