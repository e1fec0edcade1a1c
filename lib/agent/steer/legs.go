package steer

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Bounds of a checkpoint: entries, and bytes of the agent's words.
const (
	maxRead  = 200
	maxTools = 100
	maxSaid  = 12 << 10
)

// A checkpoint is written at every word, at every end of a leg, and after this many tools or this
// time.
const (
	everyTools = 5
	everyTime  = 10 * time.Second
)

// legs is a run in progress.
type legs struct {
	a       *Agent
	task    agent.Task
	dir     string
	native  bool // the program takes words
	own     bool // the leg resumes the session that the caller named
	arrived chan run.Word
	log     *run.HeardLog // nil until something was heard

	mu      sync.Mutex // events come from another goroutine
	words   []run.Word
	ears    []run.Heard // of this leg
	leg     int
	again   bool   // something was done before
	why     string // the leg before ended
	session string // to resume, "" if there is none
	read    []run.Reading
	tools   []run.ToolUse
	said    string
	asked   *run.Ask     // of this leg, if it outlives this process
	earlier *draft.Usage // of attempts before this process
	spent   *draft.Usage // of the legs that have ended
	usage   draft.Usage  // of this leg so far
	last    *agent.Event // that ended the leg; passed on at the end of the run
	since   int          // tools since the last checkpoint
	saved   time.Time
	lost    error // something could not be written
	stamps  *stamper
}

// open reads what earlier attempts left in the run's folder.
func (a *Agent) open(t agent.Task) (*legs, error) {
	l := &legs{a: a, task: t, dir: cmp.Or(a.Dir, t.Dir), native: agent.CapabilitiesOf(a.Agent).Steers != "",
		arrived: make(chan run.Word), saved: a.Now(), stamps: newStamper(t.Codebase, a.Now)}
	var err error
	if l.words, err = run.Words(l.dir); err != nil {
		return nil, err
	}
	ears, err := run.Hearing(l.dir)
	if err != nil {
		return nil, err
	}
	var c *run.Checkpoint
	if a.Dir == "" {
		if c, err = run.LoadCheckpoint(l.dir); err != nil {
			return nil, err
		}
	}
	if c != nil && c.Asked != nil && agent.CapabilitiesOf(a.Agent).Rejoins {
		l.rejoin(c, ears)
		return l, nil
	}
	for _, e := range ears {
		l.leg = max(l.leg, e.Leg)
	}
	if c == nil {
		c = t.From
	} else {
		l.leg, l.why = max(l.leg, c.Leg), "the process that ran it was ended"
	}
	l.again = l.leg > 0 && a.Dir == ""
	if c != nil && !t.Fork {
		l.session, l.read, l.tools, l.said, l.earlier, l.again = c.SessionID, c.Read, c.Tools, c.Said,
			c.Usage, true
	}
	if t.Resume && !l.again {
		l.session, l.own = t.SessionID, true
	}
	if l.why != "" && agent.CapabilitiesOf(a.Agent).Rejoins {
		l.spent, l.earlier = l.earlier, nil
	}
	return l, nil
}

// rejoin takes up a leg that is under way elsewhere, or has ended there. Words that its prompt lacks arrive
// again; the worker that has them ignores them.
func (l *legs) rejoin(c *run.Checkpoint, ears []run.Heard) {
	l.asked, l.spent = c.Asked, c.Asked.Spent
	l.words = l.words[:min(len(l.words), c.Asked.Words)]
	l.leg, l.again = c.Leg-1, true
	l.session, l.read, l.tools, l.said = c.SessionID, c.Read, c.Tools, c.Said
	l.ears = slices.DeleteFunc(ears, func(e run.Heard) bool { return e.Leg != c.Leg })
}

// begin returns the task of the next leg. All words are in its prompt.
func (l *legs) begin() (t agent.Task, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t = l.task
	l.leg++
	l.usage, l.last = draft.Usage{}, nil
	if q := l.asked; q != nil { // rejoined
		t.Prompt, t.Question, t.Messages = q.Prompt, q.Question, q.Messages
		t.MaxTurns, t.MaxCostUSD = q.MaxTurns, q.MaxCostUSD
		return t, l.lost
	}
	l.ears = nil
	can := agent.CapabilitiesOf(l.a.Agent)
	switch {
	case l.own && !l.again:
	case l.session != "" && can.Resumes:
		t.SessionID, t.Resume, t.Fork = l.session, true, false
	case l.again && !t.Fork:
		t.SessionID, t.Resume = run.UUID(), false
	}
	if t.Prompt, err = l.prompt(t.Resume); err != nil {
		return t, err
	}
	for _, w := range l.words {
		if w.Kind == run.Append || w.Kind == run.Redirect || w.Kind == run.Edit {
			t.Question, t.Messages = t.Question+"\n"+w.Text, append(l.messages(t), w.Text)
		}
	}
	if s := l.spent; s != nil {
		if t.MaxTurns > 0 {
			t.MaxTurns = max(1, t.MaxTurns-s.Turns)
		}
		if t.MaxCostUSD > 0 && s.CostUSD != nil {
			t.MaxCostUSD = max(0.0001, t.MaxCostUSD-*s.CostUSD) // 0 means no limit
		}
	}
	if can.Rejoins {
		l.asked = &run.Ask{Prompt: t.Prompt, Question: t.Question, Messages: t.Messages, MaxTurns: t.MaxTurns,
			MaxCostUSD: t.MaxCostUSD, Words: len(l.words), Spent: l.spent}
	}
	var ids []string
	for _, w := range l.words {
		ids = append(ids, w.ID)
	}
	l.note(run.Prompt, ids...) // before the leg: a later attempt then knows that there was one
	l.save()
	return t, l.lost
}

// messages returns a copy of the task's messages.
func (l *legs) messages(t agent.Task) []string {
	if t.Messages == nil {
		return []string{l.task.Question}
	}
	return slices.Clone(t.Messages)
}

// next prepares another leg.
func (l *legs) next(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why, l.again, l.own, l.asked = why, true, false, nil
	l.save()
	l.pass(agent.Event{Kind: agent.Milestone, Text: fmt.Sprintf("leg %d: %s", l.leg+1, why),
		SessionID: l.session})
}

// unfork begins the leg again in a new session, with the checkpoint of the other run as a hint.
func (l *legs) unfork() {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.task.From
	l.task.Fork, l.again, l.why, l.session, l.leg = false, true,
		"it is a question of its own now", "", l.leg-1
	l.asked = nil
	l.read, l.tools, l.said = c.Read, c.Tools, c.Said
}

// told adds a word that has arrived.
func (l *legs) told(w run.Word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words = append(l.words, w)
}

// unheard returns the words that the leg has not heard.
func (l *legs) unheard() (words []run.Word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	heard := run.Answered(l.ears)
	for _, w := range l.words {
		if !slices.Contains(heard, w.ID) {
			words = append(words, w)
		}
	}
	return words
}

// heard notes what became of a word.
func (l *legs) heard(id, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(how, id)
}

// note appends to heard.ndjson. The caller holds mu.
func (l *legs) note(how string, ids ...string) {
	if len(ids) == 0 || l.lost != nil {
		return
	}
	calls := l.usage.Turns
	if l.spent != nil {
		calls += l.spent.Turns
	}
	var lines []run.Heard
	for _, id := range ids {
		lines = append(lines, run.Heard{ID: id, At: text.Timestamp(l.a.Now()), How: how, Leg: l.leg,
			Call: calls})
	}
	l.ears = append(l.ears, lines...)
	if l.log == nil {
		var err error
		l.log, err = run.OpenHeard(l.dir)
		l.fail(err)
	}
	if l.lost == nil {
		l.fail(l.log.Note(lines...))
	}
}

// checkpoint writes what was done so far.
func (l *legs) checkpoint() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.save()
}

// save is checkpoint with mu held.
func (l *legs) save() {
	l.since, l.saved = 0, l.a.Now()
	total := l.sumLocked(l.usage)
	if l.earlier != nil {
		total = l.earlier.Plus(total)
	}
	c := run.Checkpoint{
		At: text.Timestamp(l.saved), RunID: filepath.Base(l.dir), Leg: l.leg, SessionID: l.session,
		Turns: total.Turns, Usage: &total, Read: l.read, Tools: l.tools, Said: l.said,
		Heard: run.Answered(l.ears), Asked: l.asked,
	}
	l.fail(c.Save(l.dir))
}

// fail keeps the first error of a file of the run that could not be written.
func (l *legs) fail(err error) {
	if err != nil && l.lost == nil {
		l.lost = fmt.Errorf("%w: %w", agent.ErrNotKept, err)
	}
}

// see receives an event of a leg. Its usage becomes that of the run.
func (l *legs) see(e agent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.SessionID != "" {
		l.session = e.SessionID
	}
	if e.Usage != nil {
		l.usage = *e.Usage
		total := l.sumLocked(l.usage)
		e.Usage = &total
	}
	switch e.Kind {
	case agent.Thought:
		l.said = text.CutBytes(e.Text, maxSaid)
	case agent.Tool:
		l.used(e)
	case agent.Returned, agent.Failed:
		l.last = &e
		return
	}
	l.pass(e)
	if l.since >= everyTools || l.since > 0 && l.a.Now().Sub(l.saved) >= everyTime {
		l.save()
	}
}

// pass passes an event on. The caller holds mu, which serializes events.
func (l *legs) pass(e agent.Event) { l.task.See(e) }

// used records a tool call, and the file if it was read.
func (l *legs) used(e agent.Event) {
	l.since++
	l.tools = append(l.tools, run.ToolUse{Tool: text.CutBytes(e.Tool, 200), On: text.CutBytes(e.Text, 500)})
	l.tools = l.tools[max(0, len(l.tools)-maxTools):]
	for _, r := range l.stamps.readings(e) {
		l.read = slices.DeleteFunc(l.read, func(o run.Reading) bool {
			return o.Path == r.Path && o.Lines == r.Lines
		})
		l.read = append(l.read, r)
	}
	l.read = l.read[max(0, len(l.read)-maxRead):]
}

// finish passes the last event on, and notes the words that came too late. A run that is interrupted is
// asked for again.
func (l *legs) finish(err error, interrupted bool) {
	late := l.unheard()
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, w := range late {
		ids = append(ids, w.ID)
	}
	l.note(run.Late, ids...)
	if !interrupted {
		l.asked = nil
	}
	l.save()
	last := l.last
	if last == nil && err != nil {
		last = &agent.Event{Kind: agent.Failed, Text: text.CutBytes(err.Error(), 2<<10), SessionID: l.session}
	}
	if last != nil {
		l.pass(*last)
	}
}

// sum returns the usage of the ended legs and one more.
func (l *legs) sum(u draft.Usage) draft.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sumLocked(u)
}

func (l *legs) sumLocked(u draft.Usage) draft.Usage {
	if l.spent == nil {
		return u
	}
	return l.spent.Plus(u)
}

func (l *legs) close() error {
	var err error
	if l.log != nil {
		err = l.log.Close()
	}
	return errors.Join(err, l.stamps.close())
}
