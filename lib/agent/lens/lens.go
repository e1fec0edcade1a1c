// Package lens asks personas narrow questions about a subject, each as a run of its own: money reserved
// first, locked, published by rename, and taken up again after a kill.
package lens

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/secret"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/roadmap"
	"tri/lib/record/budget"
	"tri/lib/record/discussion"
	"tri/lib/record/draft"
	"tri/lib/record/persona"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

// tools are those of a persona: it reads the lines in question.
var tools = []string{"Read"}

// Room is a home in which personas are asked. It is safe for concurrent use.
type Room struct {
	Home     *durable.Home
	Config   *config.Config
	Prompts  *prompt.Set
	Personas []persona.Persona
	Secrets  *secret.Store
	New      func(cfg config.Agent, sandbox string) (agent.Agent, error) // supervised
	Getenv   func(string) string
	Now      func() time.Time
}

// Open reads the personas of a home.
func Open(h *durable.Home, cfg *config.Config, prompts *prompt.Set, r Room) (*Room, error) {
	r.Home, r.Config, r.Prompts = h, cfg, prompts
	var err error
	if r.Personas, err = persona.All(h); err != nil {
		return nil, err
	}
	r.Secrets, err = secret.Open(h, "")
	return &r, err
}

// Configured opens the room if the configuration has lenses look at drafts; it is nil otherwise.
func Configured(h *durable.Home, cfg *config.Config, prompts *prompt.Set,
	make func(config.Agent, string) (agent.Agent, error)) (*Room, error) {
	if !cfg.Panel.Lenses.Any() {
		return nil, nil
	}
	return Open(h, cfg, prompts, Room{New: make, Getenv: os.Getenv, Now: time.Now})
}

// Values returns the secrets of the personas, which no draft may contain. One that cannot be read is left
// out: its persona cannot be asked either.
func (r *Room) Values() (values []string) {
	if r == nil {
		return nil
	}
	names, err := r.Secrets.Names()
	for i := 0; err == nil && i < len(names); i++ {
		if v, err := r.Secrets.Get(names[i]); err == nil {
			values = append(values, v)
		}
	}
	return values
}

// Subject is what is judged.
type Subject struct {
	Trigger, Ref string
	SHA256       string        // of its bytes, in hex
	Parts        []prompt.Text // as a persona sees it
	Words        string        // a claim of an objection is copied from these
	Codebase     string        // "": none
	Key, Person  string        // for the budget
	Drill        *draft.Drill
	Title        string // of an issue
	Issue        int
	Question     string // SHA-256 of the issue's discussion.Question
}

// Look asks the lenses about a draft, in parallel, and returns what each found, in their order.
func (r *Room) Look(ctx context.Context, s Subject, lenses []string) ([]verdict.Look, error) {
	type pair struct {
		p *persona.Persona
		l *persona.Lens
	}
	var all []pair
	for _, name := range lenses {
		p, l, err := persona.FindLens(r.Personas, name)
		if err != nil {
			return nil, err
		}
		all = append(all, pair{p, l})
	}
	id := discussion.ID(s.Trigger, s.Ref, s.SHA256, 0)
	looks := make([]verdict.Look, len(all))
	errs := each(len(all), func(i int) error {
		c, err := r.Contribute(ctx, s, discussion.Ask{
			Member: discussion.Member{Persona: all[i].p.ID, Lens: all[i].l.Name}, Round: 1,
			RunID: discussion.RunID(id, all[i].p.ID, all[i].l.Name, 1),
		}, nil)
		looks[i] = verdict.Look{Lens: c.Lens, Persona: c.Name, Model: c.Model, Says: c.Says, Usage: c.Usage}
		switch {
		case errors.Is(err, budget.ErrSpent):
			looks[i].Err, err = err, nil
		case c.Error != "":
			looks[i].Err = errors.New(c.Error)
		}
		return err
	})
	return looks, errs
}

// each runs n functions at once and returns their errors.
func each(n int, do func(int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- do(i) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

// Contribute asks one persona. before are the contributions of the round before. An answer that cannot be
// used is in the contribution's Error; the error means that the question could not be put, or that the budget
// has nothing left for it (budget.ErrSpent).
func (r *Room) Contribute(ctx context.Context, s Subject, a discussion.Ask,
	before []discussion.Contribution) (discussion.Contribution, error) {
	c := discussion.Contribution{RunID: a.RunID, Persona: a.Persona, Lens: a.Lens, Round: a.Round,
		Says: []verdict.Objection{}}
	p, err := persona.Find(r.Personas, a.Persona)
	if err != nil {
		return c, err
	}
	c.Name = p.Name
	mode, ask := "validate", p.Skill.Modes[a.Lens]
	if s.Trigger != persona.Draft {
		mode = s.Trigger
	}
	for _, l := range p.Lenses {
		if l.Name == a.Lens {
			ask = l.Ask
		}
	}
	said, err := r.ask(ctx, s, question{
		id: a.RunID, persona: p, schema: saysSchema, check: s.checkSays,
		template: "lens.md", data: map[string]any{"Persona": persona.Brief(p, mode),
			"Ask": cmp.Or(ask, "Is there a fault in it?"), "Parts": r.parts(ctx, s, p), "Before": said(before)},
	})
	if err != nil {
		return c, err
	}
	c.Model, c.Usage, c.Error = said.Model, said.Usage, said.Error
	if said.Status == run.Done {
		c.Says, err = s.says(said.Value)
	}
	return c, err
}

// parts returns what a persona is shown: of anything but a draft, its view of the roadmap and what the team's
// memory has, too. A memory that cannot be read costs that part, which says so.
func (r *Room) parts(ctx context.Context, s Subject, p *persona.Persona) []prompt.Text {
	parts := slices.Clone(s.Parts)
	if s.Trigger == persona.Draft || s.Codebase == "" {
		return parts
	}
	if raw := roadmap.Raw(s.Codebase); raw != "" {
		parts = append(parts, prompt.Quote(roadmap.Name, raw))
	}
	if plan := roadmap.For(r.Home, s.Codebase, p.Role); plan != "" {
		parts = append(parts, prompt.Quote("roadmap", plan))
	}
	known, err := r.memory(ctx, s)
	if err != nil {
		known = "not used: it cannot be read"
	}
	if known != "" {
		parts = append(parts, prompt.Quote("memory", known))
	}
	return parts
}

// Rule asks the lead for a decision.
func (r *Room) Rule(ctx context.Context, s Subject, a discussion.Ask,
	d discussion.Discussion) (discussion.Ruling, error) {
	out := discussion.Ruling{RunID: a.RunID, Persona: a.Persona, Round: a.Round, Reasons: []string{}}
	p, err := persona.Find(r.Personas, a.Persona)
	if err != nil {
		return out, err
	}
	res, err := r.ask(ctx, s, question{
		id: a.RunID, persona: p, schema: rulingSchema, check: func(b []byte) error {
			_, err := readRuling(b)
			return err
		},
		template: "panel-lead.md", data: map[string]any{
			"Persona": persona.Brief(p, s.Trigger), "Parts": r.parts(ctx, s, p), "Before": said(d.Contributions),
			"Decisions": decisions(s.Trigger), "Round": a.Round},
	})
	if err != nil {
		return out, err
	}
	out.Model, out.Usage, out.Error = res.Model, res.Usage, res.Error
	if res.Status == run.Done {
		v, err := readRuling(res.Value)
		if err != nil {
			return out, err
		}
		out.Decision, out.Reasons = v.Decision, v.Reasons
	}
	return out, nil
}

func decisions(trigger string) []string {
	if trigger == persona.IssueReview {
		return []string{"READY: it can be worked on", "CLOSE: nothing is to be done",
			"DRAFT: it stays a draft", "HUMAN: a person has to decide"}
	}
	return []string{"APPROVE: it is good enough", "CHANGES: what the others found has to change first",
		"HUMAN: a person has to decide"}
}

// said returns contributions as a persona reads them, the newest.
func said(all []discussion.Contribution) (out []prompt.Text) {
	const most = 10
	for _, c := range all[max(0, len(all)-most):] {
		b, err := json.Marshal(c.Says)
		if err == nil && len(c.Says) > 0 {
			out = append(out, prompt.Quote("contribution", c.Name+" ("+c.Lens+"): "+string(b)))
		}
	}
	return out
}

// question is one run.
type question struct {
	id       string
	persona  *persona.Persona
	schema   []byte
	check    func([]byte) error
	template string
	data     map[string]any
}

// ask has the run's result: one that was published before, or that of a new run.
func (r *Room) ask(ctx context.Context, s Subject, q question) (*run.Result, error) {
	if !q.persona.Active {
		return nil, sysexit.Errorf(sysexit.Config, "%s is not active", q.persona.Name)
	}
	res, err := run.Load(r.Home, q.id)
	if err == nil && res == nil {
		res, err = r.fresh(ctx, s, q)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", q.persona.Name, err)
	}
	return res, run.Settle(r.Home, r.Config.Budget, q.id, res.Usage, r.Now()) // once, also after a kill
}

// fresh runs the question, if no other process has done so while it waited for the lock.
func (r *Room) fresh(ctx context.Context, s Subject, q question) (res *run.Result, err error) {
	own, err := run.Begin(r.Home, q.id)
	for errors.Is(err, durable.ErrLocked) { // another process, or a program that outlived its owner
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		own, err = run.Begin(r.Home, q.id)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, own.End()) }()
	if res, err := run.Load(r.Home, q.id); err != nil || res != nil {
		return res, err
	}
	res = &run.Result{RunID: q.id, Kind: run.Panel, Key: cmp.Or(s.Key, s.Trigger), Round: 1,
		StartedAt: text.Timestamp(r.Now()), SessionID: own.SessionID, Status: run.Failed}
	cfg, _, env, err := persona.Effective(q.persona, r.Config.Validator, r.Secrets, r.Getenv)
	if err != nil {
		return nil, err
	}
	res.Agent = cfg.Agent
	cfg.Home = r.Home.Dir()
	who, err := r.New(cfg, r.Config.Sandbox)
	if err != nil {
		return nil, err
	}
	err = run.Reserve(r.Home, r.Config.Budget, budget.Run{
		ID: q.id, Key: s.Key, Person: s.Person, Work: budget.Panel, Agent: cfg.Agent, USD: cfg.MaxBudgetUSD,
		Tokens: cfg.MaxTokens}, r.Now())
	if errors.Is(err, budget.ErrSpent) { // not published: there may be a budget tomorrow
		err = sysexit.Hint(sysexit.With(sysexit.TempFail, err),
			"tri-report cost shows what is left of each limit; the answers so far are kept")
	}
	if err != nil {
		return nil, err
	}
	return r.put(ctx, s, q, own, who, env, res)
}

// put puts the question to the model and publishes the answer.
func (r *Room) put(ctx context.Context, s Subject, q question, own *run.Run, who agent.Agent, env []string,
	res *run.Result) (*run.Result, error) {
	told, err := r.Prompts.Render(q.template, q.data)
	if err != nil {
		return nil, err
	}
	limit := time.Duration(r.Config.Validator.HardCapRuntimeMin * float64(time.Minute))
	limited, stop := agent.WithLimit(ctx, limit)
	defer stop()
	got, err := who.Run(limited, agent.Task{
		Prompt: told, Codebase: s.Codebase, Schema: q.schema, Check: q.check, Tools: tools, Env: env,
		Repair: r.Prompts.Repair, Dir: own.Dir(), SessionID: own.SessionID, Hold: own.LockFile(),
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if status, _ := sysexit.Of(err); status == sysexit.IO {
		return nil, err // the disk's fault, not the run's
	}
	res.EndedAt, res.Model, res.Usage = text.Timestamp(r.Now()), cmp.Or(got.Model, res.Agent), &got.Usage
	if state, serr := run.LoadState(own.Dir()); serr == nil && state.Usage != nil {
		res.Usage = state.Usage // with the attempts that were killed
	}
	if err != nil {
		res.Error = text.Visible(prompt.Cut(err.Error(), 500))
		res.Failure = &run.Failure{Kind: agent.FailureKind(err), Message: res.Error}
	} else {
		res.Status, res.Value = run.Done, got.Value
	}
	return res, own.Publish(*res)
}
