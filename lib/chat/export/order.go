package export

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// memory is the maximum size of the events in memory, in bytes; beyond it they are written to a
// temporary file in sorted runs.
const memory = 32 << 20

// emitted is how many events are passed on together.
const emitted = 512

// order sorts the events of many chats by time, and events of the same time in order of arrival.
type order struct {
	dir   string // of the temporary file
	limit int
	n     int64
	held  []dated
	size  int
	file  *os.File
	end   int64
	runs  []io.Reader // sorted runs of file
}

// dated is an encoded event with its sort key.
type dated struct {
	at, n int64 // microseconds since 1970, which hold any year; sequence number
	body  []byte
}

func (a dated) compare(b dated) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.n, b.n))
}

func newOrder(dir string) *order { return &order{dir: dir, limit: memory} }

func (o *order) add(e event.Event, at time.Time) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	o.held = append(o.held, dated{at.UnixMicro(), o.n, body})
	o.n++
	if o.size += len(body) + 64; o.size > o.limit {
		return o.spill()
	}
	return nil
}

func (o *order) spill() error {
	if o.file == nil {
		f, err := os.CreateTemp(o.dir, "tri-export")
		if err != nil {
			return sysexit.Errorf(sysexit.IO, "sort the export: %w", err)
		}
		o.file = f
		// The file is unlinked at once, so that it is removed however the program ends.
		if err := os.Remove(f.Name()); err != nil {
			return sysexit.Errorf(sysexit.IO, "sort the export: %w", err)
		}
	}
	slices.SortFunc(o.held, dated.compare)
	w := bufio.NewWriterSize(io.NewOffsetWriter(o.file, o.end), 256<<10)
	start, head := o.end, make([]byte, 24)
	for _, d := range o.held {
		binary.LittleEndian.PutUint64(head, uint64(d.at))
		binary.LittleEndian.PutUint64(head[8:], uint64(d.n))
		binary.LittleEndian.PutUint64(head[16:], uint64(len(d.body)))
		_, _ = w.Write(head) // Flush returns the error
		_, _ = w.Write(d.body)
		o.end += int64(len(head) + len(d.body))
	}
	if err := w.Flush(); err != nil {
		return sysexit.Errorf(sysexit.IO, "sort the export: %w", err)
	}
	o.runs = append(o.runs, bufio.NewReaderSize(io.NewSectionReader(o.file, start, o.end-start), 64<<10))
	o.held, o.size = nil, 0
	return nil
}

// each calls fn with all events in order, in batches.
func (o *order) each(fn func([]event.Event) error) error {
	slices.SortFunc(o.held, dated.compare)
	m := merge{}
	for _, r := range o.runs {
		if err := m.push(&piece{r: r}); err != nil {
			return err
		}
	}
	if err := m.push(&piece{held: o.held}); err != nil {
		return err
	}
	heap.Init(&m)
	var events []event.Event
	for len(m) > 0 {
		var e event.Event
		if err := json.Unmarshal(m[0].next.body, &e); err != nil {
			return fmt.Errorf("sort the export: %w", err)
		}
		events = append(events, e)
		if err := m.advance(); err != nil {
			return err
		}
		if len(events) == emitted || len(m) == 0 {
			if err := fn(events); err != nil {
				return err
			}
			events = events[:0]
		}
	}
	return nil
}

func (o *order) close() {
	if o.file != nil {
		_ = o.file.Close() // already unlinked
	}
}

// piece is one sorted run: of the file, or the events in memory.
type piece struct {
	r    io.Reader
	held []dated
	next dated
}

// step reads the next event of the piece; io.EOF at its end.
func (p *piece) step() error {
	if p.r == nil {
		if len(p.held) == 0 {
			return io.EOF
		}
		p.next, p.held = p.held[0], p.held[1:]
		return nil
	}
	head := make([]byte, 24)
	if _, err := io.ReadFull(p.r, head); err != nil {
		return err
	}
	p.next.at = int64(binary.LittleEndian.Uint64(head))
	p.next.n = int64(binary.LittleEndian.Uint64(head[8:]))
	p.next.body = make([]byte, binary.LittleEndian.Uint64(head[16:]))
	_, err := io.ReadFull(p.r, p.next.body)
	return err
}

// merge is a heap of pieces ordered by their next events.
type merge []*piece

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return m[i].next.compare(m[j].next) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*piece)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

func (m *merge) push(p *piece) error {
	err := p.step()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "sort the export: %w", err)
	}
	*m = append(*m, p)
	return nil
}

// advance replaces the first event by the next of its piece.
func (m *merge) advance() error {
	err := (*m)[0].step()
	if errors.Is(err, io.EOF) {
		heap.Pop(m)
		return nil
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "sort the export: %w", err)
	}
	heap.Fix(m, 0)
	return nil
}
