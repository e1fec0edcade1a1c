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
func (g *Gate) Approve(it *Item) (Said, error) {
	text := it.standing.Offer.Text
	if err := unsafe(g.Problems(it, text)); err != nil {
		return Said{}, err
	}
	return g.decide(it, decision.Record{Kind: decision.Approve, Text: text, DraftSHA256: decision.Sum(text), NoFile: g.NoFile})
}

// Edit says yes to another text in the draft's place. The draft's own text, and none,
// are what an editor leaves behind that was left without a decision.
func (g *Gate) Edit(it *Item, text string) (Said, error) {
	text = Edited(text)
	switch {
	case strings.TrimSpace(text) == "":
		return Said{}, sysexit.With(sysexit.No, errors.New("the text is empty; nothing was decided"))
	case text == it.standing.Offer.Text:
		err := sysexit.With(sysexit.No, errors.New("the text is unchanged; nothing was decided"))
		return Said{}, sysexit.Hint(err, "approve posts the draft as it is")
	}
	if err := unsafe(g.Problems(it, text)); err != nil {
		return Said{}, err
	}
	return g.decide(it, decision.Record{
		Kind: decision.Edit, Text: text, DraftSHA256: decision.Sum(text), Original: it.standing.Offer.DraftSHA256,
		Distance: decision.Distance(it.standing.Offer.Text, text), NoFile: g.NoFile,
	})
}

// Edited is a text as Edit sends it, of what an editor or a browser gave.
func Edited(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// Said is a word that counts, as it is in the log.
type Said struct {
	decision.Record
	// Yes and Of are, of a yes, how many there are to its text and how many it takes.
	Yes, Of int
}

// Waits says what a yes still waits for, "" when it is posted.
func (s Said) Waits() string {
	if s.Yes >= s.Of {
		return ""
	}
	return fmt.Sprintf("%d of %d; waits for another approver", s.Yes, s.Of)
}

// Dismiss posts nothing and closes the thread.
func (g *Gate) Dismiss(it *Item, reason string) (Said, error) {
	return g.decide(it, decision.Record{Kind: decision.Dismiss, DraftSHA256: it.offered(), Note: reason})
}

// Redo has it investigated again, with a note.
func (g *Gate) Redo(it *Item, note string) (Said, error) {
	return g.decide(it, decision.Record{Kind: decision.Redo, DraftSHA256: it.offered(), Note: note})
}

// Answer answers what the investigation hinges on; it goes on with that.
func (g *Gate) Answer(it *Item, note string) (Said, error) {
	return g.decide(it, decision.Record{Kind: decision.Answer, DraftSHA256: it.offered(), Note: note})
}

// Escalate has it looked into for longer, detached, with a note.
func (g *Gate) Escalate(it *Item, note string) (Said, error) {
	return g.decide(it, decision.Record{Kind: decision.Escalate, DraftSHA256: it.offered(), Note: note})
}

// Undo takes a yes back, as long as tri-reply has not begun to post, or brings back a
// draft that expired.
func (g *Gate) Undo(it *Item) (Said, error) {
	r := decision.Record{Kind: decision.Undo}
	if d := it.standing.Decision; d != nil {
		r.DraftSHA256 = d.DraftSHA256
	} else if it.Kind == Expired {
		r.DraftSHA256 = it.DraftSHA256
	}
	return g.decide(it, r)
}

// Settle says what became of a parked post: posted, retry or drop.
func (g *Gate) Settle(it *Item, outcome, note string) (Said, error) {
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
func (g *Gate) decide(it *Item, r decision.Record) (Said, error) {
	r.By, r.Via, r.Ref, r.Key, r.Cycle = g.By, g.Via, g.Ref, it.Key, it.Cycle
	policy, err := g.policy()
	if err == nil {
		err = g.allowed(policy)
	}
	if err != nil {
		return Said{}, err
	}
	state, err := g.fold(policy)
	if err != nil {
		return Said{}, err
	}
	trial := r
	trial.At = g.Now().UTC().Format(time.RFC3339Nano)
	if counts, why := state.Add(trial); !counts {
		return Said{}, refused(r, why)
	}
	r.At = trial.At
	if r, err = decision.Append(g.Home, r); err != nil {
		return Said{}, err
	}
	return g.counted(r, policy)
}

func (g *Gate) allowed(policy decision.Policy) error {
	if policy.Allows(g.By) {
		return nil
	}
	err := fmt.Errorf("%q may not decide", g.By)
	hint := "add the name to team.approvers in config.yaml"
	if len(policy.Approvers) == 0 {
		err = fmt.Errorf("nobody may decide: team.approvers is empty")
		hint = fmt.Sprintf("add who may, for example %q, to team.approvers in config.yaml", g.By)
	}
	return sysexit.Hint(sysexit.With(sysexit.NoPerm, err), hint)
}

// counted looks into the log whether a record that was just appended counts:
// another may have been faster.
func (g *Gate) counted(r decision.Record, policy decision.Policy) (Said, error) {
	said := Said{Record: r}
	state := decision.NewState(policy)
	err := decision.NewTail(g.Home).Next(func(other decision.Record) error {
		counts, why := state.Add(other)
		switch {
		case other.N == r.N && !counts:
			return refused(r, why)
		case other.N == r.N && r.Posts():
			said.Yes, said.Of = state.Standing(r.Key).Yeses(r.DraftSHA256), max(policy.Quorum, 1)
		}
		return nil
	})
	return said, err
}

func refused(r decision.Record, why string) error {
	return sysexit.With(sysexit.No, fmt.Errorf("%s %s: %s", r.Kind, r.Key, why))
}
