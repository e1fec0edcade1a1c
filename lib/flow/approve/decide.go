package approve

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/judge/claims"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/judge/voice"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/verdict"
)

// Decide takes a decision other than an edit or the outcome of a parked post: Approve, byte for byte as
// offered; Dismiss, which closes the thread; Redo, Answer or Escalate, which have it investigated with the
// note, Redo also if it is closed; Undo, of an approval that tri-reply has not begun to post, of one's own
// approval that another must follow, or of the end of a draft that expired.
func (g *Gate) Decide(it *Item, kind, note string) (Said, error) {
	r := decision.Record{Kind: kind, DraftSHA256: it.offered(), Note: note}
	switch {
	case kind == decision.Approve:
		return g.approve(it)
	case kind == decision.Redo && (it.Kind == Ended || it.Kind == Expired):
		r.Kind = decision.Reopen
	case kind == decision.Undo && it.standing != nil && it.standing.Decision != nil:
		r.DraftSHA256 = it.standing.Decision.DraftSHA256
	case kind == decision.Undo && it.Kind == Expired:
		r.DraftSHA256 = it.DraftSHA256
	case kind == decision.Undo:
		r.DraftSHA256 = "" // whichever text this person has approved
	}
	return g.decide(it, r)
}

// Done says what a decision of a kind has done.
var Done = map[string]string{
	decision.Dismiss:  "dismissed; nothing is posted",
	decision.Redo:     "it is investigated again",
	decision.Answer:   "it is investigated with your answer",
	decision.Escalate: "it is investigated in a long run",
	decision.Undo:     "taken back; it waits again",
}

func (g *Gate) approve(it *Item) (Said, error) {
	if it.standing == nil || it.standing.Offer == nil {
		return Said{}, it.noOffer()
	}
	text := it.standing.Offer.Text
	if err := unsafe(g.Problems(it, text)); err != nil {
		return Said{}, err
	}
	return g.decide(it, decision.Record{Kind: decision.Approve, Text: text, DraftSHA256: decision.Sum(text),
		Cuts: it.standing.Offer.Cuts, NoFile: g.NoFile})
}

// Edit approves another text in place of the draft. An empty or unchanged text is refused, since an editor
// that was left without a decision leaves one of these.
func (g *Gate) Edit(it *Item, text string) (Said, error) {
	text = Edited(text)
	switch {
	case it.standing == nil || it.standing.Offer == nil:
		return Said{}, it.noOffer()
	case strings.TrimSpace(text) == "":
		return Said{}, sysexit.With(sysexit.No, errors.New("the text is empty; nothing was decided"))
	case text == it.standing.Offer.Text:
		err := sysexit.With(sysexit.No, errors.New("the text is unchanged; nothing was decided"))
		return Said{}, sysexit.Hint(err, "approve posts the draft as it is")
	}
	if err := unsafe(g.Problems(it, text)); err != nil {
		return Said{}, err
	}
	sentences, badge := g.Account(it, text)
	said, err := g.decide(it, decision.Record{
		Kind: decision.Edit, Text: text, DraftSHA256: decision.Sum(text),
		Original: it.standing.Offer.DraftSHA256,
		Distance: decision.Distance(it.standing.Offer.Text, text), NoFile: g.NoFile, Badge: badge,
		Sentences: sentences, Cuts: voice.Fit(text, nil, chat.Limits[it.Platform]),
	})
	if lesson := memory.Lesson(it.standing.Offer, text); err == nil && lesson != nil {
		said.Lesson = lesson
	}
	return said, err
}

// noOffer is the error of an approval of something that is not offered for posting.
func (it *Item) noOffer() error {
	return sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("%s is %s: nothing is offered", it.ID, it.Kind)),
		it.next())
}

// Edited normalizes a text from an editor or a browser: LF line ends, none at the end.
func Edited(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
}

// Said is a decision that counts, as recorded in the log.
type Said struct {
	decision.Record
	// For an approval, Yes is the number of approvals of its text and Of the number needed.
	Yes, Of int
	// Lesson is what the text of an edit proposes to remember, nil if nothing.
	Lesson *memory.Entry
}

// Proposes says what a person may keep of an edit, "" if nothing. No decision keeps it.
func (s Said) Proposes() string {
	if s.Lesson == nil {
		return ""
	}
	return fmt.Sprintf("proposed for the memory, not used yet: %s; after the post, tri-memory keep %s "+
		"has later investigations use it", text.Line(s.Lesson.Text, 200), s.Lesson.ID)
}

// Waits says what an approval still waits for, or "" if the text is posted.
func (s Said) Waits() string {
	if s.Yes >= s.Of {
		return ""
	}
	return fmt.Sprintf("%d of %d; waits for another approver", s.Yes, s.Of)
}

// Settle records the outcome of a parked post: posted, retry or drop.
func (g *Gate) Settle(it *Item, outcome, note string) (Said, error) {
	return g.decide(it, decision.Record{
		Kind: decision.Settle, DraftSHA256: it.DraftSHA256, Post: it.Post, Tries: it.entry.Tries,
		Outcome: outcome, Note: note,
	})
}

// offered returns the hash that a decision about the item names, "" if nothing was offered.
func (it *Item) offered() string {
	if it.Kind == Draft {
		return it.DraftSHA256
	}
	return ""
}

// Problems returns what is wrong with a text that a person would send as the answer to an item.
func (g *Gate) Problems(it *Item, text string) []draft.Problem {
	return safety.Check(text, g.sources(it))
}

// sources returns what a text may refer to.
func (g *Gate) sources(it *Item) safety.Sources {
	s := safety.Sources{Texts: []string{it.Question}, Secrets: g.Config.Secrets(), Approved: true}
	if it.standing != nil && it.standing.Offer != nil {
		s.Texts = append(s.Texts, it.standing.Offer.Sources...)
		s.Refs = it.standing.Offer.Evidence
	}
	return s
}

// Account compares a text that a person wrote in place of the draft with what the draft cites, by code
// alone: each sentence, and the badge of the text.
func (g *Gate) Account(it *Item, text string) ([]verdict.Sentence, string) {
	src := g.sources(it)
	found := make([]evidence.Finding, len(src.Refs))
	if it.standing != nil && it.standing.Offer != nil {
		dir := g.Config.Folder(it.standing.Offer.Codebase)
		if root, repo, err := open(dir); err == nil {
			defer root.Close()
			found = evidence.ResolveAll(root, repo, src.Refs)
			src.Exists = func(p string) bool { return evidence.Exists(dir, p) }
		}
	}
	src.Refs = evidence.Confirmed(src.Refs, found)
	own := evidence.FromText("the text", safety.OwnWords(text, src, true))
	sentences, _ := claims.Account(own, src, found, claims.Trace(text, src, found))
	return sentences, verdict.Edited(g.By, sentences)
}

// open opens a codebase and its history.
func open(dir string) (*os.Root, evidence.Repo, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, evidence.Repo{}, err
	}
	repo, err := evidence.OpenRepo(dir)
	if err != nil {
		return nil, repo, errors.Join(err, root.Close())
	}
	return root, repo, nil
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

// decide appends a person's decision and reports whether it counts. A decision that cannot count is
// refused before it is written.
func (g *Gate) decide(it *Item, r decision.Record) (Said, error) {
	r.By, r.Via, r.Ref, r.Key, r.Cycle = g.By, g.Via, g.Ref, it.Key, it.Cycle
	if it.Kind == Damaged {
		return Said{}, sysexit.Hint(sysexit.With(sysexit.No, fmt.Errorf("%s: %s", it.Key, it.Note)),
			it.next())
	}
	policy, err := g.Rules()
	if err == nil {
		err = g.allowed(policy)
	}
	if err != nil {
		return Said{}, err
	}
	state, err := decision.Fold(g.Home, policy, nil)
	if err != nil {
		return Said{}, err
	}
	trial := r
	trial.At = text.Timestamp(g.Now())
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
		err = fmt.Errorf("no person may decide: team.approvers is empty")
		hint = fmt.Sprintf("add who may, for example %q, to team.approvers in config.yaml", g.By)
	}
	return sysexit.Hint(sysexit.With(sysexit.NoPerm, err), hint)
}

// counted reads from the log whether a record that was just appended counts: another may have preceded it.
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
