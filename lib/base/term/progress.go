package term

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows a waiting person how far long work has come, in one line that is rewritten: how many, how
// many a second, and how much time is left if the total is known. The methods of a nil Progress do nothing.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	what  string
	now   func() time.Time
	began time.Time
	next  time.Time // of the next line
	n     int64
	part  int64 // of total, in any unit
	first int64 // part at the start
	total int64 // 0: unknown
}

// NewProgress returns a progress that counts what on errs, or nil unless errs is a terminal and out is not:
// only then a person may be waiting without seeing output. Nothing is shown for the first second.
func NewProgress(errs, out io.Writer, what string) *Progress {
	if !Is(errs) || Is(out) {
		return nil
	}
	return progress(errs, what, time.Now)
}

func progress(w io.Writer, what string, now func() time.Time) *Progress {
	return &Progress{w: w, what: what, now: now, began: now(), next: now().Add(time.Second)}
}

// Of sets the total, of which skipped needs no work. A total of 0 is unknown.
func (p *Progress) Of(total, skipped int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.part, p.first = total, skipped, skipped
}

// Add counts n, which are part of the total.
func (p *Progress) Add(n, part int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n, p.part = p.n+n, p.part+part
	if now := p.now(); now.After(p.next) {
		p.next = now.Add(time.Second / 4)
		fmt.Fprint(p.w, "\r\x1b[K", p.line(now))
	}
}

// Done ends the line, with the time taken.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n > 0 {
		p.total = 0
		now := p.now()
		fmt.Fprintf(p.w, "\r\x1b[K%s, in %v\n", p.line(now), now.Sub(p.began).Round(time.Second/10))
	}
}

func (p *Progress) line(now time.Time) string {
	line := fmt.Sprintf("%d %s", p.n, p.what)
	took := now.Sub(p.began).Seconds()
	if rate := float64(p.n) / took; took > 0 && rate >= 1 {
		line += fmt.Sprintf(", %.0f/s", rate)
	}
	if did := p.part - p.first; p.total > 0 && did > 0 {
		left := took * float64(max(0, p.total-p.part)) / float64(did)
		line += fmt.Sprintf(", %d%%, %v left", min(100, 100*p.part/p.total),
			time.Duration(left*float64(time.Second)).Round(time.Second))
	}
	return line
}
