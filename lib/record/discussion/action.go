package discussion

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/record/decision"
)

// ReadyLabel is the label of an issue that work can begin on.
const ReadyLabel = "ready"

// maxAction is the most characters of an action's text.
const maxAction = 4000

// Action is a proposal as the text that a person approves. Its first line says what is done, the rest is
// the comment. Refine has none: a patch is not an issue.
func (p *Proposal) Action() string {
	first := ""
	switch p.Kind {
	case CloseIssue:
		first = fmt.Sprintf("Close issue %d.", p.Issue)
	case MoveReady:
		first = fmt.Sprintf("Label issue %d: %s", p.Issue, ReadyLabel)
	case FileIssue:
		first = "File issue: " + text.Line(p.Title, 120)
	default:
		return ""
	}
	return strings.TrimSpace(text.Cut(first+"\n\n"+p.Text, maxAction))
}

var (
	numbered = lazyregexp.New(`^(?:(Close) issue ([1-9][0-9]{0,8})\.|` +
		`Label issue ([1-9][0-9]{0,8}): ` + ReadyLabel + `)$`)
	filed = lazyregexp.New(`^File issue: (\S.*)$`)
)

// ParseAction returns the proposal that a text approves.
func ParseAction(body string) (*Proposal, error) {
	first, rest, _ := strings.Cut(body, "\n")
	p := &Proposal{Text: strings.TrimSpace(rest)}
	if m := filed.FindStringSubmatch(first); m != nil {
		p.Kind, p.Title = FileIssue, m[1]
		return p, nil
	}
	m := numbered.FindStringSubmatch(first)
	if m == nil {
		return nil, errors.New(`the first line is not an action: want "Close issue N.", "Label issue N: ` +
			ReadyLabel + `" or "File issue: TITLE"`)
	}
	p.Kind = MoveReady
	if m[1] != "" {
		p.Kind = CloseIssue
	}
	var err error
	p.Issue, err = strconv.Atoi(m[2] + m[3])
	return p, err
}

// Offer returns the record that asks people for the proposal of a discussion, to be done in a project; nil
// if it has none, or one about another project.
func (d *Discussion) Offer(platform, project string) *decision.Record {
	p := d.Proposal
	if p == nil || p.Action() == "" || p.Issue > 0 && d.TriggerRef != fmt.Sprintf("%s#%d", project, p.Issue) {
		return nil
	}
	on := decision.Target{Platform: platform, ChatID: project, ThreadID: "new",
		QuestionSHA256: p.QuestionSHA256}
	if p.Issue > 0 {
		on.ThreadID = strconv.Itoa(p.Issue)
		on.ReplyToID = on.ThreadID
	}
	body := p.Action()
	return &decision.Record{
		Kind: decision.Offer, By: "tri-panel", Via: "code", Key: platform + "." + d.ID, Cycle: 1,
		Text: body, DraftSHA256: decision.Sum(body), Target: &on,
		Meta: &decision.Meta{ValidatorVerdict: "panel",
			Badge: "a proposal of personas; nothing of it is checked"},
		Sources: []string{p.Title, p.Text},
	}
}

// Question returns the text of an issue as its forge has it, by which a changed one is noticed.
func Question(title, body string) string {
	return title + "\n\n" + strings.ReplaceAll(body, "\r\n", "\n")
}
