// Package validate checks a draft by code, then has a second agent attack it, and returns the worse
// verdict. Code checks every citation, every name and number, the wording, the risk and the safety of the
// text. Only a draft without a fault is shown to the second agent, and one that passes to the
// lenses of personas, which can make the verdict worse but never better.
package validate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/lens"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/claims"
	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/memory"
	"tri/lib/record/verdict"
)

// Request is one return to be judged.
type Request struct {
	Return       *draft.Return
	Question     string // "" means that of the return
	Rubric       string // "" means that of the return
	QuestionType string
	Codebase     string   // folder; "": none, so no file can be checked
	Context      []string // messages around the question; a draft may use them
	Others       []Other  // open threads
	RunDir       string
	SessionID    string   // a UUID
	Hold         *os.File // kept open by the agent's processes; may be nil
	Key, Person  string   // for the budget of lenses: the thread and the asker; may be ""
}

// Other is an open thread and its conclusion.
type Other struct {
	Key     string `json:"key"`
	Summary string `json:"summary"`
}

// Validator judges returns. It is safe for concurrent use.
type Validator struct {
	Agent   agent.Agent                    // nil: code only
	Prompts *prompt.Set                    // needed with an agent
	Alone   bool                           // returns of a drill are judged by Agent, and not by code
	Secrets []string                       // of this installation, which no draft may contain
	Room    *lens.Room                     // nil: no lens is asked
	Lenses  []string                       // asked in place of the configured ones
	Notes   []string                       // folders of the team's notes, to which a triage_file refers
	Memory  func() ([]memory.Entry, error) // of the team; nil: none
	Now     func() time.Time
}

// Run judges one return. An error means that it could not be judged: the codebase is unreadable, or ctx
// was canceled. If the agent fails or returns an invalid verdict, that is not an error: the verdict is
// then escalate.
func (v *Validator) Run(ctx context.Context, r Request) (*verdict.Verdict, error) {
	if r.Return == nil {
		return nil, sysexit.With(sysexit.Data, errors.New("validate: there is no return"))
	}
	if r.Question == "" {
		r.Question = r.Return.Question
	}
	if r.Rubric == "" {
		r.Rubric = r.Return.Rubric
	}
	if v.Alone {
		return v.alone(ctx, r)
	}
	facts, err := v.facts(r)
	if err != nil {
		return nil, fmt.Errorf("validate: %w", err)
	}
	out := verdict.Compute(facts)
	if v.Agent != nil && (out.Verdict == verdict.Pass || out.Proved == verdict.Undecided) {
		said, err := v.attack(ctx, r)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
		if err != nil {
			out = failed(out, err)
		} else {
			out = verdict.Worse(out, *said)
		}
	}
	if out.Verdict == verdict.Pass {
		looks, err := v.looks(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("validate: %w", err)
		}
		out = verdict.Join(out, looks)
	}
	out.ValidatedAt = text.Timestamp(v.Now())
	out.Drill = r.Return.Drill
	return &out, nil
}

// failed returns the verdict if the second agent gave none: a person must judge a draft that should have
// been attacked and was not.
func failed(v verdict.Verdict, err error) verdict.Verdict {
	note := text.Visible(prompt.Cut(err.Error(), 500))
	v.Verdict, v.Proved = verdict.Escalate, verdict.Nothing
	v.Reasons = []string{"the reviewing agent gave no verdict: " + note}
	v.Checks = append(v.Checks, verdict.Check{Name: "agent", Result: verdict.Fail, By: "code", Note: note})
	return v
}

// facts determines everything that code can check.
func (v *Validator) facts(r Request) (verdict.Facts, error) {
	ret := r.Return
	refs := ret.EvidenceRefs[:min(len(ret.EvidenceRefs), draft.MaxRefs)]
	found, exists, err := resolve(r.Codebase, refs)
	if err == nil {
		err = v.team(refs, found)
	}
	if err != nil {
		return verdict.Facts{}, err
	}
	src := safety.Sources{Texts: append([]string{r.Question}, r.Context...),
		Refs: evidence.Confirmed(refs, found), Secrets: v.Secrets, Exists: exists}
	own := evidence.FromText("the draft", safety.OwnWords(ret.DraftReply, src, true))
	f := verdict.Facts{
		Confidence: ret.Confidence,
		Misjudged:  claims.OverConfident(ret.DraftReply, ret.Confidence, src),
		Risks:      claims.Risk(ret.DraftReply, src),
		Smells:     claims.AIPhrases(ret.DraftReply, src),
		Unsafe:     unsafe(ret, src),
		Opposed:    claims.Contradicted(own, found),
	}
	f.Other, f.OtherNote = overlap(r)
	traced := claims.Trace(ret.DraftReply, src, found)
	f.Sentences, f.Places = claims.Account(own, src, found, traced)
	f.Restated = own.Restates(found)
	for _, t := range traced {
		f.Traced = append(f.Traced, verdict.Trace{What: t.Kind + " " + t.Text, To: t.To})
		switch {
		case t.To != "":
		case t.Kind == claims.Place:
			f.Uncited = append(f.Uncited, t.Text)
		default:
			f.Untraced = append(f.Untraced, t.Text)
		}
	}
	summary := evidence.FromText("the summary", safety.OwnWords(ret.SummaryForOrchestrator, src, true))
	f.Opposed = append(f.Opposed, claims.Contradicted(summary, found)...)
	if err := ret.Check(); err != nil {
		f.Schema = text.Visible(strings.TrimPrefix(err.Error(), "return: "))
	}
	for i, ref := range refs {
		f.Refs = append(f.Refs, verdict.Ref{
			Ref: ref.Ref, Result: found[i].Result, Note: found[i].Note,
			Stands: found[i].Stands, Share: found[i].Cover.Share, Decided: found[i].Decided,
			Lacks: found[i].Lacks,
		})
	}
	if ret.EscalationRequested && ret.EscalationReason != nil {
		f.Asks = text.Visible(*ret.EscalationReason)
	}
	if f.Empty = ret.EscalationRequested && strings.TrimSpace(ret.DraftReply) == ""; f.Empty {
		return f, nil
	}
	if f.Drift, f.DriftNote = scope(r.Question, ret, found); f.Drift == verdict.None {
		if aside := claims.OffTopic(ret.DraftReply, own, src, found); aside != "" {
			f.Drift, f.DriftNote = verdict.Major,
				fmt.Sprintf("nobody asked about this, and no evidence speaks of it: %q",
					text.Visible(prompt.Cut(aside, 120)))
		}
	}
	if r.Codebase != "" && !f.Places && verdict.Compute(f).Verdict == verdict.Pass {
		f.Everyday, f.Unread, err = everyday(r.Codebase, own, found)
	}
	return f, err
}

// everyday reports whether the cited lines have no more of the draft than other places of the codebase, or
// what could not be read of these.
func everyday(codebase string, own *evidence.Text, found []evidence.Finding) (is bool, unread string,
	err error) {
	root, err := os.OpenRoot(codebase)
	if err != nil {
		return false, "", sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase: %w", err))
	}
	defer root.Close()
	peculiar, unread := evidence.Peculiar(root, own, found)
	return !peculiar && unread == "", unread, nil
}

// resolve checks every reference. exists reports whether a path is in the codebase; it is nil without a
// codebase.
func resolve(codebase string, refs []draft.Ref) (found []evidence.Finding,
	exists func(string) bool, err error) {
	found = make([]evidence.Finding, len(refs))
	if codebase == "" {
		for i := range refs {
			found[i] = evidence.Finding{Result: evidence.Uncheckable,
				Note: "there is no codebase to check it in"}
		}
		return found, nil, nil
	}
	if len(refs) == 0 {
		return found, nil, nil
	}
	root, err := os.OpenRoot(codebase)
	if err != nil {
		return nil, nil, sysexit.With(sysexit.NoInput, fmt.Errorf("open codebase: %w", err))
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(codebase)
	if err != nil {
		return nil, nil, sysexit.With(sysexit.NoInput, err)
	}
	return evidence.ResolveAll(root, repo, refs), func(p string) bool {
		return evidence.Exists(codebase, p)
	}, nil
}

// Team makes v check references to the team's notes and, if home is not nil, its memory; it returns v.
func (v *Validator) Team(home *durable.Home, cfg *config.Config) *Validator {
	v.Notes = cfg.Knowledge
	if home != nil {
		v.Notes = append([]string{home.Path("triage")}, v.Notes...)
		v.Memory = func() ([]memory.Entry, error) { return memory.Read(home, decision.PolicyOf(cfg)) }
	}
	return v
}

// team checks the references to notes and memory: whether they say what is claimed of them.
func (v *Validator) team(refs []draft.Ref, found []evidence.Finding) error {
	for i, ref := range refs {
		switch {
		case ref.Kind == draft.KindTriageFile:
			ref.Ref = strings.TrimPrefix(ref.Ref, "triage/")
			found[i] = evidence.ResolveNote(v.Notes, ref)
		case ref.Kind == draft.KindMemory && v.Memory != nil:
			all, err := v.Memory()
			if err != nil {
				return err
			}
			found[i] = evidence.Finding{Result: evidence.Fabricated, Note: "the team's memory has no such entry"}
			id, _, _ := strings.Cut(ref.Ref, ":")
			if k := slices.IndexFunc(all, func(e memory.Entry) bool {
				return e.ID == id && e.Out == ""
			}); k >= 0 {
				found[i] = evidence.ResolveText(ref, all[k].Text)
			}
		default:
			continue
		}
		if found[i].Stands {
			found[i].Note += "; the team wrote this, it is not the code"
		}
	}
	return nil
}

// unsafe returns what is wrong with the draft, and with the texts that are saved or shown beside it. The
// latter may mention people and contain addresses, but no secret and no invisible characters.
func unsafe(ret *draft.Return, src safety.Sources) []draft.Problem {
	var out []draft.Problem
	if !ret.EscalationRequested || strings.TrimSpace(ret.DraftReply) != "" {
		out = safety.Check(ret.DraftReply, src)
	}
	beside := []struct{ name, text string }{{"summary_for_orchestrator", ret.SummaryForOrchestrator}}
	if t := ret.ProposedTriageFile; t != nil {
		beside = append(beside, struct{ name, text string }{"proposed_triage_file", t.Content})
	}
	for _, q := range ret.OpenQuestions {
		beside = append(beside, struct{ name, text string }{"open_questions", q})
	}
	for _, b := range beside {
		for _, p := range safety.Check(b.text, src) {
			if slices.Contains([]string{"secret", "control", "encoding", "injection"}, p.Name) {
				p.Note = b.name + " " + p.Note
				out = append(out, p)
			}
		}
	}
	return out
}
