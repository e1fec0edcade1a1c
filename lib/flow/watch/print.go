package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
)

// printer prints events when there is no log. Their seq is their offset in its output.
type printer struct {
	out  io.Writer
	mu   sync.Mutex
	seen *set
	at   int64
}

func (p *printer) keep(items []Item) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	items = p.seen.fresh(items)
	if len(items) == 0 {
		return nil
	}
	lines := stamp(nil, p.at, items)
	if err := write(p.out, lines); err != nil {
		return err
	}
	p.at += int64(len(lines))
	for _, item := range items {
		p.seen.add(item.ID)
	}
	return nil
}

func write(out io.Writer, lines []byte) error {
	if _, err := out.Write(lines); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("print events: %w", err))
	}
	return nil
}

// follower prints the log as it grows.
type follower struct {
	path string
	file *os.File
	out  io.Writer
	at   int64 // offset up to which it has been printed
	size int64 // of the log at the start
}

// follow prints until ctx ends. After the part that existed at the start, each record is one write.
func (p *follower) follow(ctx context.Context) error {
	if err := p.printUntil(ctx, p.size); err != nil || ctx.Err() != nil {
		return err
	}
	return stream.Follow(ctx, p.path, p.at, func(line []byte, off int64) error {
		// The line is valid only during the call, and its newline is not included.
		whole := append(append(make([]byte, 0, len(line)+1), line...), '\n')
		if err := write(p.out, whole); err != nil {
			return err
		}
		p.at = off + int64(len(whole))
		return nil
	})
}

// rest prints what the log has beyond p.at after its source ended, unless ctx has ended too.
func (p *follower) rest(ctx context.Context) error {
	info, err := p.file.Stat()
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", p.path, err))
	}
	return p.printUntil(ctx, info.Size())
}

// printUntil prints the log up to end, in large pieces.
func (p *follower) printUntil(ctx context.Context, end int64) error {
	buf := make([]byte, 256<<10)
	for p.at < end && ctx.Err() == nil {
		n, err := p.file.ReadAt(buf[:min(int64(len(buf)), end-p.at)], p.at)
		if n == 0 {
			return sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", p.path, err))
		}
		if err := write(p.out, buf[:n]); err != nil {
			return err
		}
		p.at += int64(n)
	}
	return nil
}

// counted returns keep, which counts the events.
func counted(p *term.Progress, keep func([]Item) error) func([]Item) error {
	return func(items []Item) error {
		err := keep(items)
		p.Add(int64(len(items)), 0)
		return err
	}
}
