package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

// scene is one line of a story with its time, and the lines below it.
type scene struct {
	at    time.Time
	what  string
	text  string
	below []string
}

// Print writes the story as text. Terminal control sequences in outside text are made harmless.
func (s *Story) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s in %s (%s), %s\n", text.Line(s.MessageID, 0), text.Line(s.Sender, 0),
		text.Line(cmp.Or(s.ChatName, s.ChatID), 0), text.Line(s.Platform, 0), clock(s.At))
	b.WriteString(indent(s.Content, "  "))
	fmt.Fprintf(&b, "\n%s: %s\n\n", s.Outcome, text.Line(s.Reason, 0))
	for _, e := range s.Events {
		e.scenes(&b)
	}
	for i := range s.Cycles {
		s.Cycles[i].print(&b, len(s.Cycles) > 1)
	}
	if len(s.Cycles) > 0 {
		fmt.Fprintf(&b, "\nthread %s\n", text.Line(s.Key, 0))
	}
	for _, trouble := range s.Troubles {
		fmt.Fprintf(&b, "trouble: %s\n", text.Line(trouble, 0))
	}
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

func (e *Seen) scenes(b *strings.Builder) {
	where := ""
	if e.Seq != nil {
		where = fmt.Sprintf("event %d", *e.Seq)
	}
	line(b, clock(e.At), e.What, where)
	if e.Classification != "" {
		line(b, clock(e.ClassifiedAt), "classified",
			fmt.Sprintf("%s (%.2g): %s", e.Classification, e.Confidence, text.Line(join(e.Words), 0)))
	}
}

func line(b *strings.Builder, at, what, text string) {
	fmt.Fprintf(b, "%-19s  %-19s  %s\n", at, what, text)
}

func (c *Cycle) print(b *strings.Builder, several bool) {
	if several {
		fmt.Fprintf(b, "\ncycle %d, for %s\n", c.Cycle, text.Line(some(c.Question, 10), 0))
	}
	if c.Type != "" {
		line(b, "", "asks", c.kind())
	}
	scenes := c.scenes()
	slices.SortStableFunc(scenes, func(x, y scene) int { return x.at.Compare(y.at) })
	for _, sc := range scenes {
		line(b, stampOf(sc.at), sc.what, sc.text)
		for _, below := range sc.below {
			b.WriteString(indent(below, strings.Repeat(" ", 23)))
		}
	}
}

// kind returns the kind of question, its expected duration, and the rules behind both.
func (c *Cycle) kind() string {
	body := c.Type
	if c.TypedBy != "" {
		body += " (" + c.TypedBy + ")"
	}
	if c.Minutes > 0 {
		body += fmt.Sprintf(", %g min", c.Minutes)
	}
	if len(c.Because) > 0 {
		body += " (" + strings.Join(c.Because, ", ") + ")"
	}
	if c.Long {
		body += ", long tier"
	}
	return text.Line(body, 0)
}

// scenes returns the scenes by time; at the same time, causes come first.
func (c *Cycle) scenes() []scene {
	var out []scene
	for i := range c.Runs {
		out = append(out, c.Runs[i].scene())
	}
	for i := range c.Decisions {
		out = append(out, c.Decisions[i].scene())
	}
	for _, p := range c.Posts {
		body := fmt.Sprintf("part %d of %d: %s", p.Part, p.Parts, p.State)
		if p.PostedMessageID != "" {
			body += " as " + text.Line(p.PostedMessageID, 0)
		}
		if p.Why != "" {
			body += ": " + text.Line(p.Why, 0)
		}
		out = append(out, scene{at: text.ParseTime(cmp.Or(p.PostedAt, p.IntentAt)), what: "post", text: body})
	}
	if r := c.Reply; r != nil {
		body := fmt.Sprintf("%s in %s", r.Outcome, text.Line(r.ChatID, 0))
		if r.Why != "" {
			body += ": " + text.Line(r.Why, 0)
		}
		sc := scene{at: text.ParseTime(r.PostedAt), what: "reply", text: body}
		if !slices.ContainsFunc(c.Decisions, func(d Decision) bool {
			return d.shown() && d.Text == r.ReplyText
		}) {
			sc.below = []string{r.ReplyText}
		}
		out = append(out, sc)
	}
	for _, st := range c.Steps {
		body := text.Line(st.Why, 0)
		if st.To == "pending-user" && c.Badge != "" {
			body += " [" + text.Line(c.Badge, 0) + "]"
		}
		out = append(out, scene{at: text.ParseTime(st.At), what: st.To, text: body})
	}
	for _, n := range c.Alerts {
		out = append(out, scene{at: text.ParseTime(n.At), what: "alert", text: text.Line(n.Text, 0)})
	}
	return out
}

func (r *Run) scene() scene {
	sc := scene{at: text.ParseTime(cmp.Or(r.EndedAt, r.StartedAt)), what: r.Kind}
	body := fmt.Sprintf("round %d, %s", r.Round, text.Line(cmp.Or(r.Agent, "not begun"), 0))
	if r.Model != "" {
		body += " (" + text.Line(r.Model, 0) + ")"
	}
	body += ": " + r.Status
	if started, ended := text.ParseTime(r.StartedAt), text.ParseTime(r.EndedAt); !ended.IsZero() {
		body += " in " + ended.Sub(started).Round(time.Millisecond).String()
	}
	sc.text = body + r.took()
	if r.Error != "" {
		sc.below = append(sc.below, r.Error)
	}
	switch {
	case r.Return != nil:
		sc.below = append(sc.below, r.Return.SummaryForOrchestrator+" (confidence "+r.Return.Confidence+": "+
			r.Return.ConfidenceReason+")")
		for i, ref := range r.Return.EvidenceRefs {
			sc.below = append(sc.below, fmt.Sprintf("ref %d: %s: %s", i+1, ref.Ref, ref.SupportsClaim))
		}
	case r.Verdict != nil:
		sc.text += ", " + text.Line(r.Verdict.Verdict, 0)
		sc.below = append(sc.below, r.Verdict.Why()...)
		sc.below = append(sc.below, checked(r.Verdict.Checks)...)
	}
	return sc
}

// checked returns the checks, one line for consecutive ones with the same result. The checks of names in a
// draft that were all found are summarized in one line; the JSON record has them in full.
func checked(checks []verdict.Check) (lines []string) {
	traced, names, last := 0, "", ""
	flush := func() {
		if names != "" {
			lines = append(lines, names+last)
		}
	}
	for _, c := range checks {
		if c.Name == verdict.Traced && c.Result == verdict.OK {
			traced++
			continue
		}
		said := fmt.Sprintf(" %s by %s", verdict.Label(c.Result, c.Note), c.By)
		if c.Note != "" {
			said += ": " + c.Note
		}
		if names == "" || said != last {
			flush()
			names, last = c.Name, said
			continue
		}
		name := c.Name
		if n, isRef := strings.CutPrefix(name, "ref "); isRef && strings.HasPrefix(names, "ref ") {
			name = n
		}
		names += ", " + name
	}
	flush()
	if traced > 0 {
		lines = append(lines,
			fmt.Sprintf("%s %s by code: of the names in the draft, %d occur in its sources",
				verdict.Traced, verdict.OK, traced))
	}
	return lines
}

// took returns what the run cost, as far as the agent reported it.
func (r *Run) took() string {
	if r.Usage == nil || r.Kind != run.Investigate && !r.Usage.TokensUnknown &&
		r.Usage.InputTokens+r.Usage.OutputTokens == 0 {
		return ""
	}
	text := fmt.Sprintf(", %d tokens", r.Usage.InputTokens+r.Usage.OutputTokens)
	if r.Usage.TokensUnknown {
		text = ", tokens unknown"
	}
	if r.Usage.CostUSD == nil {
		return text + ", cost unknown"
	}
	return text + fmt.Sprintf(", $%.4f", *r.Usage.CostUSD)
}

// shown reports whether the record's text is shown in the story: an approval only repeats that of
// its offer.
func (d *Decision) shown() bool { return d.Kind == decision.Offer || d.Kind == decision.Edit }

func (d *Decision) scene() scene {
	sc := scene{at: text.ParseTime(d.At), what: d.Kind, text: "by " + text.Line(d.By, 0)}
	if d.Via != "" && d.Via != "code" {
		sc.text += " via " + text.Line(d.Via, 0)
	}
	if d.DraftSHA256 != "" {
		sc.text += fmt.Sprintf(", draft %.12s", text.Line(d.DraftSHA256, 0))
	}
	if d.Outcome != "" {
		sc.text += ": " + text.Line(d.Outcome, 0)
	}
	if d.Note != "" {
		sc.below = append(sc.below, d.Note)
	}
	if d.Badge != "" {
		sc.text += ", " + text.Line(d.Badge, 0)
	}
	for _, s := range d.Sentences {
		sc.below = append(sc.below, s.Label()+": "+s.Text)
	}
	if d.shown() {
		sc.below = append(sc.below, d.Text)
	}
	if !d.Counts {
		sc.text += " (does not count: " + text.Line(d.Why, 0) + ")"
	}
	return sc
}

func stampOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func clock(s string) string { return stampOf(text.ParseTime(s)) }

// indent returns outside text as a block below a line, folded to the width of a report.
func indent(s, by string) string {
	var b strings.Builder
	for _, l := range term.Wrap(strings.TrimRight(text.Visible(s), "\n"), width-columns(by)) {
		b.WriteString(strings.TrimRight(by+l, " ") + "\n")
	}
	return b.String()
}
