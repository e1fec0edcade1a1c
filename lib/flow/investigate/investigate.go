// Package investigate has an agent research one question, and returns a draft with
// evidence that code can check. Chat text reaches the agent inside fences, and nothing
// that code must know (round, receipts, usage) is taken from the agent's word.
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
	Hints     []Hint // other open threads, answers approved before
	RunDir    string
	SessionID string   // a UUID
	Hold      *os.File // kept open by the agent's processes; may be nil
}

// Hint is something that may help, and may be wrong.
type Hint = thread.Hint

// Investigator does rounds. It is safe for concurrent use.
type Investigator struct {
	Agent     agent.Agent
	Prompts   *prompt.Set
	Knowledge []string // folders of notes
	Language  string   // the operator's, for question_gloss; "" is en
	// Search has the agent told what a search of the codebase finds. One that is
	// itself a search has no use for it.
	Search bool
	Home   string // where the indexes of searches are kept; "" is nowhere
	// Servers are the tool servers that the agent is given.
	Servers []agent.Server
	Now     func() time.Time

	mu      sync.Mutex
	indexes map[string]*codesearch.Index // by folder
}

// New is the investigator that a configuration describes, with an agent of its
// choice. Indexes of searches are kept below home; "" is nowhere.
func New(a agent.Agent, prompts *prompt.Set, cfg *config.Config, home string) *Investigator {
	return &Investigator{
		Agent: a, Prompts: prompts, Knowledge: cfg.Knowledge, Language: cfg.Team.Language, Now: time.Now,
		Search: cfg.Investigator.Searches(), Home: home, Servers: agent.Servers(cfg),
	}
}

// Tools are what an investigator may do: look.
var Tools = []string{"Read", "Grep", "Glob"}

// Run does one round. The return that comes back has passed its caps and carries
// receipts. agent.ErrNothing when there is nothing to say.
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
	task, err := i.task(ctx, r, rubric)
	if err != nil {
		return nil, err
	}
	res, err := i.Agent.Run(ctx, task)
	if err != nil {
		return nil, err
	}
	ret, err := read(res.Value, round(r.Thread))
	if err != nil {
		return nil, agent.Fail(agent.Abort, fmt.Errorf("agent's return: %w", err))
	}
	ret.Question, ret.Rubric, ret.Usage = Question(r.Thread), rubric, &res.Usage
	ret.EvidenceRefs = evidence.Stamp(root, repo, ret.EvidenceRefs, i.Now())
	return ret, nil
}

func (i *Investigator) task(ctx context.Context, r Request, rubric string) (agent.Task, error) {
	schema, err := wanted()
	if err != nil {
		return agent.Task{}, err
	}
	text, err := i.prompt(ctx, r, rubric, string(schema))
	if err != nil {
		return agent.Task{}, err
	}
	return agent.Task{
		Prompt: text, Question: withNotes(r.Thread), Messages: asked(r.Thread), Codebase: r.Codebase, Schema: schema,
		Check: func(value []byte) error {
			_, err := read(value, round(r.Thread))
			return err
		},
		Repair: i.repair,
		Tools:  Tools, Servers: i.Servers, Dir: r.RunDir, SessionID: r.SessionID, Hold: r.Hold,
	}, nil
}

// repair tells an agent what was wrong with its value.
func (i *Investigator) repair(fault error) string {
	text, err := i.Prompts.Render("repair.md", map[string]any{"Faults": prompt.Quote("faults", fault.Error())})
	if err != nil {
		return fault.Error() // an overridden template that does not work must not cost the round
	}
	return text
}

// read makes a return of an agent's value: strictly parsed, without the fields
// that are not an agent's to set, inside its caps.
func read(value []byte, round int) (*draft.Return, error) {
	if err := ndjson.Check(value); err != nil {
		return nil, err
	}
	ret := new(draft.Return)
	if err := json.Unmarshal(value, ret); err != nil {
		return nil, err
	}
	ret.InvestigatorRound = round
	ret.Question, ret.Rubric, ret.Drill, ret.Usage = "", "", nil, nil
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

// Question is what the thread asks, word for word: the messages of this cycle
// that call for an answer, or all of them where none is marked.
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

// withNotes is the question with what the operator added to it, for an agent that
// knows nothing else.
func withNotes(t *thread.Thread) string {
	text := Question(t)
	for _, n := range t.Notes {
		text += "\n" + n.Text
	}
	return text
}
