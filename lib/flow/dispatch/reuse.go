package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tri/lib/base/text"
	"tri/lib/judge/autoreply"
	"tri/lib/judge/evidence"
	"tri/lib/judge/questiontype"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// question is the words of one, and who may read its answer.
type question struct {
	audience
	words string
}

// answer is an answer that a person approved and that was posted.
type answer struct {
	question
	n     int64  // of its offer
	runID string // the run that found it
	key   string
	cycle int

	text, at, by string
}

// reuse replaces an investigation by an earlier answer to the same question.
type reuse struct {
	quiet
	Options
	memory  *memory.Fold
	asked   map[asked]*answer    // offers, by cycle
	given   map[question]*answer // posted answers
	refused map[question]int64   // the last decision against a draft
}

type asked struct {
	key   string
	cycle int
}

func newReuse(d *Dispatcher, m *memory.Fold) *reuse {
	return &reuse{Options: d.Options, memory: m, asked: map[asked]*answer{}, given: map[question]*answer{},
		refused: map[question]int64{}}
}

// recorded keeps an offer. Its question can be recognized again only if it is self-contained: a single
// message that needs no context.
func (a *reuse) recorded(r *decision.Record, counts bool) {
	if was := a.asked[asked{r.Key, r.Cycle}]; counts && was != nil &&
		(r.Kind == decision.Dismiss || r.Kind == decision.Redo) {
		a.refused[was.question] = r.N
	}
	if !counts || r.Kind != decision.Offer {
		return
	}
	delete(a.asked, asked{r.Key, r.Cycle})
	if r.Meta == nil || r.Target == nil {
		return
	}
	was := &answer{n: r.N, runID: r.Meta.InvestigatorTaskID, key: r.Key, cycle: r.Cycle}
	was.audience = audience{Codebase: r.Codebase, Platform: r.Target.Platform, ChatID: r.Target.ChatID}
	a.asked[asked{r.Key, r.Cycle}] = was
	if len(r.Sources) != 3 || decision.Sum(r.Sources[2]) != r.Target.QuestionSHA256 {
		return // not summary, notes and exactly one message
	}
	if words, ok := questiontype.Words(r.Sources[2]); ok {
		was.words = words
	}
}

// posted keeps an answer that was posted. An automatic approval does not count as an approval.
func (a *reuse) posted(r *outbox.Reply) {
	was := a.asked[asked{r.Key, r.Cycle}]
	if was == nil || r.ApprovedBy == decision.Dispatcher || r.ApprovedBy == "" {
		return
	}
	given := *was // a copy: a run may be reading the original
	given.text, given.at, given.by = r.ReplyText, r.PostedAt, r.ApprovedBy
	if given.words != "" {
		a.given[given.question] = &given
	}
}

// starting sets the earlier answer that may replace a run.
func (a *reuse) starting(j *job, t *thread.Thread) (*thread.Input, error) {
	if was := a.answered(*j, t); was != nil {
		j.before = func(ctx context.Context, t *thread.Thread, res *run.Result) error {
			return a.again(ctx, was, t, res)
		}
	}
	return nil, nil
}

// answered returns an earlier answer that may replace an investigation, or nil. It applies only to the
// first round of a question of one message without context, of a type whose answer does not change by the
// hour.
func (a *reuse) answered(j job, t *thread.Thread) *answer {
	if a.Stands == nil || j.anew || j.kind != run.Investigate || t.InvestigatorRound != 1 || t.Ordered ||
		len(t.Messages) != 1 || len(t.Context)+len(t.Notes) > 0 || t.Messages[0].Inferred ||
		!slices.Contains([]string{thread.TechnicalQA, thread.APIContract, thread.DataLookup},
			t.QuestionType) {
		return nil
	}
	words, ok := questiontype.Words(t.Messages[0].Content)
	if !ok {
		return nil
	}
	was := a.given[question{audienceOf(t), words}]
	if was == nil || was.n < a.refused[was.question] || a.forgotten(was) {
		return nil
	}
	return was
}

// forgotten reports whether the team's memory has an answer and does not use it.
func (a *reuse) forgotten(was *answer) (out bool) {
	if err := a.memory.Words(a.Home); err != nil {
		a.Say("%s: the answer is not reused: %v", was.key, err)
		return true
	}
	for _, e := range a.memory.Entries() {
		if e.Text == was.text && e.Platform == was.Platform && e.ChatID == was.ChatID &&
			e.Codebase == was.Codebase {
			out = e.Out != "" // the latest counts
		}
	}
	return out
}

// errAnew means that the earlier answer cannot be reused: the question is investigated.
var errAnew = errors.New("the earlier answer does not do")

// again makes res the result of the earlier run, if all of its evidence is unchanged. The journal records
// it as the end of the run, so the question is not investigated twice.
func (a *reuse) again(ctx context.Context, was *answer, t *thread.Thread, res *run.Result) error {
	ret, err := a.found(was)
	if err != nil || ret == nil {
		return errors.Join(errAnew, err)
	}
	if was.text != ret.DraftReply { // an approver wrote it
		ret.Cuts, ret.Voice = nil, nil
	}
	ret.DraftReply, ret.Question, ret.Rubric = was.text, t.Messages[0].Content, t.Rubric
	ret.Before = &draft.Before{At: was.at, By: was.by, Key: was.key, Cycle: was.cycle}
	ret.Usage, ret.ProposedTriageFile, ret.InvestigatorRound = &draft.Usage{CostUSD: new(0.0)}, nil, 1
	if err := unmoved(t.Codebase, ret.EvidenceRefs); err != nil {
		return errors.Join(errAnew, err)
	}
	now := *t
	now.InvestigatorReturn = ret
	v, err := a.Stands(ctx, &now)
	if err != nil || v.Verdict != verdict.Pass {
		return errors.Join(errAnew, err)
	}
	if why, err := a.corrected(was); why != "" || err != nil {
		return errors.Join(errAnew, err)
	}
	res.Agent, res.SessionID, res.EndedAt = "answered-before", "", text.Timestamp(a.Now())
	return fill(res, ret)
}

// found returns the return of the run that found an answer, or nil if that run is gone.
func (a *reuse) found(was *answer) (*draft.Return, error) {
	res, err := run.Load(a.Home, was.runID)
	if err != nil || res == nil || res.Status != run.Done {
		return nil, err
	}
	ret := new(draft.Return)
	return ret, json.Unmarshal(res.Value, ret)
}

// unmoved returns nil if all evidence is unchanged and in place. A reference that code cannot check is an
// error.
func unmoved(codebase string, refs []draft.Ref) error {
	if codebase == "" || len(refs) == 0 {
		return errors.New("there is no evidence")
	}
	root, err := os.OpenRoot(codebase)
	if err != nil {
		return err
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(codebase)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Kind != draft.KindFile || ref.Receipt == nil {
			return fmt.Errorf("%s: code cannot check it", ref.Ref)
		}
		if ok, why, err := evidence.StillStands(root, repo, ref); err != nil || !ok || why != "" {
			return errors.Join(fmt.Errorf("%s: %s", ref.Ref, why), err)
		}
	}
	return nil
}

// corrected says why an answer turned out to be wrong, or "" if it was not corrected.
func (a *reuse) corrected(was *answer) (string, error) {
	policy, err := autoreply.New(a.Config)
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339, was.at)
	if err != nil {
		return "", err
	}
	book, err := autoreply.Read(a.Home, policy, decision.PolicyOf(a.Config), at)
	if err != nil {
		return "", err
	}
	return book.Wrong(was.key, was.cycle), nil
}
