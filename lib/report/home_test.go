package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// noon is the current time of this home.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func at(minutes int) string {
	return noon.Add(time.Duration(minutes-60) * time.Minute).Format(time.RFC3339)
}

// builder makes a home as the programs would leave it.
type builder struct {
	t      *testing.T
	home   *durable.Home
	size   int64 // of events.ndjson
	minute int
	keys   []string
}

func (b *builder) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *builder) put(log string, v any) {
	b.t.Helper()
	text, err := json.Marshal(v)
	b.must(err)
	l, err := b.home.OpenLog(log)
	b.must(err)
	_, err = l.Append(func(int64) ([]byte, error) { return append(text, '\n'), nil })
	b.must(err)
	b.must(l.Close())
	if log == eventsLog {
		b.size += int64(len(text)) + 1
	}
}

// say writes a message into both logs of events; with class "" it is not classified.
func (b *builder) say(id, root, who, text, class string, reasons ...string) *event.Classified {
	b.t.Helper()
	b.minute++
	seq := b.size
	e := &event.Classified{Event: event.Event{
		Seq: &seq, Platform: "local", ChatID: "dev", ChatName: "dev", MessageID: id, CreateTime: at(b.minute),
		MsgType: "text", Content: text, Sender: event.Sender{ID: who, Type: "user", Name: who},
		Mentions: []string{},
	}}
	if root != "" {
		e.ThreadID = &root
	}
	b.event(e, class, reasons...)
	return e
}

func (b *builder) event(e *event.Classified, class string, reasons ...string) {
	b.t.Helper()
	seq := b.size
	e.Seq = &seq
	b.put(eventsLog, e.Event)
	if class != "" {
		e.Classification, e.Reasons, e.ClassifierConfidence, e.ClassifiedAt = class, reasons,
			0.8, at(b.minute)
		e.IsQuestion = class == event.Actionable
		b.put(classifiedLog, e)
	}
}

func (b *builder) input(in thread.Input) {
	b.t.Helper()
	if in.At == "" {
		in.At = at(b.minute)
	}
	b.put(dispatchLog, in)
	b.keys = append(b.keys, in.Key)
}

// take makes the dispatcher take up a message.
func (b *builder) take(e *event.Classified) string {
	b.t.Helper()
	b.input(thread.Input{Key: e.Key(), Event: e,
		Facts: &thread.Facts{QuestionType: "technical_qa", Codebase: "/src", Tier: 1}})
	return e.Key()
}

// ask is say and take for a question.
func (b *builder) ask(id, text string) string {
	b.t.Helper()
	return b.take(b.say(id, "", "ben", text, event.Actionable, "question:ends-with-mark"))
}

func (b *builder) runs(kind, key string, status run.Phase, value any, why string) {
	b.t.Helper()
	r := &run.Result{RunID: run.ID(kind, key, 1, 1), Kind: kind, Key: key, Cycle: 1, Round: 1,
		Agent: "search", StartedAt: at(b.minute), EndedAt: at(b.minute), Status: status, Error: why}
	if value != nil {
		text, err := json.Marshal(value)
		b.must(err)
		r.Value = text
	}
	if kind == run.Investigate {
		cost := 0.02
		r.Usage = &draft.Usage{InputTokens: 900, OutputTokens: 100, CostUSD: &cost, DurationMS: 5}
	}
	b.input(thread.Input{Key: key, Run: r})
}

const answer = "Three times, in client.go:3."

// drafted adds a question whose draft has passed and is offered.
func (b *builder) drafted(id, text string) string {
	b.t.Helper()
	key := b.ask(id, text)
	b.put(spendLog, budget.Entry{At: at(b.minute), Kind: budget.Reserve, Day: "2026-03-02",
		RunID: run.ID(run.Investigate, key, 1, 1), Key: key, Person: "ben"})
	b.runs(run.Investigate, key, run.Done, draft.Return{
		Confidence: "high", ConfidenceReason: "read it", SummaryForOrchestrator: "It is three.",
		DraftReply:   answer,
		EvidenceRefs: []draft.Ref{{Kind: draft.KindFile, Ref: "client.go:3", SupportsClaim: "three"}},
	}, "")
	b.runs(run.Validate, key, run.Done, verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Quotes,
		Reasons: []string{"all hold"}, Checks: []verdict.Check{
			{Name: "ref 1", Result: "supports", By: "code", Note: "stands there"},
			{Name: verdict.Traced, Result: verdict.OK, By: "code", Note: "name three: client.go:3"},
			{Name: verdict.Traced, Result: verdict.OK, By: "code", Note: "name times: client.go:3"},
		}}, "")
	b.decide(decision.Record{Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: key})
	return key
}

func (b *builder) decide(r decision.Record) {
	b.t.Helper()
	b.minute++
	r.At, r.Cycle = at(b.minute), 1
	if r.Kind == decision.Offer || r.Kind == decision.Approve {
		r.Text = answer
		r.Target = &decision.Target{Platform: "local", ChatID: "dev"}
	}
	if r.Kind != decision.Dismiss {
		r.DraftSHA256 = decision.Sum(answer)
	}
	_, err := decision.Append(b.home, r)
	b.must(err)
}

// approve approves a draft as ana; if told is set, the dispatcher has read it.
func (b *builder) approve(key string, told bool) {
	b.t.Helper()
	b.decide(decision.Record{Kind: decision.Approve, By: "ana", Via: "terminal", Key: key})
	if told {
		b.input(thread.Input{Key: key, Decision: &decision.Record{At: at(b.minute), Kind: decision.Approve,
			By: "ana", Key: key, Cycle: 1, DraftSHA256: decision.Sum(answer)}})
	}
}

func (b *builder) entry(key, state, id, why string) {
	b.t.Helper()
	sha := decision.Sum(answer)
	b.decide(decision.Record{Kind: decision.Claim, By: "tri-reply", Via: "code", Key: key})
	e := &outbox.Entry{
		ID: outbox.ID(key, 1, sha, 1), Key: key, Cycle: 1, PostKey: "k", State: state, Platform: "local",
		ChatID:      "dev",
		DraftSHA256: sha, Part: 1, Parts: 1, Text: answer, Tries: 1, IntentAt: at(b.minute),
		PostedMessageID: id, Why: why,
	}
	b.must(e.Save(b.home))
	if state == outbox.Posted {
		b.must(b.home.MkdirAll(outbox.Done))
		b.must(e.Finish(b.home))
	}
}

// build makes the golden home: one message per outcome.
func build(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	b := &builder{t: t, home: h}

	b.say("10", "", "ana", "morning \x1b[2Jall", event.Ambient, "nothing-asked")
	b.say("11", "", "cho", "thanks", event.Ack, "ack:words")

	key := b.drafted("20", "what is the limit?")
	b.approve(key, true)
	b.entry(key, outbox.Posted, "21", "")
	reply := outbox.Reply{
		Platform: "local", ChatID: "dev", ReplyToMessageID: "20", PostedMessageID: "21",
		PostedAt: at(b.minute), ReplyText: answer,
		Key: key, Cycle: 1, DraftSHA256: decision.Sum(answer), Outcome: outbox.Posted, ApprovedBy: "ana",
	}
	b.put(repliesLog, reply)
	b.input(thread.Input{Key: key, Reply: &reply})
	own := b.say("21", "20", "tri", answer, event.Ambient, "own-message")
	b.input(thread.Input{Key: key, Event: own, Facts: &thread.Facts{Own: true}})

	b.drafted("30", "and the timeout?")
	b.take(b.say("31", "30", "cho", "it was 5 s once", event.Ambient, "nothing-asked"))

	key = b.ask("40", "why does it fail?")
	b.runs(run.Investigate, key, run.Failed, nil, "took longer than 5m0s")

	key = b.drafted("50", "where is it parked?")
	b.approve(key, true)
	b.entry(key, outbox.Parked, "", "no answer came, and the chat cannot tell")

	key = b.drafted("60", "who cares?")
	b.decide(decision.Record{Kind: decision.Dismiss, By: "ana", Via: "terminal", Key: key, Note: "nobody"})
	b.input(thread.Input{Key: key, Decision: &decision.Record{At: at(b.minute), Kind: decision.Dismiss,
		By: "ana", Key: key, Cycle: 1, Note: "nobody"}})

	b.ask("70", "is it running?")
	b.take(b.say("71", "70", "ben", "on staging I mean", event.Actionable, "thread:in-flight"))

	b.approve(b.drafted("80", "is it approved?"), false)

	gone := b.say("85", "", "ben", "is this deleted", event.Ambient, "nothing-asked")
	gone.Deleted, gone.EditID, gone.Content = true, "x", ""
	b.event(gone, event.Ambient, "deleted")

	stranger := b.say("90", "", "eve", "?", event.Actionable, "question:ends-with-mark")
	b.put("dispatch.json", map[string]int64{"seq": *stranger.Seq, "journal": 0})
	b.say("91", "", "ben", "is anybody there?", event.Actionable, "question:ends-with-mark")
	b.event(&event.Classified{Event: event.Event{Platform: "local", ChatID: "ops", ChatName: "ops",
		MessageID: "10", CreateTime: at(b.minute), Content: "here too"}}, event.Ambient, "nothing-asked")
	b.say("92", "", "ben", "what was that?", "")
	b.fold()
	return h
}

// fold writes the threads' files from the journal.
func (b *builder) fold() {
	b.t.Helper()
	threads := map[string]thread.Thread{}
	text, err := b.home.ReadFile(dispatchLog)
	b.must(err)
	for _, l := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var in thread.Input
		b.must(json.Unmarshal(l, &in))
		threads[in.Key], _ = thread.Apply(threads[in.Key], in)
	}
	for _, t := range threads {
		if t.Key != "" {
			b.must(t.Save(b.home))
		}
	}
}

func team() *config.Config {
	c := config.Default()
	c.Team.Approvers = []string{"ana"}
	return c
}
