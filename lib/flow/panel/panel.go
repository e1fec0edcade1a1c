// Package panel has personas judge a subject out of sight and records the outcome; it also keeps the
// personas of a home.
package panel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/lens"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/discussion"
	"tri/lib/record/draft"
	"tri/lib/record/persona"
	"tri/lib/record/run"
)

// Judge reads subjects and writes discussions.
type Judge struct {
	*lens.Room
	Codebase string
	Lenses   []string // asked about drafts in place of those of the participants
	Again    bool     // another discussion of a subject that was discussed before
	Out      io.Writer
	Say      func(format string, args ...any)
}

// Open returns a judge in a home, whose personas ask agents that make makes.
func Open(h *durable.Home, cfg *config.Config, codebase string,
	make func(config.Agent, string) (agent.Agent, error)) (*Judge, error) {
	prompts, err := prompt.Load(cfg.Dispatch.PromptsDir)
	if err != nil {
		return nil, err
	}
	room, err := lens.Open(h, cfg, prompts, lens.Room{New: make, Getenv: os.Getenv, Now: time.Now})
	if codebase == "" {
		codebase = "."
		if len(cfg.Codebases) > 0 {
			codebase = cfg.Codebases[0].Path
		}
	}
	return &Judge{Room: room, Codebase: codebase}, err
}

// Patch judges a patch of the task, against the commit base.
func (j *Judge) Patch(ctx context.Context, patch, base, task string) error {
	line, err := json.Marshal(map[string]string{"patch": patch, "base": base, "task": task})
	if err != nil {
		return sysexit.With(sysexit.Software, fmt.Errorf("judge patch: %w", err))
	}
	return j.Each(ctx, stream.Input{Stdin: bytes.NewReader(append(line, '\n')), After: -1, Say: j.Say})
}

// Each judges each subject: a return, {"patch", "base"}, {"issue": {…}}, {"finding": {…}} or
// {"failure": {…}}. If one is not approved, the error carries sysexit.No.
func (j *Judge) Each(ctx context.Context, in stream.Input) error {
	bad := 0
	stats, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		s, err := j.subject(rec.Bytes)
		if err != nil {
			return stream.Refuse("%w", err)
		}
		d, err := j.One(ctx, s)
		if err != nil {
			return err
		}
		if d.ConsensusResult == nil || *d.ConsensusResult != discussion.Approved {
			bad++
		}
		return ndjson.Write(j.Out, d)
	})
	if err == nil && bad > 0 {
		err = sysexit.With(sysexit.No, fmt.Errorf("%d of %d not approved", bad, stats.Records))
	}
	return err
}

// record is a subject as it is read.
type record struct {
	Draft *json.RawMessage `json:"draft_reply"`
	Refs  *json.RawMessage `json:"evidence_refs"`
	Key   string           `json:"key"`
	Patch *string          `json:"patch"`
	Base  string           `json:"base"`
	Pull  string           `json:"pull"` // the pull request of the patch, as project#number
	Task  string           `json:"task"` // of the patch
	Issue *struct {
		Forge  string `json:"forge"`
		Number int    `json:"number"`
		Title  string `json:"title"`
		Body   string `json:"body"`
	} `json:"issue"`
	Finding *struct {
		Path   string `json:"path"`
		Lines  string `json:"lines"`
		Signal string `json:"signal"`
	} `json:"finding"`
	Failure *struct {
		Job string `json:"job"`
		Log string `json:"log"`
	} `json:"failure"`
}

// subject reads a record. Its identity is the hash of its bytes.
func (j *Judge) subject(line []byte) (lens.Subject, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return lens.Subject{}, err
	}
	s := lens.Subject{SHA256: text.SHA256(line), Codebase: j.Codebase, Key: r.Key}
	one := func(trigger, ref, label, body string) {
		s.Trigger, s.Ref, s.Words = trigger, ref, body
		s.Parts = []prompt.Text{prompt.Quote(label, body)}
	}
	switch {
	case r.Draft != nil && r.Refs != nil:
		ret := new(draft.Return)
		if err := json.Unmarshal(line, ret); err != nil {
			return s, err
		}
		shown := *ret
		shown.Drill, shown.Usage = nil, nil // the mark would tell that this is a test
		b, err := json.MarshalIndent(shown, "", " ")
		if err != nil {
			return s, err
		}
		one(persona.Draft, r.Key, "return", string(b))
		s.Words, s.Drill = ret.DraftReply, ret.Drill
	case r.Patch != nil:
		one(persona.PRReview, cmp.Or(r.Pull, r.Base), "patch", *r.Patch)
		if r.Task != "" {
			s.Parts = append(s.Parts, prompt.Quote("task", r.Task))
		}
	case r.Issue != nil:
		one(persona.IssueReview, fmt.Sprintf("%s#%d", r.Issue.Forge, r.Issue.Number), "issue",
			r.Issue.Title+"\n\n"+text.CutBytes(r.Issue.Body, maxIssue))
		s.Title, s.Issue = r.Issue.Title, r.Issue.Number
		s.Question = decision.Sum(discussion.Question(r.Issue.Title, r.Issue.Body))
	case r.Finding != nil:
		one(persona.CodeWatch, r.Finding.Path+":"+r.Finding.Lines, "finding",
			r.Finding.Path+":"+r.Finding.Lines+"\n"+r.Finding.Signal)
		s.Title = r.Finding.Path + ":" + r.Finding.Lines
	case r.Failure != nil:
		one(persona.BuildFailure, r.Failure.Job, "failed build", r.Failure.Job+"\n"+r.Failure.Log)
	default:
		return s, errors.New("is not a subject: want a return, or patch, issue, finding or failure")
	}
	return s, nil
}

// maxIssue is how much of an issue's text is judged, in bytes.
const maxIssue = 6000

// One has a subject discussed. A discussion that has ended is returned as it was recorded; one that was
// killed, or for which the budget had nothing left, continues with what was said.
func (j *Judge) One(ctx context.Context, s lens.Subject) (*discussion.Discussion, error) {
	earlier, attempts, err := j.earlier(s)
	if err != nil || earlier != nil && !j.Again {
		return earlier, err
	}
	d := discussion.Discussion{
		ID: discussion.ID(s.Trigger, s.Ref, s.SHA256, attempts), ProjectPath: s.Codebase,
		TriggerType: s.Trigger, TriggerRef: s.Ref, SubjectSHA256: s.SHA256,
		Status: discussion.Active, Round: 1, Participants: []string{},
		Contributions: []discussion.Contribution{}, Rulings: []discussion.Ruling{},
		StartedAt: text.Timestamp(j.Now()), Drill: s.Drill,
	}
	own, err := run.Begin(j.Home, d.ID) // one process for each discussion
	if err != nil {
		return nil, sysexit.With(sysexit.TempFail, fmt.Errorf("discussion %s: %w", d.ID, err))
	}
	defer own.End()
	// Another process may have ended the discussion before this one had the lock.
	if last, n, err := j.earlier(s); err != nil || n != attempts {
		return last, err
	}
	t, err := j.table(s)
	if err != nil {
		return nil, err
	}
	if len(t.Members) == 0 && t.Lead == "" {
		return nil, j.inactive(s.Trigger)
	}
	if d, err = j.talk(ctx, d, t, s); err != nil {
		return nil, err
	}
	if d.Proposal = discussion.Propose(d, s.Title, s.Issue); d.Proposal != nil {
		d.Proposal.QuestionSHA256 = s.Question
	}
	d.EndedAt = text.Timestamp(j.Now())
	return &d, durable.Append(j.Home, discussion.LogName, &d) // its lock is held: it is the only one
}

// talk asks what is due until the discussion has ended.
func (j *Judge) talk(ctx context.Context, d discussion.Discussion, t discussion.Table,
	s lens.Subject) (discussion.Discussion, error) {
	for {
		due := discussion.Due(d, t)
		if len(due) == 0 {
			return discussion.Decide(d), nil
		}
		if due[0].Lens == "" {
			r, err := j.Rule(ctx, s, due[0], d)
			if err != nil {
				return d, err
			}
			if d = discussion.Rule(d, r, t); d.Status != discussion.Active {
				return d, nil
			}
			continue
		}
		said := make([]discussion.Contribution, len(due))
		errs := make([]error, len(due))
		var group sync.WaitGroup
		for i, a := range due {
			group.Go(func() { said[i], errs[i] = j.Contribute(ctx, s, a, d.Contributions) })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			return d, err
		}
		for _, c := range said {
			d = discussion.Contribute(d, c)
		}
	}
}

// table returns who is asked: about a draft the lenses of its participants, about anything else each
// participant, and the lead decides.
func (j *Judge) table(s lens.Subject) (discussion.Table, error) {
	t := discussion.Table{Limits: j.Config.Panel}
	if s.Trigger == persona.Draft && len(j.Lenses) > 0 {
		for _, name := range j.Lenses {
			p, l, err := persona.FindLens(j.Personas, name)
			if err != nil {
				return t, err
			}
			t.Members = append(t.Members, discussion.Member{Persona: p.ID, Name: p.Name, Lens: l.Name})
		}
		return t, nil
	}
	who, err := persona.Participants(j.Personas, s.Trigger)
	if err != nil {
		return t, err
	}
	lead, err := persona.Find(who, persona.Lead)
	if status, _ := sysexit.Of(err); err != nil && status != sysexit.NoInput {
		return t, err
	}
	for _, p := range who {
		switch {
		case s.Trigger == persona.Draft:
			for _, l := range p.Lenses {
				t.Members = append(t.Members, discussion.Member{Persona: p.ID, Name: p.Name, Lens: l.Name})
			}
		case lead != nil && p.ID == lead.ID:
			t.Lead = p.ID
		default:
			t.Members = append(t.Members, discussion.Member{Persona: p.ID, Name: p.Name, Lens: s.Trigger})
		}
	}
	return t, nil
}

// inactive returns the error of a subject for which no active persona has a question.
func (j *Judge) inactive(trigger string) error {
	err := sysexit.With(sysexit.Config,
		fmt.Errorf("judge %s: no active persona has a question about it", trigger))
	active := slices.Clone(j.Personas)
	for i := range active {
		active[i].Active = true
	}
	who, _ := persona.Participants(active, trigger) // two of one name are named when one is activated
	if len(who) == 0 {
		return sysexit.Hint(err, "tri-panel new NAME ROLE makes a persona")
	}
	return sysexit.Hint(err, "tri-panel edit --active yes "+text.Quote(who[0].Name)+
		" activates one; tri-panel list shows all")
}

// earlier returns the last recorded discussion of the same bytes, and how many there are.
func (j *Judge) earlier(s lens.Subject) (last *discussion.Discussion, n int, err error) {
	err = discussion.Each(j.Home, func(d *discussion.Discussion) error {
		if d.TriggerType == s.Trigger && d.TriggerRef == s.Ref && d.SubjectSHA256 == s.SHA256 {
			last, n = d, n+1
		}
		return nil
	})
	return last, n, err
}
