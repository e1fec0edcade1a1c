package health

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// News is a finding that is not what it was when it was last looked at.
type News struct {
	At string `json:"at"` // RFC 3339, UTC
	Check
}

// Seldom is how often Watch looks at what is dear to ask.
const Seldom = 5 * time.Minute

// Watch looks every so often until ctx ends, and tells what is not as it was:
// first what is not ok. What moves is looked at each time, so that a stage that is
// there and does nothing is noticed within 20 s of the look that saw something
// wait for it; programs, platforms and whole logs Seldom.
func Watch(ctx context.Context, o Options, every time.Duration, tell func(News) error) error {
	w := watcher{Options: o, memory: newMemory()}
	defer w.memory.close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		news := w.look(ctx)
		if ctx.Err() != nil { // what was asked meanwhile was cut short
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

// watcher is what Watch knows.
type watcher struct {
	Options
	memory *memory
	asked  time.Time // when it last looked at what is dear
	dear   []Check   // what it found
	told   []finding
}

// look looks once and gives what has changed.
func (w *watcher) look(ctx context.Context) []News {
	x := w.examination(w.memory)
	x.open()
	x.often()
	if now := x.Now(); now.Sub(w.asked) >= Seldom || now.Before(w.asked) {
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

// finding is all checks of one name: the worst of them, and how many are as bad.
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

// changes are the checks whose status is another one than before, or of which
// there are more that are not ok; what was never told is taken to have been ok.
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

// Print writes the news as one line for people.
func (n News) Print(w io.Writer) error {
	line := fmt.Sprintf("%s %-4s %s: %s", n.At, n.Status, n.Name, n.Message)
	if n.Fix != "" {
		line += " → " + n.Fix
	}
	return wrote(fmt.Fprintln(w, text.Visible(strings.Join(strings.Fields(line), " "))))
}

// WriteJSON writes the news as a record.
func (n News) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return wrote(0, enc.Encode(n))
}

func wrote(_ int, err error) error {
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write news: %w", err))
	}
	return nil
}

// keep has the home stay open from one look to the next, unless another folder
// stands in its place by now.
func (m *memory) keep(x *examination) {
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
