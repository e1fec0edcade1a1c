package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/discussion"
	"tri/lib/record/draft"
	"tri/lib/record/persona"
	"tri/lib/record/run"
)

// Discussed is a discussion of personas, and what people decided about its proposal.
type Discussed struct {
	discussion.Discussion
	Cycles   []Cycle  `json:"cycles,omitempty"` // with the offer, the decisions and the posts
	Troubles []string `json:"troubles,omitempty"`
	people   []persona.Persona
}

// who returns the name of a persona, or its id if the home has it no more.
func (d *Discussed) who(id string) string {
	for _, p := range d.people {
		if p.ID == id {
			return p.Name
		}
	}
	return cmp.Or(id, "nobody")
}

// Discussions are those that a name denotes, oldest first.
type Discussions []Discussed

// Discuss returns the discussions of a subject, or the one with an id: the beginning of it, or the key of its
// offer. There are none for the name of a message.
func Discuss(h *durable.Home, cfg *config.Config, name string) (all Discussions, err error) {
	id := strings.TrimPrefix(name, config.PlatformForge+".")
	err = discussion.Each(h, func(d *discussion.Discussion) error {
		if d.TriggerRef != "" && d.TriggerRef == name ||
			len(id) >= len("d-123") && strings.HasPrefix(id, "d-") && strings.HasPrefix(d.ID, id) {
			all = append(all, Discussed{Discussion: *d})
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	people, err := persona.All(h)
	for i := range all {
		all[i].people = people
		t := &teller{home: h, story: &Story{Key: config.PlatformForge + "." + all[i].ID}}
		t.decisions(cfg)
		t.posts()
		all[i].Cycles, all[i].Troubles = t.story.Cycles, t.story.Troubles
	}
	return all, err
}

// WriteJSON writes a record for each discussion.
func (all Discussions) WriteJSON(w io.Writer) error {
	return ndjson.Write(w, all...)
}

// Print writes the transcripts as text: who was asked what, each objection by name, and the lead's decisions.
func (all Discussions) Print(w io.Writer) error {
	var b strings.Builder
	for i := range all {
		all[i].print(&b)
	}
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

func (d *Discussed) print(b *strings.Builder) {
	result := "nobody was asked"
	if d.ConsensusResult != nil {
		result = *d.ConsensusResult
	}
	fmt.Fprintf(b, "%s  %s of %s, %s\n\n%s: %s, decided by %s\n\n", text.Line(d.ID, 0),
		text.Line(d.TriggerType, 0), text.Line(cmp.Or(d.TriggerRef, d.SubjectSHA256), 0), clock(d.StartedAt),
		text.Line(d.Status, 0), text.Line(result, 0), text.Line(d.who(d.DecidedBy), 0))
	below := strings.Repeat(" ", 23)
	for round := 1; round <= d.Round; round++ {
		for _, c := range d.Contributions {
			if c.Round != round {
				continue
			}
			said := fmt.Sprintf("objections: %d", len(c.Says))
			line(b, "", fmt.Sprintf("round %d", round),
				spoken(cmp.Or(c.Name, c.Persona)+" ("+c.Lens+")", c.Model, c.Error, said, c.Usage))
			for _, o := range c.Says {
				b.WriteString(indent(fmt.Sprintf("%s: %q at %s: %s", o.Result, o.Claim, o.Ref, o.Note), below))
			}
		}
		for _, r := range d.Rulings {
			if r.Round != round {
				continue
			}
			line(b, "", "ruling", spoken(d.who(r.Persona), r.Model, r.Error, r.Decision, r.Usage))
			for _, reason := range r.Reasons {
				b.WriteString(indent(reason, below))
			}
		}
	}
	if d.Proposal != nil && len(d.Cycles) == 0 { // not offered
		line(b, clock(d.EndedAt), "proposal", text.Line(cmp.Or(d.Proposal.Action(), d.Proposal.Kind), 100))
	}
	for i := range d.Cycles {
		d.Cycles[i].print(b, false)
	}
	for _, trouble := range d.Troubles {
		fmt.Fprintf(b, "trouble: %s\n", text.Line(trouble, 0))
	}
	b.WriteString("\n")
}

// spoken returns one answer as a line: who gave it, the answer, and its cost.
func spoken(who, model, failed, said string, usage *draft.Usage) string {
	if failed != "" {
		said = "gave no answer: " + failed
	}
	if model != "" {
		who += ", " + model
	}
	cost := (&Run{Kind: run.Panel, Usage: usage}).took()
	return text.Line(who+": "+said, 0) + cost
}
