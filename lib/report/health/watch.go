package health

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// News is a finding that has changed since the last look.
type News struct {
	At string `json:"at"` // RFC 3339, UTC
	Check
}

// SlowEvery is how often Watch runs the expensive checks.
const SlowEvery = 5 * time.Minute

// Watch runs the checks at an interval until ctx ends, and passes changes to tell: first everything
// that is not ok. The progress of stages is checked each time, so that a stage that runs without
// progress is reported within 20 s of the look that saw a message waiting for it; programs,
// platforms and whole logs are checked every Seldom.
func Watch(ctx context.Context, o Options, every time.Duration, tell func(News) error) error {
	w := watcher{Options: o, memory: newMemory()}
	defer w.memory.close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		news := w.look(ctx)
		if ctx.Err() != nil { // the checks in progress were interrupted
			return nil
		}
		for _, n := range news {
			if err := tell(n); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// watcher is the state of Watch.
type watcher struct {
	Options
	memory *memory
	asked  time.Time // when the expensive checks last ran
	dear   []Check   // their results
	told   []finding
}

// look runs the checks once and returns what has changed.
func (w *watcher) look(ctx context.Context) []News {
	x := w.examination(w.memory)
	x.open()
	x.often()
	if now := x.Now(); now.Sub(w.asked) >= SlowEvery || now.Before(w.asked) {
		often := x.checks
		x.checks = nil
		x.rare(ctx)
		w.asked, w.dear, x.checks = now, x.checks, often
	}
	found := findings(append(x.checks, w.dear...))
	at := x.Now().UTC().Format(time.RFC3339)
	var news []News
	for _, c := range changes(w.told, found) {
		news = append(news, News{at, c})
	}
	w.told = found
	return news
}

// finding combines all checks of one name: the worst of them, and how many are as bad.
type finding struct {
	Check
	n int
}

func findings(checks []Check) (found []finding) {
	at := map[string]int{}
	for _, c := range checks {
		i, seen := at[c.Name]
		switch {
		case !seen:
			at[c.Name] = len(found)
			found = append(found, finding{c, 1})
		case found[i].Status == c.Status:
			found[i].n++
		case Worst([]Check{found[i].Check, c}) == c.Status:
			found[i] = finding{c, 1}
		}
	}
	return found
}

// changes returns the findings whose status has changed, or that are not ok and have become more. A
// finding without an earlier one is compared with ok.
func changes(before, now []finding) (news []Check) {
	was := map[string]finding{}
	for _, f := range before {
		was[f.Name] = f
	}
	for _, f := range now {
		old, seen := was[f.Name]
		delete(was, f.Name)
		if !seen {
			old = finding{Check{Status: OK}, f.n}
		}
		if f.Status != old.Status || f.Status != OK && f.n > old.n {
			news = append(news, f.Check)
		}
	}
	for _, f := range before {
		if _, gone := was[f.Name]; gone && f.Status != OK {
			news = append(news, Check{f.Name, OK, "no longer found", ""})
		}
	}
	return news
}

// Print writes the news as one line of text.
func (n News) Print(w io.Writer) error {
	line := fmt.Sprintf("%s %-4s %s: %s", n.At, n.Status, n.Name, n.Message)
	if n.Fix != "" {
		line += " → " + n.Fix
	}
	_, err := fmt.Fprintln(w, text.Line(line, 0))
	return sysexit.With(sysexit.IO, err)
}

// WriteJSON writes the news as one record.
func (n News) WriteJSON(w io.Writer) error {
	return ndjson.Write(w, n)
}

// keep keeps the home open from one look to the next, unless its path now leads to another folder.
func (m *memory) keep(x *checker) {
	if m.home != nil {
		was, err := m.home.Root().Stat(".")
		is, err2 := os.Stat(m.home.Dir())
		if err == nil && err2 == nil && os.SameFile(was, is) {
			x.home.Close()
			x.home = m.home
			return
		}
		looks := m.looks
		m.close()
		*m = *newMemory()
		m.looks = min(looks, 1)
	}
	m.home = x.home
}

func (m *memory) close() {
	if m.home != nil {
		m.home.Close()
	}
}
