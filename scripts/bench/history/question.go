package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// life is one question on its way.
type life struct {
	*team
	state thread.Thread
	at    time.Time
	room  string
	offer *decision.Record
	n     int64 // stands for the decision's number until all are in order
}

// question lives one through: asked, investigated, decided, answered, and
// sometimes corrected or asked again.
func (t *team) question() {
	l := &life{team: t, at: t.moment(max(1, t.days-before)), room: t.pick(rooms)}
	asker := t.pick(people)
	text := fmt.Sprintf("why does the %s %s when %s?", t.pick(nouns), t.pick(verbs),
		t.sentence(8+t.rng.IntN(12)))
	e := t.say(l.at, l.room, "", asker, text, event.Actionable, "question:ends-with-mark",
		"question:word:why does")
	e.IsBotMention = t.chance(0.3)
	l.take(e, t.pick(types))
	for range 6 {
		if l.at.After(t.end) || l.state.Status == thread.Closed && !l.afterwards(e, asker) {
			return
		}
		l.round()
		if l.state.Status == thread.PendingUser && !l.decide() {
			return
		}
	}
}

func (l *life) take(e *event.Classified, kind string) {
	l.at = l.at.Add(2 * time.Second)
	l.input(&thread.Input{Key: e.Key(), Event: e, Facts: &thread.Facts{
		QuestionType: kind, TypeReason: "technical:why",
		Rubric:   "Find the code that decides it, read it, and say what it does.",
		Codebase: "/srv/payments", ExpectedMin: 5, ExpectedBecause: []string{"technical 5"}, Tier: 1,
	}})
}

func (l *life) input(in *thread.Input) {
	in.At = stamp(l.at)
	l.journal = append(l.journal, in)
	l.state, _ = thread.Apply(l.state, *in)
}

// round does the runs that are due, until the thread rests.
func (l *life) round() {
	for !l.state.AtRest() && l.state.Key != "" {
		kind, id := run.Investigate, l.state.InvestigatorTaskID
		if l.state.Status == thread.AwaitingValidation {
			kind, id = run.Validate, l.state.ValidatorTaskID
		}
		l.execute(kind, *id)
	}
}

func (l *life) execute(kind, id string) {
	r := &run.Result{RunID: id, Kind: kind, Key: l.state.Key, Cycle: l.state.Cycle,
		Round: l.state.InvestigatorRound, StartedAt: stamp(l.at), Status: run.Done, SessionID: run.UUID()}
	begun := l.at
	if kind == run.Investigate {
		l.at = l.at.Add(l.between(15*time.Second, 4*time.Minute))
		r.Agent, r.Model = l.pick([]string{"claude", "claude", "codex"}), "large-4"
		r.Usage = l.usage(l.at.Sub(begun))
		l.reserve(id, begun, r.Usage)
		switch {
		case l.chance(0.03):
			r.Status, r.Error = run.Failed, "took longer than 5m0s"
		default:
			r.Value = raw(l.find(r.Usage))
		}
	} else {
		l.at = l.at.Add(l.between(2*time.Second, 30*time.Second))
		r.Agent, r.Model = "claude", "large-4"
		v := l.judge()
		v.Usage = l.usage(l.at.Sub(begun))
		r.Usage, r.Value = v.Usage, raw(v)
	}
	r.SessionID = fmt.Sprintf("%08x-0000-4000-8000-%012x", l.rng.Uint32(), l.rng.Uint32())
	r.EndedAt = stamp(l.at)
	l.input(&thread.Input{Key: l.state.Key, Run: r})
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own types
	}
	return b
}

func (l *life) usage(took time.Duration) *draft.Usage {
	u := &draft.Usage{InputTokens: 4000 + l.rng.Int64N(40_000), OutputTokens: 200 + l.rng.Int64N(2000),
		DurationMS: took.Milliseconds(), Turns: 3 + l.rng.IntN(12)}
	if l.chance(0.9) {
		cost := float64(u.InputTokens)*3e-6 + float64(u.OutputTokens)*15e-6
		u.CostUSD = &cost
	}
	return u
}

func (l *life) reserve(id string, begun time.Time, u *draft.Usage) {
	e := budget.Entry{At: stamp(begun), Kind: budget.Reserve, Day: begun.UTC().Format(time.DateOnly),
		RunID: id, Key: l.state.Key, Person: l.state.OriginalSenderID}
	s := e
	s.Kind, s.At, s.CostUSD, s.Tokens = budget.Settle, stamp(l.at), u.CostUSD, u.InputTokens+u.OutputTokens
	l.spend = append(l.spend, &e, &s)
}

// find is a return as an investigator gives it.
func (l *life) find(u *draft.Usage) *draft.Return {
	text := fmt.Sprintf("The %s %s after %d tries, in %s/%s.go:%d. %s It is counted anew for each %s.",
		l.pick(nouns), l.pick(verbs), 2+l.rng.IntN(8), l.pick(nouns), l.pick(nouns), 10+l.rng.IntN(400),
		strings.ToUpper(l.sentence(1))+" "+l.sentence(20)+".", l.pick(nouns))
	ret := &draft.Return{
		Confidence:             l.pick([]string{"high", "high", "high", "medium", "low"}),
		ConfidenceReason:       "Both lines were read and nothing overrides them.",
		SummaryForOrchestrator: l.sentence(16) + ".", DraftReply: text, DraftLanguage: "en",
		OpenQuestions:     []string{},
		InvestigatorRound: l.state.InvestigatorRound, ResearchNotes: l.sentence(80), Usage: u,
		Question: l.state.Messages[len(l.state.Messages)-1].Content, Rubric: l.state.Rubric,
	}
	for range 1 + l.rng.IntN(3) {
		sum := decision.Sum(text)
		ret.EvidenceRefs = append(ret.EvidenceRefs, draft.Ref{
			Kind: draft.KindFile, Ref: fmt.Sprintf("%s/%s.go:%d", l.pick(nouns), l.pick(nouns),
				10+l.rng.IntN(400)), SupportsClaim: l.sentence(10), Quote: l.sentence(8),
			Receipt: &draft.Receipt{Commit: sum[:40], SHA256: sum, Lines: sum, ReadAt: stamp(l.at)},
		})
	}
	return ret
}

// judge is a verdict as a validator gives it.
func (l *life) judge() *verdict.Verdict {
	v := &verdict.Verdict{
		Verdict: verdict.Pass, Reasons: []string{"every reference supports its claim"},
		SpotCheckRef:    l.state.InvestigatorReturn.EvidenceRefs[0].Ref,
		SpotCheckResult: verdict.Supports, SpotCheckNote: "it stands there", SchemaCheck: "ok",
		ConfidenceLanguageMatch: "match", ScopeDrift: "none",
		CrossInvestigationConsistency: "no_overlap", RiskGateCheck: "passes", ToneAssessment: "matches",
		ValidatorModel: "large-4", ValidatedAt: stamp(l.at),
	}
	for i := range l.state.InvestigatorReturn.EvidenceRefs {
		v.Checks = append(v.Checks, verdict.Check{Name: fmt.Sprintf("ref %d", i+1), Result: verdict.Supports,
			By: "code", Note: "stands there"})
	}
	for _, name := range strings.Fields("schema caps secrets pings scope tone language risk") {
		v.Checks = append(v.Checks, verdict.Check{Name: name, Result: "ok", By: "code"})
	}
	bad := 0.24
	if l.state.InvestigatorRound > 1 {
		bad = 0.2
	}
	if l.chance(bad) {
		what := "ref 1: the line does not say it"
		v.Verdict, v.Reasons, v.SpotCheckResult, v.SpotCheckNote, v.BounceFeedback = verdict.Bounce,
			[]string{what}, verdict.Contradicts, what, &what
		v.Checks[0].Result, v.Checks[0].Note = verdict.Contradicts, what
	} else if l.chance(0.03) {
		v.Verdict, v.Reasons = verdict.Escalate, []string{"contradicts another thread"}
	}
	return v
}

// word appends a decision, as a person or a program says it.
func (l *life) word(r decision.Record) *decision.Record {
	l.n++
	r.N = -l.n
	r.At, r.Key, r.Cycle = stamp(l.at), l.state.Key, l.state.Cycle
	l.words = append(l.words, &r)
	return &r
}

// decide lets a person clear the draft; false is: nobody has.
func (l *life) decide() bool {
	t := &l.state
	if t.DraftPending != nil {
		chatID, root, replyTo := t.Target()
		how := map[string]string{verdict.Pass: "pass"}[t.ValidatorReturn.Verdict]
		switch {
		case how == "":
			how = "escalate-then-user-approved"
		case t.InvestigatorRound > 1:
			how = "bounce-then-pass"
		}
		l.offer = l.word(decision.Record{
			Kind: decision.Offer, By: "tri-dispatch", Via: "code", DraftSHA256: t.DraftSHA256,
			Text: *t.DraftPending, Codebase: t.Codebase, Evidence: t.InvestigatorReturn.EvidenceRefs,
			ExpiresAt: stamp(l.at.Add(72 * time.Hour)),
			Sources: []string{t.InvestigatorReturn.SummaryForOrchestrator,
				t.InvestigatorReturn.ResearchNotes, t.Messages[0].Content},
			Target: &decision.Target{Platform: t.Platform, ChatID: chatID, ThreadID: root, ReplyToID: replyTo,
				QuestionSHA256: decision.Sum(t.Messages[len(t.Messages)-1].Content)},
			Meta: &decision.Meta{InvestigatorTaskID: *t.InvestigatorTaskID,
				InvestigatorRounds: t.InvestigatorRound, ValidatorVerdict: how},
		})
	}
	l.at = l.at.Add(l.between(20*time.Second, 5*time.Hour))
	if l.at.After(l.end) {
		return false
	}
	kind, text, sha, original, note := decision.Approve, "", "", "", ""
	if t.DraftPending != nil {
		text, sha = *t.DraftPending, t.DraftSHA256
	}
	passed := t.ValidatorReturn != nil && t.ValidatorReturn.Verdict == verdict.Pass
	switch p := l.rng.Float64(); {
	case t.DraftPending == nil, !passed && p < 0.5, p < 0.006:
		kind, text, note = decision.Dismiss, "", "not worth it"
	case !passed && p < 0.7, p < 0.012:
		kind, text, sha, note = decision.Redo, "", "", "look at the "+l.pick(nouns)
	case p < 0.05:
		kind, original = decision.Edit, sha
		text = strings.Replace(text, "The ", "the ", 1)
		if l.chance(0.2) {
			text = strings.Replace(text, " after ", " only after ", 1) + " Not for every " +
				l.pick(nouns) + "."
		}
		sha = decision.Sum(text)
	}
	distance := 0
	if original != "" {
		distance = 1 + l.rng.IntN(60)
	}
	r := l.word(decision.Record{Distance: distance, Kind: kind, By: l.pick([]string{"ana", "ben"}),
		Via: "terminal", DraftSHA256: sha, Text: text, Original: original, Note: note})
	l.at = l.at.Add(time.Second)
	l.input(&thread.Input{Key: t.Key, Decision: r})
	if text != "" {
		l.post(r)
	}
	return true
}

// post claims, posts and records, and the chat tells us of our own message.
func (l *life) post(r *decision.Record) {
	t := &l.state
	l.word(decision.Record{Kind: decision.Claim, By: "tri-reply", Via: "code", DraftSHA256: r.DraftSHA256})
	l.at = l.at.Add(11 * time.Second)
	own := l.say(l.at, l.room, t.ThreadID, "tri", r.Text, event.Ambient, "own-message")
	own.Sender = event.Sender{ID: "BTRI", Type: "bot", Name: "tri"}
	target := l.offer.Target
	reply := &outbox.Reply{
		Platform: t.Platform, ChatID: t.ChatID, ReplyToMessageID: target.ReplyToID,
		PostedMessageID: own.MessageID, PostedMessageIDs: []string{own.MessageID}, PostedAt: stamp(l.at),
		ReplyText:          r.Text,
		InvestigatorTaskID: l.offer.Meta.InvestigatorTaskID, ValidatorVerdict: l.offer.Meta.ValidatorVerdict,
		InvestigatorRounds: l.offer.Meta.InvestigatorRounds,
		Key:                t.Key, Cycle: t.Cycle, DraftSHA256: r.DraftSHA256, Outcome: outbox.Posted,
		ApprovedBy: r.By,
	}
	l.posts = append(l.posts, &outbox.Entry{
		ID: outbox.ID(t.Key, t.Cycle, r.DraftSHA256, 1), Key: t.Key, Cycle: t.Cycle,
		PostKey: outbox.PostKey(t.Key, t.Cycle, r.DraftSHA256, 1), State: outbox.Posted, Platform: t.Platform,
		ChatID: t.ChatID, ThreadID: t.ThreadID, ReplyTo: target.ReplyToID, DraftSHA256: r.DraftSHA256,
		Part: 1, Parts: 1, Text: r.Text, Tries: 1,
		IntentAt: r.At, TriedAt: stamp(l.at), PostedMessageID: own.MessageID, PostedAt: stamp(l.at),
	})
	l.replies = append(l.replies, reply)
	l.at = l.at.Add(time.Second)
	l.input(&thread.Input{Key: t.Key, Reply: reply})
	l.input(&thread.Input{Key: t.Key, Event: own,
		Facts: &thread.Facts{Own: true, QuestionType: thread.Other, Tier: 1}})
}

// afterwards is what people say below an answer; true: it is asked on.
func (l *life) afterwards(e *event.Classified, asker string) bool {
	l.at = l.at.Add(l.between(30*time.Second, time.Hour))
	root := e.MessageID
	switch p := l.rng.Float64(); {
	case p < 0.4:
		l.below(l.say(l.at, l.room, root, asker, "thanks!", event.Ack, "ack:words"))
	case p < 0.406:
		l.below(l.say(l.at, l.room, root, l.pick(people), "that is wrong, it is the "+l.pick(nouns),
			event.Ambient, "nothing-asked"))
	case p < 0.6:
		l.take(l.say(l.at, l.room, root, asker, "and how does the "+l.pick(nouns)+" "+l.sentence(8)+"?",
			event.Actionable, "question:ends-with-mark"), l.pick(types))
		return true
	}
	return false
}

func (l *life) below(e *event.Classified) {
	l.at = l.at.Add(2 * time.Second)
	l.input(&thread.Input{Key: l.state.Key, Event: e,
		Facts: &thread.Facts{QuestionType: thread.Other, Tier: 1}})
}
