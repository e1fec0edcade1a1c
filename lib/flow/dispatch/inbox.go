package dispatch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tri/lib/base/text"
	"tri/lib/judge/intent"
	"tri/lib/judge/relation"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/todo"
)

// want sets in the facts what a message of a person wants of an inbox. A remark in a thread, or beside
// what is only passed on, wants nothing.
func (r *rules) want(f *thread.Facts, e *event.Classified, second string, o Options) {
	if e.Sender.Type == "bot" || e.MsgType == "system" || f.Own || f.NeverMind || e.Deleted ||
		!o.Config.IsInbox(e.Platform, e.ChatID) {
		return
	}
	if f.Opens = !changes(e) && !e.IsAckOrEmoji && e.Classification != event.Actionable &&
		e.Root() == e.MessageID && relation.Opens(e.Content, r.named(e)); f.Opens {
		return
	}
	in := intent.Judge(messageOf(e)).Prefer(second)
	if in.Name == intent.Other && e.Classification != event.Actionable &&
		(e.Root() != e.MessageID || e.ForwardedFrom != "") {
		return
	}
	f.Want = thread.Want{
		Intent: in.Name, IntentScore: in.Score, IntentNext: in.Next, IntentMargin: in.Margin,
		IntentReasons: in.Reasons, AutonomyLevel: 2, Large: in.Large,
		Minutes: o.Config.Inbox.Minutes(in.Name),
	}
	if in.Name == intent.Reminder {
		said := o.Now()
		if at, err := time.Parse(time.RFC3339, e.CreateTime); err == nil && at.Before(said) {
			said = at
		}
		if at, ok := intent.When(e.Content, o.Config.Inbox.In(said)); ok {
			f.Due = text.Timestamp(at)
		}
	}
	team := slices.Concat(o.Config.Team.Members, o.Config.Team.Helpers, o.Config.Team.Approvers)
	switch {
	case len(o.Config.Team.Members) > 0 && !slices.Contains(team, e.Sender.ID):
		f.Ask = "This is of a guest. Shall it be done?"
	case in.Name == intent.CodeChange && in.Margin < *o.Config.Inbox.Margin:
		f.Ask = fmt.Sprintf("It may be a change of code, or %s. Shall the code be changed?", in.Next)
	case in.Name == intent.Reminder && f.Due == "":
		f.Ask = "When is it to be shown? (tomorrow 9:00, in 2 hours)"
	}
}

func messageOf(e *event.Classified) intent.Message {
	return intent.Message{Text: e.Content, Asks: e.IsQuestion,
		Elsewhere: len(e.Mentions) > 0 && !e.IsBotMention}
}

// alone reports whether a message is a request to an inbox that begins an item of its own, without
// the earlier messages of its turn: what one person wants in a row are different things there. A
// conversation that only tri-thread has found is then not its own.
func alone(e *event.Classified, f *thread.Facts) bool {
	if f.Intent == "" || f.Intent == intent.Other || e.ReplyToID != "" {
		return false
	}
	if e.ThreadInferred != "" {
		e.ThreadID, e.ThreadInferred = nil, ""
	}
	return true
}

// inbox does in place of a run what needs no agent, shows reminders when they are due, and takes a reaction
// of the asker to a clarifying question for a rejection, and notes one to an answer.
type inbox struct {
	quiet
	Options
	store *store
	list  todo.List
	acts  []todo.Line // of decisions, that the list may not have
	// read is how far actions.ndjson has been read, and no the reactions that decline and wait for a post.
	read int64
	no   []event.Action
	// posts are what was posted, by message.
	posts map[message]post
}

// post says of which item and cycle a post is, and which message is its first.
type post struct {
	key   string
	cycle int
	id    string
}

// maxWait is how long a reaction waits for the post that it is on to be known. Most are on no post.
const maxWait = time.Hour

func newInbox(d *Dispatcher) *inbox {
	return &inbox{Options: d.Options, store: d.store, posts: map[message]post{}}
}

// starting returns what is done instead of the run of an item of an inbox. It is repeated after a kill, with
// the same effect: an entry is named after the message, and a done names the run.
func (i *inbox) starting(j *job, t *thread.Thread) (*thread.Input, error) {
	if j.kind != run.Investigate || t.Intent == "" {
		return nil, nil
	}
	n := &thread.Noted{RunID: j.runID}
	line := todo.Line{At: text.Timestamp(i.Now()), By: t.Platform + ":" + t.OriginalSenderID,
		MessageID: t.OriginalMessageID}
	if l := len(t.Messages); l > 0 {
		line.MessageID = t.Messages[l-1].MessageID // of a further cycle: what began it, or its edit
	}
	line.ID = todo.ID(event.Key(t.Platform, t.ChatID, line.MessageID))
	switch {
	case t.Intent == intent.Todo:
		line.Text, n.Why = intent.Subject(t.Text()), "it is on the list"
		return i.add(n, line, t)
	case t.Intent == intent.Reminder:
		line.Text = t.Text()
		if line.Due = cmp.Or(i.dueOf(t), t.Due); line.Due == "" {
			n.Badge, n.Why = "nothing found", "no time was understood"
			return i.input(t, n), nil
		}
		n.Why = "it will be shown at " + line.Due
		return i.add(n, line, t)
	case t.Intent == intent.TodoComplete:
		return i.complete(n, line, t)
	case t.Intent == intent.TodoCheck:
		if err := i.list.Refresh(i.Home); err != nil {
			return nil, err
		}
		n.Draft, n.Badge, n.Why = i.shown(line.By), "your list",
			"the open entries of the asker"
	case t.Intent == thread.CodeChange && t.Large && t.ClarifyMessageID == "" && !t.Ordered:
		n.Draft, n.Clarify = cmp.Or(clarify[t.Lang], clarify["en"]), true
		n.Badge, n.Why = "asks the asker", "the change is large: the asker is asked first"
	default:
		return nil, nil
	}
	return i.input(t, n), nil
}

func (i *inbox) input(t *thread.Thread, n *thread.Noted) *thread.Input {
	return &thread.Input{At: text.Timestamp(i.Now()), Key: t.Key, Noted: n}
}

func (i *inbox) add(n *thread.Noted, line todo.Line, t *thread.Thread) (*thread.Input, error) {
	line.Kind, line.Key = todo.Add, t.Key
	if err := i.list.Append(i.Home, line); err != nil {
		return nil, err
	}
	return i.input(t, n), i.fault("todo")
}

func (i *inbox) complete(n *thread.Noted, line todo.Line, t *thread.Thread) (*thread.Input, error) {
	if err := i.list.Refresh(i.Home); err != nil {
		return nil, err
	}
	n.Why = "an entry is done"
	if i.list.Has(n.RunID) { // before a kill
		return i.input(t, n), nil
	}
	if i.list.Has(t.Key+" "+line.MessageID) || i.list.Has(line.By+" "+line.MessageID) {
		n.Badge, n.Why = "edited", "the message was carried out before its edit"
		return i.input(t, n), nil
	}
	e, ok := i.list.Meant(line.By, t.Text())
	if !ok {
		n.Badge, n.Why = "nothing found", "no open entry of the asker is meant"
		return i.input(t, n), nil
	}
	line.ID, line.Kind, line.Run, line.Key = e.ID, todo.Done, n.RunID, t.Key
	if err := i.list.Append(i.Home, line); err != nil {
		return nil, err
	}
	return i.input(t, n), i.fault("todo")
}

// dueOf returns the time that the operator's last words name, "" if they name none.
func (i *inbox) dueOf(t *thread.Thread) string {
	for _, n := range slices.Backward(t.Notes) {
		at, err := time.Parse(time.RFC3339, n.At)
		if due, ok := intent.When(n.Text, i.Config.Inbox.In(at)); err == nil && ok {
			return text.Timestamp(due)
		}
	}
	return ""
}

// maxShown is how many entries a list in a chat has at most.
const maxShown = 50

func (i *inbox) shown(by string) string {
	var b strings.Builder
	open := i.list.Open(by)
	for _, e := range open[:min(len(open), maxShown)] {
		fmt.Fprintf(&b, "%d. %s", i.list.Number(e), text.Line(e.Text, 120))
		if at, err := time.Parse(time.RFC3339, e.Due); err == nil {
			fmt.Fprintf(&b, " (%s UTC)", at.UTC().Format("2006-01-02 15:04"))
		}
		b.WriteByte('\n')
	}
	if more := len(open) - maxShown; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return cmp.Or(strings.TrimSpace(b.String()), "Your list is empty.")
}

// clarify is what the asker of a large change of code is asked, by language. An approver sees it first.
var clarify = map[string]string{
	"en": "This is a large change. What should it do, who uses it, and what should stay as it is?",
	"ja": "大きな変更になりそうです。何ができるようになればよいか、誰が使うか、変えてはいけない部分を教えてください。",
	"id": "Ini perubahan besar. Apa yang harus bisa dilakukan, siapa yang memakainya, dan apa yang tidak boleh berubah?",
	"zh": "这是一个较大的改动。它需要做到什么、谁来使用、哪些部分不能变？",
	"de": "Das ist eine große Änderung. Was soll sie können, wer benutzt sie, und was soll bleiben, wie es ist?",
	"es": "Es un cambio grande. ¿Qué debe hacer, quién lo usa y qué debe quedar como está?",
	"fr": "C'est un grand changement. Que doit-il faire, qui l'utilise, et que faut-il garder tel quel ?",
	"pt": "É uma mudança grande. O que deve fazer, quem usa e o que deve ficar como está?",
}

// recorded implements subscriber. What people have decided of their lists waits for the next tick.
func (i *inbox) recorded(r *decision.Record, counts bool) {
	if counts && r.Kind == decision.Todo {
		i.acts = append(i.acts, todo.Of(r))
	}
}

func (i *inbox) begun([]*thread.Thread) error { return i.carryOut() }

// carryOut writes what people have decided of their lists.
func (i *inbox) carryOut() error {
	if len(i.acts) == 0 {
		return nil
	}
	if err := i.list.Append(i.Home, i.acts...); err != nil {
		return err
	}
	i.acts = nil
	return i.fault("todo")
}

// tick carries out what people have decided, shows due reminders, and returns rejections.
func (i *inbox) tick(now time.Time) (ins []thread.Input, err error) {
	if err := errors.Join(i.carryOut(), i.remind(now)); err != nil {
		return nil, err
	}
	i.read, err = readLines(i.Home, "actions.ndjson", i.read, func(line []byte) error {
		var a event.Action
		if json.Unmarshal(line, &a) == nil && !a.Removed &&
			slices.Contains(declines, strings.TrimRight(a.Name, "\ufe0f")) {
			i.no = append(i.no, a)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	left := i.no[:0]
	for _, a := range i.no {
		in, wait, err := i.declined(&a)
		if err != nil {
			return nil, err
		}
		if at, _ := time.Parse(time.RFC3339, a.At); wait && now.Sub(at) < maxWait {
			left = append(left, a)
		}
		if in != nil {
			in.At = text.Timestamp(now)
			ins = append(ins, *in)
		}
	}
	i.no = left
	return ins, nil
}

// posted implements subscriber. A notice says nothing that could be wrong.
func (i *inbox) posted(r *outbox.Reply) {
	if r.ValidatorVerdict == outbox.Notice {
		return
	}
	for _, id := range append([]string{r.PostedMessageID}, r.PostedMessageIDs...) {
		i.posts[message{r.Platform, r.ChatID, id}] = post{r.Key, r.Cycle, r.PostedMessageID}
	}
}

// declined returns the input of a reaction that says no: of the asker, on a clarifying question
// that waits for an answer or on a posted answer. wait is true if the post is not known yet.
func (i *inbox) declined(a *event.Action) (in *thread.Input, wait bool, err error) {
	p, ok := i.posts[message{a.Platform, a.ChatID, a.MessageID}]
	if !ok {
		return i.withdrawn(a)
	}
	t, err := i.store.load(p.key)
	if err != nil || t.AppliedReply < p.cycle {
		return nil, true, err
	}
	no := &thread.Rejected{ID: a.ID, Emoji: a.Name}
	switch {
	case a.Sender.ID != t.OriginalSenderID, p.id == t.ClarifyMessageID && !t.AwaitsAsker():
		return nil, false, nil
	case p.id != t.ClarifyMessageID:
		no.Answer = p.id
	}
	return &thread.Input{Key: t.Key, Rejected: no}, false, nil
}

// withdrawn returns the input of a reaction that says no on the asker's own question: it withdraws that.
// What the message has put on the asker's list, or struck off it, is undone. wait is true if nothing is
// known of it.
func (i *inbox) withdrawn(a *event.Action) (in *thread.Input, wait bool, err error) {
	for _, t := range i.store.open {
		if t.Platform == a.Platform && t.ChatID == a.ChatID && t.OriginalMessageID == a.MessageID &&
			t.OriginalSenderID == a.Sender.ID {
			no := &thread.Rejected{ID: a.ID, Emoji: a.Name, Question: a.MessageID}
			return &thread.Input{Key: t.Key, Rejected: no}, false, nil
		}
	}
	if err := i.list.Refresh(i.Home); err != nil {
		return nil, false, err
	}
	key := event.Key(a.Platform, a.ChatID, a.MessageID)
	line := todo.Line{At: a.At, Kind: todo.Done, By: a.Platform + ":" + a.Sender.ID, Run: "reaction " + a.ID}
	e := i.list.Get(todo.ID(key))
	if e == nil {
		e, line.Kind = i.list.Struck(key+" "+a.MessageID), todo.Undone
	}
	if e == nil || e.By != line.By || i.list.Has(line.Run) {
		return nil, e == nil, nil
	}
	line.ID = e.ID
	return nil, false, i.list.Append(i.Home, line)
}

// declines are the reactions that say no.
var declines = []string{"👎", "❌"}

// remind shows the reminders whose time has come as cards in the operators' channel, each once.
func (i *inbox) remind(now time.Time) error {
	if err := i.list.Refresh(i.Home); err != nil || i.Shadow || i.Config.Gate.Chat.ChatID == "" {
		return err
	}
	for _, e := range i.list.Due(now) {
		// A card of a known name is not shown again: a kill between the two appends doubles nothing.
		err := notify.Ask(i.Home, notify.Signal{
			ID: e.Signal(), At: text.Timestamp(now), Kind: notify.Card, By: "tri-dispatch",
			Platform: i.Config.Gate.Chat.Platform, ChatID: i.Config.Gate.Chat.ChatID,
			Title: "Reminder for " + e.By, Text: text.Cut(e.Text, maxCardQuestion),
		})
		if err == nil {
			err = i.fault("reminded")
		}
		if err == nil {
			err = i.list.Append(i.Home, todo.Line{ID: e.ID, At: text.Timestamp(now), Kind: todo.Told,
				By: "tri-dispatch"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
