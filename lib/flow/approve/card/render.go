package card

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tri/lib/base/config"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/notify"
	"tri/lib/record/verdict"
)

// Sizes of a card, in characters. The smallest limit of a platform is 2,000, including the title and the
// legend of the reactions.
const (
	smallCard   = 1500
	largeCard   = 3200
	maxTitle    = 100
	maxQuestion = 400
	maxNote     = 300
)

// room returns the maximum length of a body on a platform.
func room(platform string) int {
	if platform == config.PlatformDiscord || platform == config.PlatformTelegram {
		return smallCard
	}
	return largeCard
}

// harmless breaks platform markup in a text: the @ of a mention, the ] of a link or a picture. The
// inserted character is invisible. Lines of outside text have a bar in front, so that none begins a
// heading, a list or a fence, or imitates a line of this program.
var harmless = strings.NewReplacer("@", "@\u2060", "]", "]\u2060")

// body returns the text about an item, independent of its outcome. whole reports whether it contains the
// whole draft and the draft may be sent.
func (d *channel) body(it *approve.Item) (out string, whole bool) {
	v := d.Gate.View(it)
	b := &body{left: room(d.chat.Platform)}
	if checked := it.Checked(); checked != "" {
		b.line("%s", one(checked, 200))
	}
	for _, open := range v.Unbacked {
		b.line("! %s", one(open, 150))
	}
	b.line("%s, %s asks:", one(it.ChatName, 60), one(it.Who, 60))
	b.quote(it.Question, maxQuestion)
	if v.Thread != nil && v.Thread.Intent != "" {
		b.line("%s", one(v.Thread.TakenFor(), 200))
	}
	if it.Note != "" {
		b.line("%s", map[string]string{approve.Ask: "Asked of you:", approve.Failure: "What failed:",
			approve.Parked: "Why it is parked:"}[it.Kind])
		b.quote(it.Note, maxNote)
	}
	whole = true
	if v.Draft != "" {
		b.line("The draft, %d characters:", utf8.RuneCountInString(v.Draft))
		if sent := v.Sent(); sent != "" {
			b.line("%s", one(sent, 200))
		}
		whole = b.quote(v.Draft, b.left-100)
		if seen := text.Visible(v.Draft); seen != v.Draft {
			b.line("Invisible characters are shown as <U+....>.")
		}
	}
	for _, p := range d.Gate.Problems(it, v.Draft) {
		if v.Draft == "" {
			break
		}
		whole = whole && !p.Fatal
		b.line("! %s: %s", p.Name, one(p.Note, 150))
	}
	for i, c := range v.Evidence {
		b.line("%d. %s (%s): %s, for: %s%s", i+1, one(c.Ref, 100), c.Kind, c.Result, one(c.Claim, 120),
			before("; since then: ", one(c.Changed, 80)))
	}
	b.objections(&v)
	if until := it.Until; until != "" {
		b.line("Void after %s.", until)
	}
	return strings.TrimSuffix(b.String(), "\n"), whole
}

// body is a text limited to the size of a card.
type body struct {
	strings.Builder
	left int // characters left
	full bool
}

// line writes a line if there is room for it.
func (b *body) line(format string, args ...any) {
	text := harmless.Replace(oneLine(fmt.Sprintf(format, args...)))
	if n := utf8.RuneCountInString(text) + 1; n <= b.left && !b.full {
		b.left -= n
		b.WriteString(text + "\n")
		return
	}
	if !b.full {
		b.full = true
		b.WriteString("…\n")
	}
}

// quote writes at most most characters of outside text, each line behind a bar, and reports whether that
// was the whole text.
func (b *body) quote(body string, most int) (whole bool) {
	body = strings.TrimRight(strings.ReplaceAll(text.Visible(body), "\t", "    "), "\n")
	most = max(min(most, b.left), 0)
	for l := range strings.Lines(body) {
		l = "│ " + harmless.Replace(strings.TrimSuffix(l, "\n"))
		if n := utf8.RuneCountInString(l) + 1; n <= most {
			most -= n
			b.left -= n
			b.WriteString(l + "\n")
			continue
		}
		if most > 10 {
			b.left -= most
			b.WriteString(text.Cut(l, most-1) + "\n")
		}
		return false
	}
	return true
}

func (b *body) objections(v *approve.View) {
	t := v.Thread
	if t == nil {
		return
	}
	for _, n := range t.Alerts {
		b.line("! %s", one(n.Text, 150))
	}
	if n := len(t.HumanReplies); n > 0 {
		b.line("%d messages of others came meanwhile.", n)
	}
	var usages []*draft.Usage
	if r := t.InvestigatorReturn; r != nil {
		b.line("Confidence: %s", one(r.ConfidenceReason, 150))
		for _, q := range r.OpenQuestions {
			b.line("Open: %s", one(q, 150))
		}
		if f := r.ProposedTriageFile; f != nil {
			b.line("Approval also keeps the notes %s.", one(f.Filename, 80))
		}
		usages = append(usages, r.Usage)
	}
	if r := t.ValidatorReturn; r != nil {
		b.line("Validation: %s", r.Verdict)
		for _, reason := range r.Why() {
			b.line("- %s", one(reason, 150))
		}
		for _, c := range r.Checks {
			if c.Result != "ok" && c.Result != verdict.Supports {
				b.line("- %s: %s%s", c.Name, c.Result, before(": ", one(c.Note, 150)))
			}
		}
		usages = append(usages, r.Usage)
	} else if v.Draft != "" {
		b.line("Not validated.")
	}
	b.line("Cost: %s.", cost(usages))
}

// cost returns the total cost of the agents, and whether the cost of some is unknown.
func cost(usages []*draft.Usage) string {
	sum, unknown := 0.0, ""
	for _, u := range usages {
		switch {
		case u == nil: // no agent ran
		case u.CostUSD == nil:
			unknown = ", and an unreported amount"
		default:
			if sum += *u.CostUSD; u.CostAtLeast {
				unknown = ", and an unreported amount"
			}
		}
	}
	return fmt.Sprintf("$%.4f%s", sum, unknown)
}

// bodyOf returns the body of a posted card: all except the last paragraph, which says what can be done. No
// body contains an empty line.
func bodyOf(text string) string {
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		return text[:i]
	}
	return text
}

// contentOf returns the content of the card of an item that waits or can be undone.
func (d *channel) contentOf(c *card, it *approve.Item) content {
	name := c.name[:8]
	switch it.Kind {
	case approve.Draft:
		f := content{title: "Draft " + name + before(": ", one(it.Checked(), 70)),
			buttons: "approve dismiss redo escalate "}
		foot := name + " · Reply to this message with what to change, and it is investigated again."
		if !c.whole {
			f.buttons = "dismiss redo escalate "
			foot = "It cannot be approved here, being too long for a card or not fit to be sent: tri-approve show " + name
		}
		for _, v := range it.Votes {
			said := "%s approved; one more approval is needed. "
			if decision.Sum(v.Text) != it.DraftSHA256 {
				said = "%s approved another text, which one more must approve. "
			}
			foot = fmt.Sprintf(said, one(v.By, 60)) + foot
		}
		f.text = c.body + "\n\n" + foot
		return f
	case approve.Ask:
		return content{"Asked of you " + name,
			c.body + "\n\n" + name + " · Reply to this message with the answer.", "dismiss "}
	case approve.Failure:
		return content{"Nothing to post " + name,
			c.body + "\n\n" + name +
				" · Reply to this message with what to look at, and it is investigated again.",
			"redo escalate dismiss "}
	case approve.Parked:
		return content{"May or may not be posted " + name,
			c.body + "\n\nLook in the chat, then run: tri-approve settle " + name + " posted|retry|drop",
			""}
	}
	w := d.history.words[cycleOf(c.Key, c.Cycle)]
	who := one(w.By, 60)
	f := content{title: "Approved by " + who}
	said := "Approved by " + who + "; it is being posted."
	if it.Kind == approve.Approved {
		said = fmt.Sprintf("Approved by %s; it is posted in %v, unless it is taken back.", who,
			d.Gate.Config.Gate.Grace())
		f.buttons = "undo "
	}
	instead := c.instead(w) // in the room of the body
	left := room(d.chat.Platform) - utf8.RuneCountInString(instead)
	f.text = said + instead + "\n\n" + text.Cut(c.body, left)
	if w.Kind == decision.Auto {
		f.title = autoTitle
		f.text = strings.Replace(f.text, "Approved by "+who, "No person has approved it", 1)
	}
	return f
}

const autoTitle = "Answered without a person"

// instead returns the text that a person approved in place of the draft, and what was proved of it.
func (c *card) instead(w decision.Record) string {
	if w.Original == "" {
		return ""
	}
	b := &body{left: 900}
	b.quote(w.Text, 600)
	for _, s := range w.Sentences {
		b.line("- %s: %s", one(s.Label(), 120), one(s.Text, 80))
	}
	return "\nWith another text" + before(", ", one(w.Badge, 120)) + ":\n" +
		strings.TrimSuffix(b.String(), "\n")
}

// labels are the labels and styles of the buttons.
var labels = map[string][2]string{
	"approve": {"Approve", "primary"}, "dismiss": {"Dismiss", "danger"}, "redo": {"Redo", ""},
	"escalate": {"Look longer", ""}, "undo": {"Undo", ""},
}

// signal returns the request to show the card with a content.
func (c *card) signal(f content) notify.Signal {
	s := c.Signal
	s.Title, s.Text, s.Buttons = text.Cut(f.title, maxTitle), f.text, nil
	for name := range strings.FieldsSeq(f.buttons) {
		s.Buttons = append(s.Buttons, notify.Button{Name: name, Label: labels[name][0], Value: c.value(),
			Style: labels[name][1]})
	}
	return s
}

// oneLine joins a text into one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func before(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}
