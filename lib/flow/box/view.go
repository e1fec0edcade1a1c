package box

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/supervise"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// List writes the newest n runs (0: all) as a table, or with JSON as one record each.
func (b *Box) List(n int) error {
	runs, err := b.recent(n)
	if err != nil {
		return err
	}
	if b.JSON {
		for _, r := range runs {
			if err := b.record(r); err != nil {
				return err
			}
		}
		return nil
	}
	var table bytes.Buffer
	t := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	for _, r := range runs {
		status, _ := r.status(b.Now())
		if f := r.State.Failure; f != nil && (status == run.Crashed || status == run.Stalled) {
			status += " " + f.Kind
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", idOf(r.Meta.RunName), term.Age(r.started(), b.Now()),
			text.Visible(text.Line(status, 40)), r.Meta.Type, costOf(r.State.Usage),
			text.Visible(text.Line(r.Meta.Task, 60)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return write(b.Out, table.Bytes())
}

func write(w io.Writer, text []byte) error {
	_, err := w.Write(text)
	return sysexit.With(sysexit.IO, err)
}

// record writes the run as a record, with the status shown to people.
func (b *Box) record(r *Run) error {
	shown := *r
	if _, stopped := r.status(b.Now()); stopped {
		shown.State.Status = run.Stalled
	}
	return ndjson.Write(b.Out, shown)
}

// tokensOf and costOf format usage, "" if it is unknown.
func tokensOf(u *draft.Usage) string {
	switch n := tokens(u); {
	case u == nil:
		return ""
	case u.TokensUnknown:
		return "tokens unknown"
	case n < 10_000:
		return fmt.Sprintf("%d tokens", n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk tokens", n/1000)
	default:
		return fmt.Sprintf("%dM tokens", n/1_000_000)
	}
}

func tokens(u *draft.Usage) int64 {
	if u == nil {
		return 0
	}
	return u.InputTokens + u.OutputTokens
}

func costOf(u *draft.Usage) string {
	switch {
	case u == nil:
		return ""
	case u.CostUSD == nil:
		return "$?"
	case u.CostAtLeast:
		return fmt.Sprintf("at least $%.2f", *u.CostUSD)
	default:
		return fmt.Sprintf("$%.2f", *u.CostUSD)
	}
}

// status is the status shown to people. A suspended supervisor cannot record that its run has STALLED, and
// no other process may write state.json for it, since it can continue at any moment. So the status is only
// shown as STALLED.
func (r *Run) status(now time.Time) (text string, stopped bool) {
	s := &r.State
	silent := now.Sub(timeOf(s.LastHeartbeat))
	if s.Status != run.Active || s.LastHeartbeat == nil || silent <= supervise.DefaultStall ||
		!s.Owner.Stopped() {
		return s.Status, false
	}
	return fmt.Sprintf("%s, no heartbeat for %s", run.Stalled, silent.Round(time.Minute)), true
}

// Show writes all details of a run, as a page or a record.
func (b *Box) Show(word string) error {
	name, err := b.Find(word)
	if err != nil {
		return err
	}
	r, err := b.Run(name)
	if err != nil {
		return err
	}
	if b.JSON {
		return b.record(r)
	}
	var p bytes.Buffer
	s, m := &r.State, r.Meta
	row := func(label, body string) {
		if body != "" {
			fmt.Fprintf(&p, "%-9s %s\n", label, strings.ReplaceAll(text.Visible(body), "\n", "\n          "))
		}
	}
	row("run", name)
	status, stopped := r.status(b.Now())
	row("status", status)
	if stopped {
		row("way out", fmt.Sprintf("kill -CONT %d continues it; kill -9 %d ends it, and it can be resumed",
			s.Owner.PID, s.Owner.PID))
	}
	if f := s.Failure; f != nil {
		row("failure", f.Kind+": "+f.Message)
		row("left", f.LastSafeArtifact)
	}
	if s.Status == run.Active {
		row("doing", text.Line(s.Doing, 200))
	}
	row("type", m.Type)
	row("task", strings.TrimSpace(m.Task))
	row("agent", strings.Join(strings.Fields(m.Agent+" "+m.Version+" "+cmp.Or(s.Model, m.Model)), " "))
	row("program", m.Program)
	row("tools", strings.Join(append(append([]string{}, m.Tools...), m.Shell...), ", "))
	row("sandbox", m.Sandbox)
	row("commit", m.RepoSHAStart)
	row("took", r.spent(b.Now()))
	if s.SessionID != nil {
		row("session", *s.SessionID)
	}
	row("folder", r.Dir)
	for _, file := range []string{"report.md", "plan.md", "changes.patch"} {
		body, err := b.home.ReadFile("runs/" + name + "/" + file)
		if err == nil && len(body) > 0 {
			fmt.Fprintf(&p, "\n--- %s\n%s", file, text.Visible(strings.TrimRight(string(body), "\n")+"\n"))
		}
	}
	return write(b.Out, p.Bytes())
}

// Work calls do, which runs an agent, shows progress on stderr, and writes the result: the report, or a
// record.
func (b *Box) Work(do func() (*Run, error)) error {
	if b.Verbose || term.Is(b.Err) {
		p := newProgress(b.Err, b.Verbose, term.Width(b.Err), b.Now)
		say := b.Say
		b.Say = func(format string, args ...any) { p.clear(); say(format, args...) }
		b.watch = p.event
		do_ := do
		do = func() (*Run, error) { defer p.end(); return do_() }
	}
	r, err := do()
	if r == nil {
		return err
	}
	if b.JSON {
		return errors.Join(err, b.record(r))
	}
	if err = errors.Join(err, b.report(r)); err == nil {
		b.tellEnd(r)
	}
	return err
}

// tellEnd reports the result of a run, and the next step.
func (b *Box) tellEnd(r *Run) {
	id := idOf(r.Meta.RunName)
	b.Say("run %s: %s, %s", id, r.State.Status, r.spent(b.Now()))
	switch {
	case r.Meta.Type == Fix && r.State.Status == run.Complete:
		b.Say("it changed no file")
	case r.State.Status == run.Review:
		b.Say("tri-box merge %s shows the patch and applies it; tri-box resume %s 'words' continues it",
			id, id)
	}
}

// spent returns what the run took: time, tokens, cost.
func (r *Run) spent(now time.Time) string {
	parts := []string{r.took(now), tokensOf(r.State.Usage),
		strings.Replace(costOf(r.State.Usage), "$?", "cost unknown", 1)}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// report writes the run's plan or report, in the agent's words.
func (b *Box) report(r *Run) error {
	for _, file := range []string{"plan.md", "report.md"} {
		body, err := b.home.ReadFile("runs/" + r.Meta.RunName + "/" + file)
		if err == nil && len(body) > 0 {
			return write(b.Out, []byte(text.Visible(string(body))))
		}
	}
	return nil
}

// pollEvery is how often tail looks for more.
const pollEvery = 200 * time.Millisecond

// Tail writes the agent's events, a line each, until the run is over or, with once, up to the present. If
// the run is not supervised, Tail reports that.
func (b *Box) Tail(ctx context.Context, word string, once bool) error {
	name, err := b.Find(word)
	if err != nil {
		return err
	}
	var at int64
	unwatched := ""
	for {
		s, err := b.State(name) // read first, so that nothing written after the end is missed
		if err != nil {
			return err
		}
		if at, err = b.events(name, at); err != nil {
			return err
		}
		if s.Status == run.Active && !s.Owner.Alive() {
			if s, err = b.orphan(ctx, name); err != nil {
				return err
			}
		}
		if s.Status == run.Active && unwatched == "" {
			if unwatched = run.Unwatched(s.Owner); unwatched != "" {
				b.Say("run %s: %s", name, unwatched)
			}
		}
		if once || s.Status != run.Active || !s.Owner.Alive() {
			return b.tailed(name)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollEvery):
		}
	}
}

// orphan sweeps a run whose supervisor is gone, and returns its state afterwards.
func (b *Box) orphan(ctx context.Context, name string) (run.State, error) {
	if err := b.sweep(ctx, name); err != nil && !isFull(err) { // Open has reported a full disk
		return run.State{}, err
	}
	s, err := b.State(name)
	if err == nil && s.Status == run.Active && !s.Owner.Alive() {
		b.Say("run %s: not supervised: process %d, which supervised it, is gone, and another one holds the run; tri-box list looks after it again", name, s.Owner.PID)
	}
	return s, err
}

// tailed reports the state of a run whose stream has been shown.
func (b *Box) tailed(name string) error {
	r, err := b.Run(name)
	if err != nil || b.JSON {
		return err
	}
	switch f := r.State.Failure; {
	case f != nil && !b.swept[name]:
		b.Say("run %s: %s: %s: %s", name, r.State.Status, f.Kind, f.Message)
	case f == nil && r.State.Status != run.Active:
		b.tellEnd(r)
	}
	if s := r.State.Status; s == run.Crashed || s == run.Stalled {
		b.Say("tri-box resume %s continues it", idOf(name))
	}
	return nil
}

// events writes the complete lines of a stream from offset at, and returns the offset of the next line.
func (b *Box) events(name string, at int64) (int64, error) {
	return run.Tail(b.dir(name), at, func(lines []byte) error {
		var out bytes.Buffer
		for line := range bytes.Lines(lines) {
			if b.JSON {
				out.Write(line)
			} else if e, err := readEvent(line); err == nil {
				out.WriteString(e.line())
			}
		}
		return write(b.Out, out.Bytes())
	})
}

// line formats an event for people.
func (e *Event) line() string {
	clock, _, _ := strings.Cut(e.At, ".")
	if _, t, ok := strings.Cut(clock, "T"); ok {
		clock = strings.TrimSuffix(t, "Z")
	}
	body := strings.TrimSpace(e.Text)
	switch {
	case e.Kind == agent.Started:
		body = strings.TrimSpace("session " + e.SessionID + " " + body)
	case e.Tool != "":
		body = e.Tool + " " + body
	}
	body = strings.ReplaceAll(text.Visible(strings.ReplaceAll(body, "\t", " ")), "\n",
		"\n"+strings.Repeat(" ", 19))
	return fmt.Sprintf("%-8s %-9s %s\n", text.Visible(clock), text.Visible(e.Kind), body)
}
