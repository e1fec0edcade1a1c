package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/base/durable"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Headers of a line.
const (
	headerLog    = "Tri-Log"    // 12 hex digits of the SHA-256 of the log's first line
	headerOffset = "Tri-Offset" // of the line in the log, in bytes
)

// window is how many lines are on the way at once; answer is how long the server has for each.
const (
	window = 64
	answer = 5 * time.Second
)

// ErrReplaced reports a stream that is of another log than the file, or of another version of it.
var ErrReplaced = errors.New("the stream is of another log")

// Publisher sends the lines of a log to its stream. The stream's last message is its only memory: whatever
// the server has lost is read from the file again. Two publishers of a log do not double a line.
type Publisher struct {
	Conn *Conn
	Name string // of the log
	File string
	Say  func(format string, args ...any)

	acked atomic.Int64 // the end of the lines that the server has acknowledged
}

// Publish sends several logs, or "all", as Publisher.Run does.
func Publish(ctx context.Context, c *Conn, names []string, file func(name string) string,
	say func(string, ...any), done <-chan struct{}) error {
	return each(ctx, these(names), func(ctx context.Context, name string) error {
		return (&Publisher{Conn: c, Name: name, File: file(name), Say: say}).Run(ctx, done)
	})
}

// Run sends what the log has and gets until ctx ends, which is not an error. done, if not nil, is closed when
// no more is appended: Run then returns once everything is acknowledged.
func (p *Publisher) Run(ctx context.Context, done <-chan struct{}) error {
	if err := known(p.Name); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if done != nil {
		go p.finish(ctx, done, cancel)
	}
	said := ""
	for ctx.Err() == nil {
		err := p.once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrReplaced):
			return sysexit.Hint(sysexit.Errorf(sysexit.Data, "publish %s: %w", p.Name, err),
				"the log was replaced: nats stream rm "+logStream(p.Name)+", and remove the copies")
		case err != nil && err.Error() != said:
			said = err.Error()
			p.Say("publish %s: %v%s", p.Name, err, hints(err))
		}
		pause(ctx, 50*time.Millisecond)
	}
	return nil
}

// finish ends the publisher once all lines that the file has when done closes are acknowledged. A torn line,
// of a writer that was killed, does not count.
func (p *Publisher) finish(ctx context.Context, done <-chan struct{}, end func()) {
	select {
	case <-ctx.Done():
		return
	case <-done:
	}
	size, err := p.whole()
	for err != nil || p.acked.Load() < size {
		if !pause(ctx, 10*time.Millisecond) {
			return
		}
		if err != nil {
			size, err = p.whole()
		}
	}
	end()
}

// whole returns where the last whole line of the file ends. A missing file has none.
func (p *Publisher) whole() (int64, error) {
	f, err := os.Open(p.File)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	_, size, err := durable.LastLine(f, info.Size())
	return size, err
}

// once sends lines until something fails.
func (p *Publisher) once(ctx context.Context) error {
	f, id, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := p.Conn.ensure(ctx, logConfig(p.Name)); err != nil {
		return err
	}
	next, last, err := p.place(ctx, f, id)
	if err != nil {
		return err
	}
	p.acked.Store(next)
	js, err := jetstream.New(p.Conn.nc, jetstream.WithPublishAsyncMaxPending(2*window),
		jetstream.WithPublishAsyncTimeout(answer))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make(chan sent, window)
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		p.await(ctx, out, cancel)
	}()
	err = stream.Follow(ctx, p.File, next, func(line []byte, off int64) error {
		if off != next {
			return fmt.Errorf("%w: no line begins at offset %d", ErrReplaced, next)
		}
		m := nats.NewMsg(logSubject(p.Name))
		m.Data = append(bytes.Clone(line), '\n')
		m.Header.Set(headerLog, id)
		m.Header.Set(headerOffset, strconv.FormatInt(off, 10))
		next += int64(len(m.Data))
		future, err := js.PublishMsgAsync(m, jetstream.WithExpectLastSequence(last))
		if err != nil {
			return err
		}
		last++
		select {
		case out <- sent{future, next}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	cancel(err)
	<-settled
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return Explain(err)
}

// sent is a line on its way; end is the offset after it.
type sent struct {
	future jetstream.PubAckFuture
	end    int64
}

// await waits for the acknowledgements, in order.
func (p *Publisher) await(ctx context.Context, out <-chan sent, fail func(error)) {
	for {
		var s sent
		select {
		case <-ctx.Done():
			return
		case s = <-out:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.future.Ok():
			p.acked.Store(s.end)
		case err := <-s.future.Err():
			fail(err)
			return
		}
	}
}

// open opens the log once it has a line, and returns its id.
func (p *Publisher) open(ctx context.Context) (*os.File, string, error) {
	id := ""
	err := stream.Follow(ctx, p.File, 0, func(line []byte, _ int64) error {
		id = text.SHA256(string(line) + "\n")[:12]
		return io.EOF
	})
	if !errors.Is(err, io.EOF) {
		return nil, "", errors.Join(err, ctx.Err())
	}
	f, err := os.Open(p.File)
	return f, id, err
}

// place returns the offset of the first line that the stream lacks, and the stream's last sequence.
func (p *Publisher) place(ctx context.Context, f io.ReaderAt,
	id string) (next int64, last uint64, err error) {
	info, err := p.Conn.info(ctx, p.Name)
	if err != nil || info.State.LastSeq == 0 {
		return 0, 0, err
	}
	if info.State.Msgs == 0 {
		return 0, 0, fmt.Errorf("%w: it is empty, and had %d lines", ErrReplaced, info.State.LastSeq)
	}
	l, err := p.Conn.get(ctx, p.Name, info.State.LastSeq)
	if err != nil {
		return 0, 0, err
	}
	have := make([]byte, len(l.data))
	if _, err := f.ReadAt(have, l.offset); l.log != id || err != nil || !bytes.Equal(have, l.data) {
		return 0, 0, fmt.Errorf("%w: its line %d is not in %s", ErrReplaced, l.seq, p.File)
	}
	return l.offset + int64(len(l.data)), l.seq, nil
}

func (c *Conn) info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	s, err := c.js.Stream(ctx, logStream(name))
	if err != nil {
		return nil, Explain(err)
	}
	info, err := s.Info(ctx)
	return info, Explain(err)
}
