package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// bench is a dispatcher whose agents are functions of the question's words.
type bench struct {
	t      *testing.T
	home   *durable.Home
	cfg    *config.Config
	log    *durable.Log
	size   int64 // of the log
	runs   atomic.Int64
	say    strings.Builder
	shadow bool
	chat   string // of the events to come

	mention bool // the events to come mention us
	quotes  string
	editing string // id of the edit that the next message is
	forward bool   // the next event passes its text on
	system  bool   // the next event is a message of the platform itself
}

func newBench(t *testing.T) *bench {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	cfg := config.Default()
	cfg.Team.Approvers = []string{"boss"}
	cfg.Budget, cfg.Dispatch.MaxQuestionAgeH = config.Budget{}, 1e6
	log, err := h.OpenLog("events-classified.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return &bench{t: t, home: h, cfg: cfg, log: log, chat: "dev"}
}

// add appends an event; a root with "~" before it was inferred.
func (b *bench) add(id, sender, root, class, text string) {
	seq := b.size
	e := event.Classified{Event: event.Event{
		Seq: &seq, Platform: "local", ChatID: b.chat, ChatName: b.chat, MessageID: id,
		CreateTime: "2026-11-21T10:00:00Z",
		MsgType:    "text", Content: text, Sender: event.Sender{ID: sender, Type: "user"},
		Mentions: []string{},
	}, Classification: class, IsQuestion: class == event.Actionable, IsBotMention: b.mention}
	if flat, ok := strings.CutPrefix(root, "~"); ok { // as tri-thread says it
		root, e.ThreadInferred = flat, "same-person"
	}
	if root != "" {
		e.ThreadID = &root
	}
	e.ReplyToID, b.quotes = b.quotes, ""
	e.EditID, b.editing = b.editing, ""
	if b.system {
		e.MsgType, b.system = "system", false
	}
	if b.forward {
		e.Content, b.forward = "", false
		e.Forward("ben", text)
	}
	b.put(&e)
}

func (b *bench) put(e *event.Classified) {
	line, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil }); err != nil {
		b.t.Fatal(err)
	}
	b.size += int64(len(line)) + 1
}

// edit has a sender change a message.
func (b *bench) edit(id, sender, text string) {
	b.editing = fmt.Sprint("edit at ", b.size)
	b.add(id, sender, "", event.Ambient, text)
}

// version adds a version of a question of ana, made so many seconds after it: "" deletes it.
func (b *bench) version(id, text string, seconds int) {
	b.t.Helper()
	e := event.Classified{Event: event.Event{Seq: new(b.size), Platform: "local", ChatID: b.chat,
		MessageID: id, CreateTime: "2026-11-21T10:00:00Z", MsgType: "text", Content: text,
		Sender: event.Sender{ID: "ana", Type: "user"}, Mentions: []string{}, Deleted: text == ""},
		Classification: event.Actionable, IsQuestion: true}
	if seconds > 0 {
		e.EditedAt = fmt.Sprintf("2026-11-21T10:00:%02dZ", seconds)
	}
	if e.Deleted {
		e.Classification, e.IsQuestion, e.EditID = event.Ambient, false, "deleted"
	}
	b.put(&e)
}

func (b *bench) options() Options {
	prompts, err := prompt.Load("")
	if err != nil {
		b.t.Fatal(err)
	}
	return Options{
		Home: b.home, Config: b.cfg, Prompts: prompts, Once: true, Shadow: b.shadow, Out: io.Discard,
		Now:         time.Now,
		Say:         func(f string, a ...any) { fmt.Fprintf(&b.say, f+"\n", a...) },
		Input:       stream.Input{Files: []string{b.home.Path("events-classified.ndjson")}},
		Investigate: b.investigate,
		Validate: func(_ context.Context, t *thread.Thread, _ []Hint, _ *run.Run) (*verdict.Verdict, error) {
			feedback := "cite the line"
			if strings.Contains(t.Messages[0].Content, "lie") && t.InvestigatorRound == 1 {
				return &verdict.Verdict{Verdict: verdict.Bounce, BounceFeedback: &feedback}, nil
			}
			return &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Quotes}, nil
		},
	}
}

func (b *bench) investigate(ctx context.Context, t *thread.Thread, _ []Hint,
	_ *run.Run) (*draft.Return, error) {
	b.runs.Add(1)
	text := t.Messages[0].Content
	switch {
	case strings.Contains(text, "nothing"):
		return nil, agent.ErrNothing
	case strings.Contains(text, "boom"):
		return nil, errors.New("boom")
	case strings.Contains(text, "forever"):
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &draft.Return{Confidence: "low", DraftReply: "answer to " + text, SummaryForOrchestrator: "s",
		EvidenceRefs: []draft.Ref{}}, nil
}

func (b *bench) run() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := Run(ctx, b.options()); err != nil {
		b.t.Fatal(err)
	}
	if ctx.Err() != nil {
		b.t.Fatal("stuck; said: " + b.say.String())
	}
}

func (b *bench) thread(id string) *thread.Thread {
	b.t.Helper()
	t, err := thread.Load(b.home, event.Key("local", b.chat, id))
	if err != nil {
		b.t.Fatal(err)
	}
	if t == nil {
		return new(thread.Thread)
	}
	return t
}

func (b *bench) decide(kind, id, note string) {
	b.t.Helper()
	t := b.thread(id)
	r := decision.Record{Kind: kind, By: "boss", Via: "terminal", Key: t.Key, Cycle: t.Cycle,
		DraftSHA256: t.DraftSHA256, Note: note}
	if t.DraftPending != nil {
		r.Text = *t.DraftPending
	}
	if _, err := decision.Append(b.home, r); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) offers(id string) (offers, withdrawals int) {
	b.t.Helper()
	records, err := decision.Read(b.home)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range records {
		if r.Key == event.Key("local", "dev", id) && r.Kind == decision.Offer {
			offers++
		} else if r.Key == event.Key("local", "dev", id) && r.Kind == decision.Withdraw {
			withdrawals++
		}
	}
	return offers, withdrawals
}
