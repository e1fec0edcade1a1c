package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Limits of one request for lines.
const (
	batchLines = 256
	batchBytes = 4 << 20
	poll       = 250 * time.Millisecond // without news
	recount    = 2 * time.Second        // how often an idle copy looks whether the stream has shrunk
)

// Faults of a copy that no further try repairs.
var (
	ErrFork = errors.New("the copy differs from the stream")
	errGap  = errors.New("the stream begins after the end of the copy")
)

// Subscriber keeps a copy of a log, byte for byte. The copy is its own cursor: a line is appended if it
// begins where the copy ends.
type Subscriber struct {
	Conn *Conn
	Name string // of the log
	Out  string // the copy's file
	Say  func(format string, args ...any)
}

// line is a message of a log's stream.
type line struct {
	seq    uint64
	log    string
	offset int64
	data   []byte
}

// Run appends until ctx ends, which is not an error.
func (s *Subscriber) Run(ctx context.Context) error {
	if err := known(s.Name); err != nil {
		return err
	}
	out, err := durable.OpenLogFile(s.Out)
	if err != nil {
		return err
	}
	defer out.Close()
	said := ""
	for ctx.Err() == nil {
		err := s.once(ctx, out)
		var local *localError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &local):
			return local.error
		case errors.Is(err, ErrFork):
			return sysexit.Hint(sysexit.Errorf(sysexit.Data, "copy %s: %w", s.Name, err),
				"move the copy away; the publisher's file is the original")
		case errors.Is(err, errGap):
			return sysexit.Hint(sysexit.Errorf(sysexit.Data, "copy %s: %w", s.Name, err),
				"copy the log's file here once (rsync), then start again")
		case err != nil && err.Error() != said:
			said = err.Error()
			s.Say("copy %s: %v%s", s.Name, err, hints(err))
		}
		pause(ctx, 50*time.Millisecond)
	}
	return nil
}

// localError is a fault of this machine's disk.
type localError struct{ error }

// once copies until something fails.
func (s *Subscriber) once(ctx context.Context, out *durable.Log) error {
	size, err := out.Append(func(int64) ([]byte, error) { return nil, nil }) // cuts a torn tail
	if err != nil {
		return &localError{err}
	}
	next, err := s.place(ctx, size)
	if err != nil {
		return err
	}
	news := make(chan struct{}, 1)
	sub, err := s.Conn.nc.Subscribe(logSubject(s.Name), func(*nats.Msg) {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is closed, or this is the end of it
	counted, soon := time.Now(), 0
	for ctx.Err() == nil {
		lines, err := s.Conn.batch(ctx, s.Name, next)
		if err != nil {
			return err
		}
		if len(lines) > 0 {
			if size, err = s.keep(out, size, lines); err != nil {
				return err
			}
			next, soon = lines[len(lines)-1].seq+1, 0
			continue
		}
		if time.Since(counted) > recount {
			counted = time.Now()
			if info, err := s.Conn.info(ctx, s.Name); err != nil || info.State.LastSeq+1 < next {
				return err // and find the place in what the server has left
			}
		}
		// News can be here before the line is in the stream.
		wait := poll
		if soon > 0 {
			soon--
			wait = 2 * time.Millisecond
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-news:
			soon = 5
		}
		t.Stop()
	}
	return nil
}

// place returns the sequence of the first line that begins at or after size.
func (s *Subscriber) place(ctx context.Context, size int64) (uint64, error) {
	info, err := s.Conn.info(ctx, s.Name)
	if err != nil {
		return 0, err
	}
	first, last := max(info.State.FirstSeq, 1), info.State.LastSeq
	if info.State.Msgs == 0 {
		return last + 1, nil
	}
	var bad error
	i := sort.Search(int(last-first+1), func(i int) bool {
		l, err := s.Conn.get(ctx, s.Name, first+uint64(i))
		bad = errors.Join(bad, err)
		return err != nil || l.offset >= size
	})
	if i > 0 { // compare the line before with the copy's end
		i--
	}
	return first + uint64(i), bad
}

// keep appends lines durably, up to the first that does not fit, and returns the new size. Lines that the
// copy has are compared with it.
func (s *Subscriber) keep(out *durable.Log, size int64, lines []line) (int64, error) {
	var fault error
	_, err := out.Append(func(end int64) (add []byte, err error) {
		if end != size {
			return nil, sysexit.Errorf(sysexit.TempFail, "append to %q: another program writes it", s.Out)
		}
		for _, l := range lines {
			switch at := end + int64(len(add)); {
			case l.offset == at:
				add = append(add, l.data...)
			case l.offset > at:
				fault = fmt.Errorf("%w: it ends at %d, the next line begins at %d", errGap, at, l.offset)
			default:
				have := make([]byte, len(l.data))
				if _, err := out.File().ReadAt(have, l.offset); err != nil || !bytes.Equal(have, l.data) {
					fault = fmt.Errorf("%w: at offset %d", ErrFork, l.offset)
				}
			}
			if fault != nil {
				break
			}
		}
		size += int64(len(add))
		return add, nil
	})
	if err != nil {
		return size, &localError{err}
	}
	return size, fault
}

// get returns one line of a log's stream by its number.
func (c *Conn) get(ctx context.Context, name string, seq uint64) (line, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := json.Marshal(map[string]any{"seq": seq})
	if err != nil {
		return line{}, err
	}
	m, err := c.nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+logStream(name), req)
	if err != nil {
		return line{}, Explain(err)
	}
	if s := m.Header.Get("Status"); s != "" {
		return line{}, fmt.Errorf("line %d: %s %s", seq, s, m.Header.Get("Description"))
	}
	return lineOf(m)
}

func lineOf(m *nats.Msg) (l line, err error) {
	l = line{log: m.Header.Get(headerLog), data: m.Data}
	var err2 error
	l.seq, err = strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	l.offset, err2 = strconv.ParseInt(m.Header.Get(headerOffset), 10, 64)
	if err = errors.Join(err, err2); err != nil || l.offset < 0 || !bytes.HasSuffix(l.data, []byte("\n")) ||
		len(l.log) != 12 {
		return l, fmt.Errorf("%w: a message that is not a line", ErrFork)
	}
	return l, nil
}

// batch returns lines from seq on, in order; none if there is none yet.
func (c *Conn) batch(ctx context.Context, name string, seq uint64) ([]line, error) {
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe() //nolint:errcheck // as in once
	req, err := json.Marshal(map[string]any{"seq": seq, "batch": batchLines, "max_bytes": batchBytes})
	if err == nil {
		err = c.nc.PublishRequest("$JS.API.DIRECT.GET."+logStream(name), inbox, req)
	}
	if err != nil {
		return nil, err
	}
	return gather(func() (*nats.Msg, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // anew for each line: a link may be slow
		defer cancel()
		return sub.NextMsgWithContext(ctx)
	})
}

// gather returns the lines of a batch. If the batch breaks off, it returns those before, without an error.
func gather(next func() (*nats.Msg, error)) ([]line, error) {
	var lines []line
	for {
		m, err := next()
		if err != nil && len(lines) > 0 {
			return lines, nil //nolint:nilerr // the next batch begins here, and reports what lasts
		}
		if err != nil {
			return nil, fmt.Errorf("read lines: %w", Explain(err))
		}
		switch status := m.Header.Get("Status"); status {
		case "":
			l, err := lineOf(m)
			if err != nil {
				return nil, err
			}
			if n := len(lines); n > 0 && lines[n-1].offset > l.offset {
				return nil, errors.New("read lines: out of order")
			}
			lines = append(lines, l)
		case "204", "404":
			return lines, nil
		default:
			return nil, Explain(fmt.Errorf("read lines: %s %s: %w", status, m.Header.Get("Description"),
				nats.ErrNoResponders))
		}
	}
}

// Copies keeps copies of several logs, or of "all", until ctx ends or one of them cannot continue.
func Copies(ctx context.Context, c *Conn, names []string, file func(name string) string,
	say func(string, ...any)) error {
	names = these(names)
	for i, name := range names {
		if slices.ContainsFunc(names[:i], func(n string) bool { return file(n) == file(name) }) {
			return sysexit.Errorf(sysexit.Usage, "%s: two logs in one file", file(name))
		}
	}
	return each(ctx, names, func(ctx context.Context, name string) error {
		return (&Subscriber{Conn: c, Name: name, Out: file(name), Say: say}).Run(ctx)
	})
}

// these returns the logs that are named; "all" names all.
func these(names []string) []string {
	if slices.Equal(names, []string{"all"}) {
		return logs
	}
	return names
}

// each runs fn for every name, until one fails or all have ended.
func each(ctx context.Context, names []string, fn func(ctx context.Context, name string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan error)
	for _, name := range names {
		go func() {
			err := fn(ctx, name)
			if err != nil {
				cancel()
			}
			ends <- err
		}()
	}
	var err error
	for range names {
		err = errors.Join(err, <-ends)
	}
	return err
}
