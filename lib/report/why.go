package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// Why returns the story of a message. id is its message_id, or chat:id, or platform:chat:id; words
// translates a classifier's reason for people. It returns an error only if the message does not
// exist or a log of events cannot be read; other errors are listed in Troubles.
func Why(h *durable.Home, cfg *config.Config, id string, words func(reason string) string) (*Story, error) {
	f, err := locate(h, cfg, id)
	if err != nil {
		return nil, err
	}
	last := &f.events[len(f.events)-1]
	s := &Story{
		Platform: last.Platform, ChatID: last.ChatID, ChatName: last.ChatName, MessageID: last.MessageID,
		Sender: last.Sender.ID, Key: last.Key(), At: f.events[0].CreateTime,
	}
	if last.Sender.Name != "" {
		s.Sender = last.Sender.Name
	}
	s.seen(f, words)
	t := &teller{home: h, story: s}
	if s.Key = cmp.Or(f.key, s.Key); f.key == "" {
		t.item(last.Sender.ID)
	}
	t.fold()
	t.decisions(cfg)
	t.posts()
	t.judge()
	return s, nil
}

// seen joins the received events with their classification, in the order in which they were made: a message
// may be delivered again after its edit.
func (s *Story) seen(f *found, words func(string) string) {
	slices.SortStableFunc(f.events, func(a, b event.Classified) int {
		return a.ChangedAt().Compare(b.ChangedAt())
	})
	said := map[string]*event.Classified{}
	for i := range f.classified {
		said[f.classified[i].Identity()] = &f.classified[i]
	}
	for i := range f.events {
		e := &f.events[i]
		if !e.Deleted {
			s.Content = e.Content
		}
		v := Seen{Seq: e.Seq, At: e.CreateTime, What: what(e), Content: e.Content}
		if e.EditedAt != "" {
			v.At = e.EditedAt
		}
		if c := said[e.Identity()]; c != nil && c.Classification != "" {
			v.Classification, v.Reasons, v.Confidence = c.Classification, c.Reasons, c.ClassifierConfidence
			v.ClassifiedAt, v.Version = c.ClassifiedAt, c.ClassifierVersion
			for _, r := range c.Reasons {
				v.Words = append(v.Words, words(r))
			}
			if c.ThreadInferred != "" { // tri-thread adds the thread to the classified event
				s.Key = c.Key()
				v.Words = append(v.Words,
					fmt.Sprintf("it continues the conversation of %s (%s)", c.Root(), c.ThreadInferred))
			}
		}
		s.Events = append(s.Events, v)
	}
}

// what returns what an event says of its message: said, edited or deleted.
func what(e *event.Classified) string {
	switch {
	case e.Deleted:
		return "deleted"
	case e.EditedAt != "" || e.EditID != "":
		return "edited"
	}
	return "said"
}

// teller collects the story of a message from its thread.
type teller struct {
	home     *durable.Home
	story    *Story
	state    thread.Thread      // current state of the thread
	taken    bool               // the dispatcher accepted the message itself
	closed   string             // why the thread was closed when the message arrived, "" if it was open
	refused  string             // why it could not open a thread
	standing *decision.Standing // decisions on the thread, from the decision log
}

func (t *teller) trouble(err error) {
	if err != nil {
		t.story.Troubles = append(t.story.Troubles, err.Error())
	}
}

// item finds which item of a conversation contains the message: its sender's, if the sender has
// one.
func (t *teller) item(sender string) {
	s := t.story
	root, asker := s.Key, map[string]string{s.Key: ""}
	prefix := append([]byte(`"key":"`), root[:strings.LastIndexByte(root, '.')+1]...)
	r := journal.NewReader(t.home)
	defer r.Close()
	t.trouble(scan(t.home, dispatchLog, 0, prefix, r.Whole(func(line []byte) error {
		v := gjson.ParseBytes(line)
		key := v.Get("key").String()
		if beside := v.Get("beside.key").String(); key == root && beside != "" {
			asker[beside] = ""
		}
		who, ours := asker[key]
		if e := v.Get("event"); ours && e.Exists() {
			from := e.Get("sender.id").String()
			if who == "" {
				who, asker[key] = from, from
			}
			if from == sender && who == sender && e.Get("message_id").String() == s.MessageID {
				s.Key = key
			}
		}
		return nil
	})))
}

// fold replays the thread's inputs, as tri-dispatch --rebuild does: unlike the thread's file, the
// journal contains every cycle.
func (t *teller) fold() {
	s := t.story
	r := journal.NewReader(t.home)
	defer r.Close()
	err := scan(t.home, dispatchLog, 0, append([]byte(`"key":`), quoted(s.Key)...), func(line []byte) error {
		in, err := r.Input(line)
		if errors.Is(err, journal.ErrGone) {
			t.trouble(err)
			return nil
		}
		if err != nil {
			return err
		}
		if in.Key != s.Key {
			return nil
		}
		before := len(t.state.StatusHistory)
		t.state, _ = thread.Apply(t.state, in)
		if in.Event != nil && in.Event.MessageID == s.MessageID {
			t.taken, t.closed = t.state.Key != "", ""
			if t.state.Status == thread.Closed {
				t.closed = t.state.CloseReason
			}
			if in.Facts != nil {
				t.refused = cmp.Or(in.Facts.Refuse, in.Facts.Unclear)
			}
		}
		t.note(in, t.state.StatusHistory[min(before, len(t.state.StatusHistory)):])
		return nil
	})
	t.trouble(err)
	t.running()
}

// cycle returns the cycle with a number, and creates it if necessary.
func (t *teller) cycle(n int) *Cycle {
	s := t.story
	for i := range s.Cycles {
		if s.Cycles[i].Cycle == n {
			return &s.Cycles[i]
		}
	}
	s.Cycles = append(s.Cycles, Cycle{Cycle: n})
	return &s.Cycles[len(s.Cycles)-1]
}

// note records the effects of an input in the cycle that it belongs to.
func (t *teller) note(in thread.Input, steps []thread.Change) {
	if t.state.Key == "" {
		return
	}
	c := t.cycle(t.state.Cycle)
	// A step that ends a cycle by beginning the next is shown in the new one.
	c.Steps = append(c.Steps, steps...)
	c.Type, c.Codebase, c.Badge, c.Asked, c.Alerts = t.state.QuestionType, t.state.Codebase, t.state.Badge,
		t.state.Asked, t.state.Alerts
	c.TypedBy, c.Minutes, c.Because, c.Long = t.state.TypeReason, t.state.ExpectedMin,
		t.state.ExpectedBecause, t.state.IsEscalated
	if in.Run == nil {
		c.Question, c.asked = c.Question[:0], t.state.Questions()
		for _, m := range t.state.Messages {
			c.Question = append(c.Question, m.MessageID)
		}
	}
	if in.Run != nil {
		of := t.cycle(in.Run.Cycle)
		of.Runs = append(of.Runs, told(in.Run))
	}
	if in.Spent != nil {
		c.Runs = append(c.Runs, Run{RunID: in.Spent.RunID, Kind: refusedKind(in.Spent.RunID),
			Round: t.state.InvestigatorRound, Status: "refused", Error: in.Spent.Why})
	}
	if in.Reply != nil {
		t.cycle(in.Reply.Cycle).Reply = in.Reply
	}
}

func told(r *run.Result) Run {
	out := Run{
		RunID: r.RunID, Kind: r.Kind, Round: r.Round, Agent: r.Agent, Model: r.Model,
		Status:    string(r.Status),
		StartedAt: r.StartedAt, EndedAt: r.EndedAt, Error: r.Error, Usage: r.Usage,
	}
	if r.Status != run.Done {
		return out
	}
	var err error
	if r.Kind == run.Validate {
		out.Verdict = new(verdict.Verdict)
		err = json.Unmarshal(r.Value, out.Verdict)
	} else {
		out.Return = new(draft.Return)
		err = json.Unmarshal(r.Value, out.Return)
	}
	if err != nil {
		out.Error = fmt.Sprintf("unreadable: %v", err)
	}
	return out
}

// running adds the run that is due and has no result in the journal yet.
func (t *teller) running() {
	for _, e := range thread.Due(t.state) {
		if e.RunID == "" || e.Kind == thread.EffectTell {
			continue
		}
		r := Run{RunID: e.RunID, Kind: run.Investigate, Round: t.state.InvestigatorRound, Status: "due"}
		if e.Kind == thread.EffectValidate {
			r.Kind = run.Validate
		}
		if t.home.Exists("runs/" + e.RunID) {
			r.Status = "begun"
		}
		if res, err := run.Load(t.home, e.RunID); err != nil {
			t.trouble(err)
		} else if res != nil {
			r = told(res)
		}
		c := t.cycle(t.state.Cycle)
		c.Runs = append(c.Runs, r)
	}
}

// decisions adds the offers and decisions, and which of them are valid.
func (t *teller) decisions(cfg *config.Config) {
	policy := decision.PolicyOf(cfg)
	state, err := decision.Fold(t.home, policy, func(r *decision.Record, counts bool, why string) {
		if r.Key == t.story.Key {
			c := t.cycle(r.Cycle)
			c.Decisions = append(c.Decisions, Decision{Record: *r, Counts: counts, Why: why})
		}
	})
	t.trouble(err)
	t.standing = state.Standing(t.story.Key)
}

// posts adds the state of each part of an approved draft.
func (t *teller) posts() {
	for i := range t.story.Cycles {
		c := &t.story.Cycles[i]
		var shas []string
		for _, d := range c.Decisions {
			if d.Kind == decision.Claim && d.Counts && !slices.Contains(shas, d.DraftSHA256) {
				shas = append(shas, d.DraftSHA256)
			}
		}
		for _, sha := range shas {
			for part := 1; ; part++ {
				e, err := t.entry(outbox.ID(t.story.Key, c.Cycle, sha, part))
				t.trouble(err)
				if e == nil {
					break
				}
				c.Posts = append(c.Posts, e)
			}
		}
	}
	t.trouble(scan(t.home, repliesLog, 0, append([]byte(`"key":`), quoted(t.story.Key)...),
		func(line []byte) error {
			r := new(outbox.Reply)
			if err := json.Unmarshal(line, r); err != nil {
				return fmt.Errorf("read %s: %w", repliesLog, err)
			}
			if r.Key == t.story.Key {
				t.cycle(r.Cycle).Reply = r
			}
			return nil
		}))
}

func (t *teller) entry(id string) (*outbox.Entry, error) {
	for _, dir := range []string{outbox.Dir, outbox.Done} {
		b, err := t.home.ReadFile(dir + "/" + id + ".json")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read post: %w", err)
		}
		e := new(outbox.Entry)
		if err := json.Unmarshal(b, e); err != nil {
			return nil, fmt.Errorf("read post %q: %w", id, err)
		}
		return e, nil
	}
	return nil, nil
}

func join(items []string) string { return strings.Join(items, "; ") }

// refusedKind returns the kind of a run that was refused because no budget was left.
func refusedKind(runID string) string {
	if strings.HasPrefix(runID, run.Validate[:1]+"-") {
		return run.Validate
	}
	return run.Investigate
}
