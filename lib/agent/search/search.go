// Package search is the built-in agent: it finds the lines of a codebase that best answer a
// question, in process, with no model, key or network. Its drafts say that they come from a
// search, and quote the lines found; they never claim to understand it, and without good evidence
// the result is nothing rather than a guess.
package search

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// Thresholds for an answer: the minimum strength of the best place for a question of one word, lower if a
// name of the question occurs there in full, and higher if only one word does, since every chat and every
// codebase share some words. The strength of right answers decreases with about the square root of the number
// of words. The numbers were tuned on half of the questions in scripts/bench/judgement that a codebase
// answers, and of the chat that it does not: see data/questions/README.md.
const (
	enough      = 1.78
	enoughNamed = 1.45
	enoughAlone = 2.64
	vouched     = 0.75 // factor if a commit answers too: the question is then about this project
)

// Model is the model name that a search reports.
const Model = "search"

// Client searches. It keeps an index of each codebase that it has searched, for as long as the
// process lives, and below a home for longer. It is safe for concurrent use.
type Client struct {
	home    string // "" if none
	mu      sync.Mutex
	indexes map[string]*codesearch.Index

	histories map[string]history // by codebase
}

var _ agent.Agent = (*Client)(nil)

// New returns a search with an empty index.
func New() *Client {
	return &Client{indexes: map[string]*codesearch.Index{}, histories: map[string]history{}}
}

// Below returns a search that stores its indexes in a home, if the home exists.
func Below(home string) *Client {
	c := New()
	c.home = home
	return c
}

// Run answers t.Question from t.Codebase. It returns agent.ErrNothing if no place there has enough
// of the question's words.
func (c *Client) Run(ctx context.Context, t agent.Task) (agent.Result, error) {
	start := time.Now()
	if err := ctx.Err(); err != nil {
		return agent.Result{}, err
	}
	x, err := c.index(t.Codebase)
	if err != nil {
		return agent.Result{}, err
	}
	commits := c.commits(ctx, t.Codebase, t.Question)
	bar := 1.0
	if len(commits) > 0 {
		bar = vouched
	}
	ret, found, err := look(ctx, x, &t, draft.MaxRefs-len(commits), bar)
	if err != nil {
		return agent.Result{}, sysexit.With(sysexit.IO, fmt.Errorf("search %q: %w", t.Codebase, err))
	}
	if ret != nil {
		addCommits(ret, commits)
	}
	if ret == nil && found.Fault != nil {
		return agent.Result{}, sysexit.With(sysexit.IO, fmt.Errorf("search %q: %w", t.Codebase, found.Fault))
	}
	nothing := 0.0 // a search is free
	usage := draft.Usage{CostUSD: &nothing, DurationMS: time.Since(start).Milliseconds(), Turns: 1}
	if ret == nil {
		left := ""
		if found.Skipped > 0 {
			left = fmt.Sprintf(", %d left out", found.Skipped)
		}
		return agent.Result{Usage: usage}, fmt.Errorf("search %q, %d files%s: %w", t.Codebase, found.Files,
			left, agent.ErrNothing)
	}
	value, err := json.Marshal(ret)
	if err == nil && t.Check != nil {
		err = t.Check(value)
	}
	if err != nil {
		return agent.Result{}, sysexit.With(sysexit.Software, fmt.Errorf("search %q: %w", t.Codebase, err))
	}
	return agent.Result{Value: value, Model: Model, SessionID: t.SessionID, Usage: usage}, nil
}

// maxAlone is how many messages are searched one by one.
const maxAlone = 8

// look searches for all messages together. Many follow-ups can outweigh the question: if no place
// has enough of all their words, it searches for single messages, the first and the last ones, and
// takes the best answer.
func look(ctx context.Context, x *codesearch.Index, t *agent.Task, most int,
	bar float64) (*draft.Return, codesearch.Found, error) {
	found, err := x.Search(ctx, t.Question, most)
	if err != nil {
		return nil, found, err
	}
	if c := compose(x, t.Question, found); c != nil && len(t.Messages) < 2 {
		if ret := c.exactly(t.Question, found); ret != nil {
			return ret, found, nil
		}
	}
	ret := answer(t.Question, found, bar)
	if ret != nil || len(t.Messages) < 2 {
		return ret, found, nil
	}
	alone := append([]string{t.Messages[0]}, t.Messages[max(1, len(t.Messages)-maxAlone+1):]...)
	for _, message := range alone {
		f, err := x.Search(ctx, message, most)
		if err != nil {
			return nil, f, err
		}
		if r := answer(message, f, bar); r != nil && (ret == nil || f.Strength > found.Strength) {
			ret, found = r, f
		}
	}
	return ret, found, nil
}

func (c *Client) index(codebase string) (*codesearch.Index, error) {
	dir, err := filepath.Abs(codebase)
	if err != nil {
		return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("search %q: %w", codebase, err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.indexes[dir]; x != nil {
		return x, nil
	}
	x, err := codesearch.Open(dir)
	if err != nil {
		return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("search: %w", err))
	}
	c.keep(x)
	c.indexes[dir] = x
	return x, nil
}

// keep stores an index in the home. If that fails, the index is built again next time, and the
// question is still answered.
func (c *Client) keep(x *codesearch.Index) {
	if info, err := os.Stat(c.home); c.home == "" || err != nil || !info.IsDir() {
		return
	}
	if home, err := durable.Open(c.home); err == nil {
		x.Keep(home)
	}
}

// answer makes a return of the hits, nil if they are not an answer.
func answer(question string, found codesearch.Found, bar float64) *draft.Return {
	hits := shown(question, found.Hits)
	if len(hits) == 0 {
		return nil
	}
	best := hits[0]
	if !enoughOf(best, found, bar) {
		return nil
	}
	say := speech[language(question)]
	confidence, why := draft.Low, say.loose
	if len(found.Missing) == 0 && found.Exact && best.Defines {
		confidence, why = draft.Medium, say.close
	}
	reply, refs := reply(question, say, hits, found.Missing)
	ret := &draft.Return{
		Confidence:             confidence,
		ConfidenceReason:       why,
		SummaryForOrchestrator: fmt.Sprintf("A search, not a reading: %s has most of the question's words, of %d places found.", place(best), len(hits)),
		DraftReply:             reply,
		EvidenceRefs:           refs,
		DraftLanguage:          say.code,
		OpenQuestions:          []string{},
		InvestigatorRound:      1,
		ResearchNotes:          notes(found),
	}
	for _, name := range found.Missing[:min(len(found.Missing), 3)] {
		ret.OpenQuestions = append(ret.OpenQuestions, fmt.Sprintf(say.missingQuestion, name))
	}
	return ret
}

// enoughOf reports whether the best place that may be shown is an answer. bar is 1, or lower if
// there is other evidence.
func enoughOf(h codesearch.Hit, found codesearch.Found, bar float64) bool {
	strength := found.Strength * h.Score / found.Hits[0].Score / bar
	switch strength *= math.Sqrt(float64(found.Words)); {
	case found.Exact:
		return strength >= enoughNamed
	case h.Count > 1:
		return strength >= enough
	}
	return strength >= enoughAlone
}

func place(h codesearch.Hit) string {
	return evidence.Place{Path: h.Path, Start: h.Start, End: h.End}.String()
}
