package box

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// progress shows what an agent is doing: on a terminal in one line that is overwritten, in a log with one
// line for each step.
type progress struct {
	w     io.Writer
	lines bool
	width int
	now   func() time.Time

	mu    sync.Mutex
	began time.Time
	doing string
	usage *draft.Usage
	shown bool
	stop  chan struct{}
	done  sync.WaitGroup
}

// newProgress shows progress on w, a terminal of width characters, or with lines a log.
func newProgress(w io.Writer, lines bool, width int, now func() time.Time) *progress {
	p := &progress{w: w, lines: lines, width: max(20, width), now: now, began: now(), doing: "starting",
		stop: make(chan struct{})}
	if !lines {
		p.done.Go(p.tick)
	}
	return p
}

// tick updates the elapsed time while the agent is silent.
func (p *progress) tick() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// event shows an event of the agent.
func (p *progress) event(e agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Usage != nil {
		p.usage = e.Usage
	}
	doing := text.Line(strings.TrimSpace(e.Tool+" "+e.Text), 200)
	switch {
	case e.Kind == agent.Started:
		doing = "started"
	case doing == "":
		return
	}
	p.doing = doing
	if p.lines {
		fmt.Fprintf(p.w, "%s\n", p.line(200)) // a log that cannot be written must not end a run
		return
	}
	p.draw()
}

// line returns at most n characters: elapsed time, usage, current step.
func (p *progress) line(n int) string {
	parts := []string{p.now().Sub(p.began).Round(time.Second).String()}
	if u := p.usage; u != nil && !u.TokensUnknown {
		parts = append(parts, tokensOf(u))
	}
	if u := p.usage; u != nil && u.CostUSD != nil {
		parts = append(parts, costOf(u))
	}
	return text.Line(text.Visible(strings.Join(parts, " · ")+"  "+p.doing), n)
}

func (p *progress) draw() {
	fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(p.width-1))
	p.shown = true
}

// clear erases the line, so that other text can be written.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// end stops the updates and erases the line.
func (p *progress) end() {
	close(p.stop)
	p.done.Wait()
	p.clear()
}
