package approve

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Cited is one reference of a draft, checked now.
type Cited struct {
	Ref    string `json:"ref"`
	Kind   string `json:"kind"`
	Claim  string `json:"claim"`
	Result string `json:"result"`
	Note   string `json:"note,omitempty"`
	// Changed says how the cited text has changed since the draft was written.
	Changed string   `json:"changed,omitempty"`
	Commit  string   `json:"commit,omitempty"` // commit checked out when it was read
	Start   int      `json:"start,omitempty"`  // line number of the first of Lines
	Lines   []string `json:"lines,omitempty"`
}

// View is everything that a person should see before deciding.
type View struct {
	*Item
	Draft    string   `json:"draft,omitempty"`    // exactly as it would be posted
	Messages []string `json:"messages,omitempty"` // the draft as it is cut, if into more than one
	Unbacked []string `json:"unbacked,omitempty"` // questions and sentences of it that nothing cited covers
	Problems []string `json:"problems,omitempty"`
	// Sentences are those of a text that a person wrote in place of the draft.
	Sentences []verdict.Sentence `json:"sentences,omitempty"`
	Evidence  []Cited            `json:"evidence,omitempty"`
	Thread    *thread.Thread     `json:"thread,omitempty"`
}

// View collects everything that a decision on an item depends on.
func (g *Gate) View(it *Item) View {
	v := View{Item: it, Thread: it.thread}
	switch {
	case it.entry != nil:
		v.Draft = it.entry.Text
	case it.Kind == Draft || it.Kind == Expired:
		v.Draft = it.standing.Offer.Text
	case it.Kind == Approved || it.Kind == Posting:
		v.Draft, v.Sentences = it.standing.Decision.Text, it.standing.Decision.Sentences
	case it.thread.DraftPending != nil:
		v.Draft = *it.thread.DraftPending
	}
	if it.standing != nil && it.standing.Offer != nil && it.entry == nil {
		cuts := it.standing.Offer.Cuts
		if yes := it.standing.Decision; yes != nil {
			cuts = yes.Cuts
		}
		if cut, err := draft.Cut(v.Draft, cuts); err == nil && len(cut) > 1 {
			v.Messages = cut
		}
	}
	if v.Draft != "" {
		for _, p := range g.Problems(it, v.Draft) {
			v.Problems = append(v.Problems, p.Name+": "+p.Note)
		}
		v.Unbacked = v.unbacked()
	}
	if it.thread != nil && it.thread.InvestigatorReturn != nil {
		v.Evidence = g.cited(it.thread)
	}
	return v
}

// mostUnbacked is the maximum number of sentences that are shown before everything else.
const mostUnbacked = 5

// unbacked lists what a waiting draft leaves out, and its sentences that the cited lines contradict or do not
// cover.
func (v *View) unbacked() (all []string) {
	if v.Thread == nil || v.Kind != Draft && v.Kind != Shadow && v.Kind != Expired {
		return nil // another text may have been approved
	}
	for _, m := range v.Thread.Messages {
		if slices.Contains(v.Thread.NotAnswered, m.MessageID) {
			all = append(all, "not answered: "+text.Line(m.Content, 100))
		}
	}
	if v.Thread.ValidatorReturn == nil {
		return all
	}
	more := 0
	for _, s := range v.Thread.ValidatorReturn.Sentences {
		switch {
		case s.Backed():
		case len(all) < mostUnbacked:
			all = append(all, s.Label()+": "+text.Line(s.Text, 200))
		default:
			more++
		}
	}
	if more > 0 {
		all = append(all, "and "+text.Count(more, "more sentence"))
	}
	return all
}

func (g *Gate) cited(t *thread.Thread) []Cited {
	refs := t.InvestigatorReturn.EvidenceRefs
	cited := make([]Cited, len(refs))
	dir := g.Config.Folder(t.Codebase)
	root, repo, err := open(dir)
	if err == nil {
		defer root.Close()
	}
	for i, ref := range refs {
		cited[i] = Cited{Ref: ref.Ref, Kind: ref.Kind, Claim: ref.SupportsClaim, Result: evidence.Uncheckable}
		if err != nil {
			cited[i].Note = fmt.Sprintf("the codebase cannot be read: %v", err)
			continue
		}
		if ref.Receipt != nil {
			cited[i].Commit = ref.Receipt.Commit
		}
		f := evidence.Resolve(root, repo, ref)
		cited[i].Result, cited[i].Note = verdict.Label(f.Result, f.Note), f.Note
		cited[i].Start, cited[i].Lines = f.Start, f.Lines
		ok, why, err := evidence.StillStands(root, repo, ref)
		switch {
		case err != nil:
			cited[i].Changed = err.Error()
		case !ok && ref.Receipt != nil:
			cited[i].Changed = why
		}
	}
	return cited
}

// Sent says in how many messages the draft is sent, and how each later one begins; "" for one message.
func (v View) Sent() string {
	if len(v.Messages) < 2 {
		return ""
	}
	var begins []string
	for i, m := range v.Messages[1:] {
		begins = append(begins, fmt.Sprintf("message %d begins %q", i+2, text.Line(strings.TrimSpace(m), 40)))
	}
	return fmt.Sprintf("sent as %d messages: %s", len(v.Messages), strings.Join(begins, ", "))
}

// clock formats an instant to the minute.
func clock(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return at
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

// shownLines is the maximum number of lines shown of a citation.
const shownLines = 12

// Print writes a view for a person: the question and the draft, then what the draft rests on. Outside text
// is escaped and written behind a bar, so that it cannot imitate a heading.
func (v View) Print(w io.Writer, now time.Time) error {
	p := new(page)
	p.line("%s  %s%s", v.ID, v.Kind, before(", ", v.Checked()))
	for _, open := range v.Unbacked {
		p.line("! %s", open)
	}
	if t := v.Thread; t != nil {
		p.thread(t, v.ChatName)
	}
	if v.Note != "" {
		p.head(v.noteHead())
		p.quote(v.Note)
	}
	if v.Draft != "" {
		p.head(fmt.Sprintf("%s, %d characters", v.textName(), utf8.RuneCountInString(v.Draft)))
		if sent := v.Sent(); sent != "" {
			p.line("%s", sent)
		}
		p.quote(v.Draft)
		if text.Visible(v.Draft) != v.Draft {
			p.line("Invisible characters are shown as <U+....>.")
		}
	}
	for _, problem := range v.Problems {
		p.line("! %s", problem)
	}
	for _, vote := range v.Votes {
		if vote.Text == v.Draft {
			p.line("%s approved it, %s; another approval is needed", vote.By, clock(vote.At))
			continue
		}
		p.line("%s approved another text, %s, which another person must approve:", vote.By, clock(vote.At))
		p.quote(vote.Text)
	}
	p.sentences(v.Sentences)
	p.evidence(v)
	if t := v.Thread; t != nil {
		p.objections(t.ValidatorReturn, v.About(0))
		p.around(t)
		p.research(t.InvestigatorReturn)
	}
	p.item(v, now)
	if v.Kind == Parked {
		p.head("Look in the chat, then run")
		p.line("tri-approve settle %s posted|retry|drop", v.ID)
	}
	return term.Print(w, p.String())
}

// Rewritten reports whether a person replaced the draft: the checks are those of the draft before.
func (v View) Rewritten() bool {
	return v.entry == nil && v.Draft != "" && v.DraftSHA256 != "" && decision.Sum(v.Draft) != v.DraftSHA256
}

// textName names the text that would be posted.
func (v View) textName() string {
	if v.Rewritten() {
		return "Text of an approver (evidence and validation below are of the draft that it replaces)"
	}
	return "Draft"
}

// noteHead returns the heading of the note. A note never contains text of the chat.
func (v View) noteHead() string {
	switch v.Kind {
	case Ask:
		return "Asked of you"
	case Failure:
		return "What failed"
	case Parked:
		return "Why it is parked"
	case Damaged:
		return "What is damaged"
	}
	return "Decided"
}

// page collects lines.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) {
	p.WriteString(flat(fmt.Sprintf(format, args...)) + "\n")
}

func (p *page) head(text string) {
	if text != "" {
		p.WriteString("\n" + flat(text) + "\n")
	}
}

// quote writes outside text, each line behind a bar.
func (p *page) quote(body string) {
	for line := range strings.Lines(strings.TrimRight(text.Visible(body), "\n")) {
		p.WriteString("  │ " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// item writes what identifies an item.
func (p *page) item(v View, now time.Time) {
	p.head(fmt.Sprintf("%s, cycle %d", v.Key, v.Cycle))
	void := ""
	if v.Until != "" {
		void = ", void after " + clock(v.Until)
	}
	p.line("  %s on %s, %s, waits for %s%s", v.ChatName, v.Platform, v.Who,
		term.Age(text.ParseTime(v.Since), now), void)
	if v.Draft != "" {
		p.line("  sha256 %s", decision.Sum(v.Draft))
	}
}

// thread writes what is asked, and what has happened since.
func (p *page) thread(t *thread.Thread, room string) {
	for i, m := range t.Messages {
		if i == 0 {
			p.head(fmt.Sprintf("Question of %s in %s, %s", name(m), room, clock(m.At)))
		} else {
			p.line("  %s, %s", name(m), clock(m.At))
		}
		p.quote(m.Content)
		if slices.Contains(t.NotAnswered, m.MessageID) {
			p.line("  not answered: the draft names nothing of what this asks")
		}
	}
	if taken := t.TakenFor(); taken != "" {
		p.line("  %s", taken)
	}
	if r := t.InvestigatorReturn; r != nil && r.QuestionGloss != "" {
		p.line("  in other words:")
		p.quote(r.QuestionGloss)
	}
	for _, n := range t.Alerts {
		p.line("! %s: %s", clock(n.At), n.Text)
	}
	p.messages("Asked since; the next cycle answers it", t.Pending)
	p.messages("Others answered meanwhile", t.HumanReplies)
}

// around writes what is said around the question, and what an approver said of it.
func (p *page) around(t *thread.Thread) {
	p.messages("Around it", t.Context)
	if len(t.Notes) > 0 {
		p.head("Said to the investigator")
	}
	for _, n := range t.Notes {
		p.line("  %s, %s", n.By, clock(n.At))
		p.quote(n.Text)
	}
}

func (p *page) messages(head string, ms []thread.Message) {
	if len(ms) > 0 {
		p.head(head)
	}
	for _, m := range ms {
		p.line("  %s, %s", name(m), clock(m.At))
		p.quote(m.Content)
	}
}

func name(m thread.Message) string {
	if m.SenderName != "" {
		return m.SenderName
	}
	return m.SenderID
}

// About returns the sentences of the draft that a reference covers, by its number from 1; of 0, those that
// several cover, and those without a statement.
func (v View) About(ref int) (about []verdict.Sentence) {
	if v.Thread == nil || v.Thread.ValidatorReturn == nil {
		return nil
	}
	for _, s := range v.Thread.ValidatorReturn.Sentences {
		if s.Backed() && (s.Ref == ref || ref == 0 && s.Ref > len(v.Evidence)) {
			about = append(about, s)
		}
	}
	return about
}

func (p *page) evidence(v View) {
	if len(v.Evidence) > 0 {
		p.head("Evidence")
	}
	for i, c := range v.Evidence {
		p.line("  %d. %s (%s): %s%s", i+1, c.Ref, c.Kind, c.Result, before(": ", c.Note))
		p.line("     for: %s", c.Claim)
		for _, s := range v.About(i + 1) {
			p.line("     draft, %s: %s", s.Label(), s.Text)
		}
		if c.Changed != "" {
			p.line("     ! since then: %s", c.Changed)
		}
		for n, line := range c.Lines {
			if n == shownLines {
				p.line("     … %s", text.Count(len(c.Lines)-n, "more line"))
				break
			}
			p.WriteString(fmt.Sprintf("  %6d │ %s\n", c.Start+n, text.Cut(text.Visible(line), 160)))
		}
	}
}

func (p *page) sentences(all []verdict.Sentence) {
	for i, s := range all {
		p.line("  sentence %d: %s: %s", i+1, s.Label(), s.Text)
	}
}

// objections writes the verdict with its checks, and sentences that belong to no single reference.
func (p *page) objections(v *verdict.Verdict, sentences []verdict.Sentence) {
	if v == nil {
		p.head("Not validated")
		return
	}
	p.head(fmt.Sprintf("Validation: %s, by %s", v.Verdict, v.ValidatorModel))
	p.cost("  attack", v.Usage)
	for _, s := range sentences {
		p.line("  draft, %s: %s", s.Label(), s.Text)
	}
	for _, r := range v.Why() {
		p.line("  - %s", r)
	}
	for _, c := range v.Checks {
		if c.Result != "ok" && c.Result != verdict.Supports {
			p.line("  - %s: %s (%s)%s", c.Name, c.Result, c.By, before(": ", c.Note))
		}
	}
}

func (p *page) research(r *draft.Return) {
	if r == nil {
		return
	}
	p.head(fmt.Sprintf("Confidence %s: %s", r.Confidence, r.ConfidenceReason))
	for _, q := range r.OpenQuestions {
		p.line("  open: %s", q)
	}
	if f := r.ProposedTriageFile; f != nil {
		p.line("  kept with it, below triage/: %s", f.Filename)
		p.quote(f.Content)
	}
	p.cost("  investigation", r.Usage)
	if r.ResearchNotes != "" {
		p.head("Research notes")
		p.quote(r.ResearchNotes)
	}
}

// cost shows what an agent used, if one ran.
func (p *page) cost(of string, u *draft.Usage) {
	if u == nil {
		return
	}
	cost := "cost not told"
	if u.CostUSD != nil {
		cost = fmt.Sprintf("$%.4f", *u.CostUSD)
		if u.CostAtLeast {
			cost = "at least " + cost
		}
	}
	tokens := fmt.Sprintf("%d + %d tokens", u.InputTokens, u.OutputTokens)
	if u.TokensUnknown {
		tokens = "tokens not reported"
	}
	p.line("%s: %s, %s, %s, %v", of, cost, tokens, text.Count(u.Turns, "turn"),
		time.Duration(u.DurationMS)*time.Millisecond)
}

func before(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}
