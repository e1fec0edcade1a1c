package approve

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/safety"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
)

// Approve says yes to the draft, byte for byte as it was offered.
func (g *Gate) Approve(it *Item) (decision.Record, error) {
	text := it.standing.Offer.Text
	if err := unsafe(g.Problems(it, text)); err != nil {
		return decision.Record{}, err
	}
	return g.decide(it, decision.Record{Kind: decision.Approve, Text: text, DraftSHA256: decision.Sum(text), NoFile: g.NoFile})
}

// Edit says yes to another text in the draft's place.
func (g *Gate) Edit(it *Item, text string) (decision.Record, error) {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == it.standing.Offer.Text {
		return g.Approve(it)
	}
	if err := unsafe(g.Problems(it, text)); err != nil {
		return decision.Record{}, err
	}
	return g.decide(it, decision.Record{
		Kind: decision.Edit, Text: text, DraftSHA256: decision.Sum(text), Original: it.standing.Offer.DraftSHA256,
		Distance: decision.Distance(it.standing.Offer.Text, text), NoFile: g.NoFile,
	})
}

// Dismiss posts nothing and closes the thread.
func (g *Gate) Dismiss(it *Item, reason string) (decision.Record, error) {
	return g.decide(it, decision.Record{Kind: decision.Dismiss, DraftSHA256: it.offered(), Note: reason})
}

// Redo has it investigated again, with a note.
func (g *Gate) Redo(it *Item, note string) (decision.Record, error) {
	return g.decide(it, decision.Record{Kind: decision.Redo, DraftSHA256: it.offered(), Note: note})
}

// Answer answers what the investigation hinges on; it goes on with that.
func (g *Gate) Answer(it *Item, note string) (decision.Record, error) {
	return g.decide(it, decision.Record{Kind: decision.Answer, DraftSHA256: it.offered(), Note: note})
}

// Escalate has it looked into for longer, detached, with a note.
func (g *Gate) Escalate(it *Item, note string) (decision.Record, error) {
	return g.decide(it, decision.Record{Kind: decision.Escalate, DraftSHA256: it.offered(), Note: note})
}

// Undo takes a yes back, as long as tri-reply has not begun to post.
func (g *Gate) Undo(it *Item) (decision.Record, error) {
	r := decision.Record{Kind: decision.Undo}
	if d := it.standing.Decision; d != nil {
		r.DraftSHA256 = d.DraftSHA256
	}
	return g.decide(it, r)
}

// Settle says what became of a parked post: posted, retry or drop.
func (g *Gate) Settle(it *Item, outcome, note string) (decision.Record, error) {
	return g.decide(it, decision.Record{
		Kind: decision.Settle, DraftSHA256: it.DraftSHA256, Post: it.Post, Tries: it.entry.Tries, Outcome: outcome, Note: note,
	})
}

// offered is the hash that a word about the item names: none where nothing was
// offered.
func (it *Item) offered() string {
	if it.Kind == Draft {
		return it.DraftSHA256
	}
	return ""
}

// Problems are what speaks against a text that a person would send as the answer
// to an item.
func (g *Gate) Problems(it *Item, text string) []draft.Problem {
	s := safety.Sources{Texts: []string{it.Question}, Secrets: g.Config.Secrets(), Approved: true}
	if it.standing != nil && it.standing.Offer != nil {
		s.Texts = append(s.Texts, it.standing.Offer.Sources...)
		s.Refs = it.standing.Offer.Evidence
	}
	return safety.Check(text, s)
}

func unsafe(problems []draft.Problem) error {
	var errs []error
	for _, p := range problems {
		if p.Fatal {
			errs = append(errs, fmt.Errorf("the text may not be sent: %s: %s", p.Name, text.Visible(p.Note)))
		}
	}
	return sysexit.With(sysexit.Data, errors.Join(errs...))
}

// decide appends a person's word and says whether it counts. What could not count
// is refused before it is written.
func (g *Gate) decide(it *Item, r decision.Record) (decision.Record, error) {
	r.By, r.Via, r.Ref, r.Key, r.Cycle = g.By, g.Via, g.Ref, it.Key, it.Cycle
	if err := g.allowed(); err != nil {
		return r, err
	}
	state, err := g.fold()
	if err != nil {
		return r, err
	}
	trial := r
	trial.At = g.Now().UTC().Format(time.RFC3339Nano)
	if counts, why := state.Add(trial); !counts {
		return r, refused(r, why)
	}
	r.At = trial.At
	if r, err = decision.Append(g.Home, r); err != nil {
		return r, err
	}
	return r, g.counted(r)
}

func (g *Gate) allowed() error {
	if decision.PolicyOf(g.Config).Allows(g.By) {
		return nil
	}
	err := fmt.Errorf("%q may not decide", g.By)
	hint := "add the name to team.approvers in config.yaml"
	if len(g.Config.Team.Approvers) == 0 {
		err = fmt.Errorf("nobody may decide: team.approvers is empty")
		hint = fmt.Sprintf("add who may, for example %q, to team.approvers in config.yaml", g.By)
	}
	return sysexit.Hint(sysexit.With(sysexit.NoPerm, err), hint)
}

// counted looks into the log whether a record that was just appended counts:
// somebody may have been faster.
func (g *Gate) counted(r decision.Record) error {
	state := decision.NewState(decision.PolicyOf(g.Config))
	return decision.NewTail(g.Home).Next(func(other decision.Record) error {
		if counts, why := state.Add(other); other.N == r.N && !counts {
			return refused(r, why)
		}
		return nil
	})
}

func refused(r decision.Record, why string) error {
	return sysexit.With(sysexit.No, fmt.Errorf("%s %s: %s", r.Kind, r.Key, why))
}
