// Package discussion is what several personas said of one subject, out of sight, and its outcome: a pure
// state machine and a line of discussions.ndjson.
package discussion

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/persona"
	"tri/lib/record/verdict"
)

// LogName is the log of discussions, each one line, written at its end.
const LogName = "discussions.ndjson"

// Statuses.
const (
	Active    = "active"
	Consensus = "consensus"
	Blocked   = "blocked" // a person has to decide
	Closed    = "closed"  // there was nobody to ask
)

// Results of a consensus.
const (
	Approved         = "approved"
	ChangesRequested = "changes_requested"
	HumanNeeded      = "human_needed"
)

// Decisions of the lead. What is none of them is Human.
const (
	Approve = "APPROVE"
	Changes = "CHANGES"
	Human   = "HUMAN"
	Ready   = "READY" // of an issue, as the next two
	Close   = "CLOSE"
	Draft   = "DRAFT"
)

// Kinds of Proposal.
const (
	FileIssue  = "file_issue"
	MoveReady  = "move_ready"
	CloseIssue = "close_issue"
	Refine     = "refine" // a patch, by another run
)

// Discussion is one discussion.
type Discussion struct {
	ID              string         `json:"id"`
	ProjectPath     string         `json:"projectPath"` // the codebase
	TriggerType     string         `json:"triggerType"`
	TriggerRef      string         `json:"triggerRef"`
	SubjectSHA256   string         `json:"subject_sha256"` // of the exact bytes that were judged
	ChannelID       *string        `json:"channelId"`      // null: nothing is posted
	ThreadTS        *string        `json:"threadTs"`       // null, as channelId
	Status          string         `json:"status"`
	Round           int            `json:"round"`        // from 1
	Participants    []string       `json:"participants"` // ids of the personas that were asked
	ConsensusResult *string        `json:"consensusResult"`
	DecidedBy       string         `json:"decided_by,omitempty"` // code, or the lead's id
	Contributions   []Contribution `json:"contributions"`
	Rulings         []Ruling       `json:"rulings"`
	Proposal        *Proposal      `json:"proposal,omitempty"`
	StartedAt       string         `json:"started_at"` // RFC 3339, as the next
	EndedAt         string         `json:"ended_at"`
	Drill           *draft.Drill   `json:"drill,omitempty"`
}

// Contribution is what one persona said in one round.
type Contribution struct {
	RunID   string              `json:"run_id"`
	Persona string              `json:"persona"`
	Name    string              `json:"name"`
	Lens    string              `json:"lens"` // of the persona; for what is not a draft, the mode
	Round   int                 `json:"round"`
	Model   string              `json:"model"`
	Says    []verdict.Objection `json:"says"`
	Error   string              `json:"error,omitempty"` // it gave no answer that can be used
	Usage   *draft.Usage        `json:"usage,omitempty"`
}

// Ruling is a decision of the lead.
type Ruling struct {
	RunID    string       `json:"run_id"`
	Persona  string       `json:"persona"`
	Round    int          `json:"round"`
	Model    string       `json:"model"`
	Decision string       `json:"decision"` // as it was given
	Reasons  []string     `json:"reasons"`
	Error    string       `json:"error,omitempty"`
	Usage    *draft.Usage `json:"usage,omitempty"`
}

// Proposal is what the outcome suggests. Nothing does it unless a person approves its Action.
type Proposal struct {
	Kind  string `json:"kind"`
	Issue int    `json:"issue,omitempty"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	// QuestionSHA256 is of the Question of the issue, as it was judged.
	QuestionSHA256 string `json:"question_sha256,omitempty"`
}

// Member is one question to one persona.
type Member struct{ Persona, Name, Lens string }

// Table is who sits in a discussion.
type Table struct {
	Members []Member // without the lead
	Lead    string   // id; "" if code decides
	Limits  config.Panel
}

// ID returns the id of the discussion of a subject: the same at every try. attempt is 0, or counts how often
// a person asked for another.
func ID(trigger, ref, sha string, attempt int) string { return id("d", trigger, ref, sha, attempt) }

// RunID returns the id of the run of a contribution or, with an empty lens, of a ruling.
func RunID(discussion, persona, lens string, round int) string {
	return id("p", discussion, persona, lens, round)
}

func id(kind, a, b, c string, n int) string {
	return kind + "-" + text.SHA256(fmt.Sprintf("%s\x00%s\x00%s\x00%d", a, b, c, n))[:24]
}

// Ask is a question that is due. One without a lens asks the lead for a ruling.
type Ask struct {
	Member
	Round int
	RunID string
}

// Due returns what is to be asked now: the contributors of the round at once, then the lead. It is pure.
func Due(d Discussion, t Table) []Ask {
	if d.Status != Active {
		return nil
	}
	left := t.Limits.Contributions - d.used() - 1 // one is kept for the ruling
	var due []Ask
	inRound := 0
	for _, m := range t.Members {
		if slices.ContainsFunc(d.Contributions, func(c Contribution) bool {
			return c.Round == d.Round && c.Persona == m.Persona && c.Lens == m.Lens
		}) {
			inRound++
			continue
		}
		if len(due)+inRound < t.Limits.PerRound && len(due) < left {
			due = append(due, Ask{m, d.Round, RunID(d.ID, m.Persona, m.Lens, d.Round)})
		}
	}
	if len(due) == 0 && t.Lead != "" {
		due = append(due, Ask{Member{Persona: t.Lead}, d.Round, RunID(d.ID, t.Lead, "", d.Round)})
	}
	return due
}

func (d Discussion) used() int { return len(d.Contributions) + len(d.Rulings) }

// Contribute returns the discussion with a contribution. What was said before, in whatever case and spacing,
// is dropped. It is pure.
func Contribute(d Discussion, c Contribution) Discussion {
	said := map[string]bool{}
	for _, before := range d.Contributions {
		for _, o := range before.Says {
			said[normal(o)] = true
		}
	}
	says := []verdict.Objection{}
	for _, o := range c.Says {
		if !said[normal(o)] {
			says, said[normal(o)] = append(says, o), true
		}
	}
	c.Says = says
	d.Contributions = append(slices.Clone(d.Contributions), c)
	d.Participants = with(d.Participants, c.Persona)
	return d
}

func normal(o verdict.Objection) string {
	return strings.Join(strings.Fields(strings.ToLower(o.Claim+" "+o.Note)), " ")
}

func with(all []string, id string) []string {
	if slices.Contains(all, id) {
		return all
	}
	return append(slices.Clone(all), id)
}

// Rule returns the discussion with the lead's decision. It is pure.
func Rule(d Discussion, r Ruling, t Table) Discussion {
	left := t.Limits.Contributions - d.used()
	d.Rulings = append(slices.Clone(d.Rulings), r)
	d.Participants = with(d.Participants, r.Persona)
	d.DecidedBy = r.Persona
	decision := r.Decision
	if r.Error != "" || left < 1 {
		decision = Human
	}
	issue := d.TriggerType == persona.IssueReview
	switch {
	case issue && (decision == Ready || decision == Close || decision == Draft), !issue &&
		decision == Approve:
		return d.end(Consensus, Approved)
	case !issue && decision == Changes && d.Round < t.Limits.Rounds && left >= 3:
		d.Round++
		return d
	case !issue && decision == Changes:
		return d.end(Consensus, ChangesRequested)
	}
	return d.end(Blocked, HumanNeeded)
}

// Decide returns the discussion as code decides it: one objection asks for changes, no answer at all asks
// for a person. It is pure.
func Decide(d Discussion) Discussion {
	d.DecidedBy = verdict.ByCode
	failed, says := 0, 0
	for _, c := range d.Contributions {
		says += len(c.Says)
		if c.Error != "" {
			failed++
		}
	}
	switch {
	case len(d.Contributions) == 0:
		d.Status = Closed
		return d
	case says > 0:
		return d.end(Consensus, ChangesRequested)
	case failed == len(d.Contributions):
		return d.end(Blocked, HumanNeeded)
	}
	return d.end(Consensus, Approved)
}

func (d Discussion) end(status, result string) Discussion {
	d.Status, d.ConsensusResult = status, &result
	return d
}

// Propose returns what the outcome suggests, nil if nothing. title and issue are those of the subject.
func Propose(d Discussion, title string, issue int) *Proposal {
	if d.ConsensusResult == nil || len(d.Rulings) == 0 {
		return nil
	}
	last := d.Rulings[len(d.Rulings)-1]
	kind := map[string]string{Ready: MoveReady, Close: CloseIssue}[last.Decision]
	switch {
	case *d.ConsensusResult == HumanNeeded:
		return nil
	case *d.ConsensusResult == ChangesRequested && d.TriggerType == persona.PRReview:
		kind = Refine
	case *d.ConsensusResult == Approved && d.TriggerType == persona.CodeWatch:
		kind = FileIssue
	}
	if kind == "" || d.TriggerType != persona.IssueReview && kind != Refine && kind != FileIssue {
		return nil
	}
	return &Proposal{Kind: kind, Issue: issue, Title: title,
		Text: strings.Join(append(slices.Clone(last.Reasons), d.Objections()...), "\n")}
}

// Each calls do with every recorded discussion, oldest first.
func Each(h *durable.Home, do func(*Discussion) error) error {
	if !h.Exists(LogName) {
		return nil
	}
	return h.Lines(LogName, 0, func(line []byte) error {
		d := new(Discussion)
		if err := json.Unmarshal(line, d); err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", LogName, err))
		}
		return do(d)
	})
}

// Objections returns what was said, a line each, named by persona and lens.
func (d Discussion) Objections() (lines []string) {
	for _, c := range d.Contributions {
		for _, o := range c.Says {
			lines = append(lines, fmt.Sprintf("%s (%s): %q at %s: %s", cmp.Or(c.Name, c.Persona), c.Lens,
				o.Claim, o.Ref, o.Note))
		}
	}
	return lines
}
