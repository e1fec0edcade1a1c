// Package investigate has an agent research one question, and returns a draft with evidence that code can
// check. Chat text reaches the agent inside fences. Fields that code must rely on (round, receipts, usage)
// are set by code, never taken from the agent's answer.
package investigate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
	"tri/lib/record/thread"
)

// Request is one round.
type Request struct {
	Thread    *thread.Thread
	Codebase  string // folder
	Hints     []Hint // from other open threads and earlier approved answers
	RunDir    string
	SessionID string   // a UUID
	Hold      *os.File // kept open by the agent's processes; may be nil
	Earlier   *Earlier // nil: there is none to continue
}

// Hint is information that may help, and may be wrong.
type Hint = thread.Hint

// Investigator carries out rounds. It is safe for concurrent use.
type Investigator struct {
	Agent     agent.Agent
	Prompts   *prompt.Set
	Knowledge []string // folders of notes
	Language  string   // language of the operator, for question_gloss; "" is en
	// Search adds a search of the codebase to the prompt. An agent that is itself a search does not need
	// it.
	Search bool
	Home   string // where search indexes are kept; "": not kept
	// Servers are the tool servers offered to the agent.
	Servers []config.Server
	Now     func() time.Time

	mu      sync.Mutex
	indexes map[string]*codesearch.Index // by folder
}

// New returns the investigator that a configuration describes, with the given agent. Search indexes are
// kept in home; "" means not kept.
func New(a agent.Agent, prompts *prompt.Set, cfg *config.Config, home string) *Investigator {
	return &Investigator{
		Agent: a, Prompts: prompts, Knowledge: cfg.Knowledge, Language: cfg.Team.Language, Now: time.Now,
		Search: cfg.Investigator.Searches(), Home: home, Servers: cfg.Servers(false),
	}
}

// tools are the tools of an investigator: read only.
var tools = []string{"Read", "Grep", "Glob"}

// Run carries out one round. The returned draft is within its limits and carries receipts. The error is
// agent.ErrNothing if the agent found nothing to say.
func (i *Investigator) Run(ctx context.Context, r Request) (*draft.Return, error) {
	ret, err := i.run(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("investigate %q: %w", r.Thread.Key, err)
	}
	return ret, nil
}

func (i *Investigator) run(ctx context.Context, r Request) (*draft.Return, error) {
	root, err := os.OpenRoot(r.Codebase)
	if err != nil {
		return nil, sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase: %w", err))
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(r.Codebase)
	if err != nil {
		return nil, err
	}
	rubric := r.Thread.Rubric
	if rubric == "" {
		if rubric, err = i.Prompts.Rubric(r.Thread.QuestionType); err != nil {
			return nil, err
		}
	}
	res, err := i.ask(ctx, r, rubric, root, repo)
	if err != nil {
		return nil, err
	}
	ret, err := read(res.Value, round(r.Thread))
	if err != nil {
		return nil, agent.Fail(agent.Abort, fmt.Errorf("agent's return: %w", err))
	}
	ret.Question, ret.Rubric, ret.Usage, ret.AskedAt = Question(r.Thread), rubric, &res.Usage,
		askedAt(r.Thread)
	ret.EvidenceRefs = evidence.Stamp(root, repo, ret.EvidenceRefs, i.Now())
	return ret, nil
}

func (i *Investigator) task(ctx context.Context, r Request, rubric, template string) (agent.Task, error) {
	schema, err := wanted()
	if err != nil {
		return agent.Task{}, err
	}
	text, err := i.prompt(ctx, r, rubric, string(schema), template)
	if err != nil {
		return agent.Task{}, err
	}
	return agent.Task{
		Prompt: text, Question: withNotes(r.Thread), Messages: asked(r.Thread), Codebase: r.Codebase,
		Schema: schema,
		Check: func(value []byte) error {
			_, err := read(value, round(r.Thread))
			return err
		},
		Repair: i.Prompts.Repair,
		Tools:  tools, Servers: i.Servers, Dir: r.RunDir, SessionID: r.SessionID, Hold: r.Hold,
	}, nil
}

// read parses an agent's value strictly into a return, keeps the fields that an agent may set, and checks its
// limits.
func read(value []byte, round int) (*draft.Return, error) {
	if err := ndjson.Check(value); err != nil {
		return nil, err
	}
	var said draft.Return
	if err := json.Unmarshal(value, &said); err != nil {
		return nil, err
	}
	ret := &draft.Return{
		Confidence: said.Confidence, ConfidenceReason: said.ConfidenceReason,
		SummaryForOrchestrator: said.SummaryForOrchestrator,
		DraftReply:             said.DraftReply, DraftLanguage: said.DraftLanguage,
		EvidenceRefs: said.EvidenceRefs, ProposedTriageFile: said.ProposedTriageFile,
		OpenQuestions: said.OpenQuestions, EscalationRequested: said.EscalationRequested,
		EscalationReason: said.EscalationReason, InvestigatorRound: round,
		ResearchNotes: said.ResearchNotes, QuestionGloss: said.QuestionGloss,
	}
	for k := range ret.EvidenceRefs {
		ret.EvidenceRefs[k].Receipt = nil
	}
	if ret.OpenQuestions == nil {
		ret.OpenQuestions = []string{}
	}
	if ret.EvidenceRefs == nil {
		ret.EvidenceRefs = []draft.Ref{}
	}
	if err := ret.Check(); err != nil {
		return nil, err
	}
	return ret, nil
}

func round(t *thread.Thread) int { return max(t.InvestigatorRound, 1) }

// Question returns the question of a thread, verbatim: the messages of this cycle that call for an answer,
// or all messages if none is marked.
func Question(t *thread.Thread) string { return strings.Join(asked(t), "\n") }

func asked(t *thread.Thread) []string {
	var asked, all []string
	for _, m := range t.Messages {
		if m.Deleted || strings.TrimSpace(m.Content) == "" {
			continue
		}
		all = append(all, m.Content)
		if m.Actionable {
			asked = append(asked, m.Content)
		}
	}
	if len(asked) == 0 {
		return all
	}
	return asked
}

// askedAt returns when the last of the asker's messages was written, "" if that is unknown.
func askedAt(t *thread.Thread) (at string) {
	for _, m := range t.Messages {
		if m.SenderID == t.OriginalSenderID && !m.Deleted {
			at = m.At
		}
	}
	return at
}

// withNotes returns the question with the operator's notes, for an agent that sees nothing else.
func withNotes(t *thread.Thread) string {
	text := Question(t)
	for _, n := range t.Notes {
		text += "\n" + n.Text
	}
	return text
}
