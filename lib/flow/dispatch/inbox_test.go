package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/notify"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
	"tri/lib/record/todo"
)

// newInboxBench is a bench whose chat is an inbox, with a channel of operators.
func newInboxBench(t *testing.T) *bench {
	b := newBench(t)
	b.cfg.WatchedChats = []config.Chat{{Platform: "local", ChatID: "dev", Inbox: true}}
	b.cfg.Gate.Chat = config.GateChat{Platform: "local", ChatID: "ops"}
	b.cfg.Inbox.Zone, b.cfg.Turn.HoldS = "UTC", new(0.0)
	return b
}

// todos are the kinds of the lines of todos.ndjson with the numbers of their decisions.
func (b *bench) todos() string {
	b.t.Helper()
	var all []string
	if _, err := readLines(b.home, todo.Name, 0, func(line []byte) error {
		var l todo.Line
		all = append(all, "")
		err := json.Unmarshal(line, &l)
		all[len(all)-1] = strings.TrimSuffix(fmt.Sprint(l.Kind, l.N), "0")
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestInbox: what each message of an inbox becomes, and how many runs it takes.
func TestInbox(t *testing.T) {
	b := newInboxBench(t)
	b.cfg.Team.Members = []string{"ana"}
	for i, tt := range []struct {
		who, said string
		intent    string
		runs      int64
		rests     string // the reason of the close, or what an operator is asked, or the badge
	}{
		{"ana", "add milk to my list", "todo", 0, "noted: it is on the list"},
		{"ana", "remind me tomorrow at 9:00 to call the bank", "reminder", 0, "noted: it will be shown at "},
		{"ana", "remind me to call the bank", "reminder", 0, "When is it to be shown?"},
		{"ana", "what is on my list?", "todo_check", 0, "your list"},
		{"ana", "check off milk", "todo_complete", 0, "noted: an entry is done"},
		{"ana", "check off the zeppelin", "todo_complete", 0, "nothing found"},
		{"ana", "how many rows may a report have?", "question", 1, "quotes checked"},
		{"ana", "rename maxRows to rowLimit in export.go", "code_change", 1, "patch ready"},
		{"ana", "build a new feature for exporting reports as pdf", "code_change", 0, "asks the asker"},
		{"eve", "add eggs to my list", "todo", 0, "This is of a guest."},
	} {
		id := fmt.Sprint(i + 1)
		before := b.runs.Load()
		b.add(id, tt.who, "", event.Ambient, tt.said)
		b.run()
		th := b.thread(id)
		rests := th.CloseReason + th.Asked + th.Badge
		if th.Intent != tt.intent || b.runs.Load()-before != tt.runs || !strings.Contains(rests, tt.rests) ||
			th.AutonomyLevel != 2 {
			t.Errorf("%s: %q, %d runs, %q; want %q, %d, %q", tt.said, th.Intent, b.runs.Load()-before, rests,
				tt.intent, tt.runs, tt.rests)
		}
	}
	if got := b.todos(); got != "add add done" {
		t.Errorf("todos: %s", got)
	}
	if th := b.thread("4"); th.DraftPending == nil || !strings.Contains(*th.DraftPending, "1. milk\n2. ") {
		t.Errorf("the list shown: %v", th.DraftPending)
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
		t.Errorf("rebuild: %+v, %v", done, err)
	}
}

// TestNoInbox: elsewhere the same words open nothing, and a change of code below the margin is put to an
// operator.
func TestNoInbox(t *testing.T) {
	b := newInboxBench(t)
	b.cfg.WatchedChats[0].ChatID = "other"
	b.add("1", "ana", "", event.Ambient, "add milk to my list")
	b.run()
	if th := b.thread("1"); th.Key != "" || b.todos() != "" {
		t.Errorf("%s, %q", th.Key, b.todos())
	}
	b.cfg.WatchedChats[0].ChatID, *b.cfg.Inbox.Margin = "dev", 1000
	b.add("3", "ben", "", event.Ambient, "good morning")
	b.system = true
	b.add("4", "ben", "", event.Ambient, "ben joined the channel.")
	b.add("2", "ana", "", event.Ambient, "rename maxRows to rowLimit in export.go")
	b.run()
	if b.thread("3").Key != "" {
		t.Error("a greeting is a request")
	}
	if b.thread("4").Key != "" {
		t.Error("what the platform says is a request")
	}
	if th := b.thread("2"); !strings.Contains(th.Asked, "Shall the code be changed?") || b.runs.Load() != 0 {
		t.Errorf("%q, %d runs", th.Asked, b.runs.Load())
	}
}

// TestOneTurn: what one person wants in a row are different items.
func TestOneTurn(t *testing.T) {
	b := newInboxBench(t)
	b.add("1", "ana", "", event.Ambient, "add milk to my list")
	b.add("2", "ana", "~1", event.Ambient, "add eggs to my list")
	b.run()
	if got := b.todos(); got != "add add" || !b.thread("1").IsNoted() || !b.thread("2").IsNoted() {
		t.Errorf("todos: %s", got)
	}
}

// TestInboxKilled: a dispatcher that is killed behind each durable step of an inbox loses and doubles
// nothing.
func TestInboxKilled(t *testing.T) {
	killed := errors.New("killed")
	for _, at := range []string{"todo", "reminded", "offer"} {
		b := newInboxBench(t)
		o, deaths := b.options(), 0
		now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		o.Now = func() time.Time { return now }
		o.fault = func(where string) error {
			if where == at && deaths < 3 {
				deaths++
				return killed
			}
			return nil
		}
		live := func() {
			for range 5 {
				err := Run(t.Context(), o)
				if err == nil {
					err = b.second(o) // shows what is due
				}
				if err != nil && !errors.Is(err, killed) {
					t.Fatal(at, err)
				}
			}
		}
		b.add("1", "ana", "", event.Ambient, "add milk to my list")
		b.add("2", "ana", "", event.Ambient, "remind me in 2 hours to call the bank")
		b.add("3", "ana", "", event.Ambient, "build a new feature for exporting reports as pdf")
		live()
		b.add("4", "ana", "", event.Ambient, "add bread to my list")
		live()
		deaths = 0
		b.add("5", "ana", "", event.Ambient, "check off task 1") // then bread is task 1
		live()
		b.act("add", "t-000000000001", "eggs")
		now, deaths = now.Add(3*time.Hour), 0
		live()
		cards := map[string]int{}
		if _, err := notify.Asked(b.home, 0, func(s notify.Signal) error {
			if s.Kind == notify.Card && strings.HasPrefix(s.ID, "due-") {
				cards[s.ID]++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := b.todos(); len(strings.Fields(got)) != 6 || strings.Count(got, "told") != 1 ||
			strings.Count(got, "done") != 1 || len(cards) != 1 {
			t.Errorf("killed at %s: todos %q, cards %v", at, got, cards)
		}
		if th := b.thread("5"); th.Status != thread.Closed {
			t.Errorf("killed at %s: the done is %s: %s", at, th.Status, th.Badge)
		}
		if n, _ := b.offers("3"); n != 1 {
			t.Errorf("killed at %s: %d offers", at, n)
		}
	}
}

// act appends a decision on an entry of a list.
func (b *bench) act(act, id, text string) {
	b.t.Helper()
	b.actBy("boss", act, id, text)
}

func (b *bench) actBy(by, act, id, text string) {
	b.t.Helper()
	if _, err := decision.Append(b.home, decision.Record{Kind: decision.Todo, By: by, Via: "terminal", Cycle: 1,
		Key: decision.TodoKey(id), Outcome: act, Note: text}); err != nil {
		b.t.Fatal(err)
	}
}

// TestTodoDecisions: what approvers decide of the lists is carried out once, by the dispatcher.
func TestTodoDecisions(t *testing.T) {
	b := newInboxBench(t)
	const id = "t-0123456789ab"
	b.act("add", id, "milk")                      // 1
	b.actBy("eve", "add", "t-ffffffffffff", "no") // 2
	b.act("done", id, "")                         // 3
	b.run()
	b.act("undone", id, "")             // 4
	b.act("done", "t-ffffffffffff", "") // 5: of an entry that is not there
	b.run()
	b.run()
	if got := b.todos(); got != "add1 done3 undone4 done5" {
		t.Errorf("todos: %s", got)
	}
	l, err := todo.Read(b.home)
	if err != nil || len(l.Open("boss")) != 1 || l.Open("")[0].Text != "milk" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestListEdited: an edit changes the entry that the message added, and completes no second one.
func TestListEdited(t *testing.T) {
	b := newInboxBench(t)
	b.add("1", "ana", "", event.Ambient, "add milk to my list")
	b.add("2", "ana", "", event.Ambient, "add bread to my list")
	b.add("3", "ana", "", event.Ambient, "check off task 1")
	b.run()
	b.edit("1", "ana", "add oat milk to my list")
	b.edit("3", "ana", "check off task 2")
	b.run()
	l, err := todo.Read(b.home)
	if err != nil || len(l.Entries) != 2 || l.Entries[0].Text != "oat milk" || l.Entries[0].DoneAt == "" ||
		l.Entries[1].DoneAt != "" {
		t.Errorf("%+v, %v", l, err)
	}
	if th := b.thread("3"); th.Status != thread.PendingUser || th.Badge != "edited" {
		t.Errorf("%s %s", th.Status, th.Badge)
	}
}

// TestSameMessageID: a message of the same id in another chat, is carried out too; an edit of
// one that an earlier version carried out is not.
func TestSameMessageID(t *testing.T) {
	b := newInboxBench(t)
	b.cfg.WatchedChats = append(b.cfg.WatchedChats, config.Chat{Platform: "local", ChatID: "two", Inbox: true})
	b.add("1", "ana", "", event.Ambient, "add milk to my list")
	b.add("2", "ana", "", event.Ambient, "add bread to my list")
	b.add("50", "ana", "", event.Ambient, "check off milk")
	b.chat = "two"
	b.add("1", "ana", "", event.Ambient, "add rice to my list")
	b.run()
	b.add("50", "ana", "", event.Ambient, "check off rice")
	b.run()
	l, err := todo.Read(b.home)
	if err != nil || len(l.Open("")) != 1 || l.Open("")[0].Text != "bread" {
		t.Fatalf("%+v, %v", l.Open(""), err)
	}
	old := todo.Line{ID: l.Entries[0].ID, Kind: todo.Undone}
	if err := l.Append(b.home, old, todo.Line{ID: old.ID, Kind: todo.Done, By: "local:ana",
		MessageID: "3"}); err != nil {
		t.Fatal(err)
	}
	b.add("3", "ana", "", event.Ambient, "check off bread")
	b.run()
	if th := b.thread("3"); th.Badge != "edited" {
		t.Errorf("%s %s", th.Status, th.Badge)
	}
}

// TestSaidThen: a time that a reminder names counts from when it was written.
func TestSaidThen(t *testing.T) {
	b := newInboxBench(t)
	b.add("1", "ana", "", event.Ambient, "remind me in 2 hours to call the bank") // at 10:00
	b.run()
	l, err := todo.Read(b.home)
	if err != nil || len(l.Entries) != 1 || l.Entries[0].Due != "2026-11-21T12:00:00Z" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestDeclined: a reaction of the asker to the clarifying question ends the item; another's does not.
func TestDeclined(t *testing.T) {
	b := newInboxBench(t)
	b.add("1", "ana", "", event.Ambient, "build a new feature for exporting reports as pdf")
	b.run()
	th := b.thread("1")
	line, err := json.Marshal(outbox.Reply{Key: th.Key, Cycle: 1, DraftSHA256: th.DraftSHA256, Platform: "local",
		ChatID: "dev", Outcome: outbox.Posted, PostedMessageID: "77", PostedMessageIDs: []string{"77"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.home.Path("replies.ndjson"), append(line, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run()
	for _, tt := range []struct {
		who, emoji string
		removed    bool
		on, want   string
	}{
		{"eve", "👎", false, "77", thread.PendingUser}, {"ana", "👍", false, "77", thread.PendingUser},
		{"ana", "👎", true, "77", thread.PendingUser}, {"ana", "👎", false, "78", thread.PendingUser},
		{"ana", "👎", false, "77", thread.Closed},
	} {
		a := event.Action{ID: tt.who + tt.emoji + tt.on, Platform: "local", ChatID: "dev", MessageID: tt.on,
			Name: tt.emoji, Removed: tt.removed, Sender: event.Sender{ID: tt.who, Type: "user"}}
		others := slices.Repeat([]event.Action{{ID: "other", Platform: "local", ChatID: "dev", MessageID: "x",
			At: time.Now().Format(time.RFC3339), Name: "👎"}}, 1000)
		b.react(append([]event.Action{a}, others...)...)
		b.tick()
		if th := b.thread("1"); th.Status != tt.want {
			t.Errorf("%+v: %s %s", tt, th.Status, th.CloseReason)
		}
	}
}

// TestOwnReaction: a reaction of the asker that says no to their own question withdraws it; one of another
// person, or its removal, does not. It undoes what the message did to a list.
func TestOwnReaction(t *testing.T) {
	for _, tt := range []struct {
		who, emoji string
		removed    bool
		want       string
	}{
		{"eve", "❌", false, thread.PendingUser}, {"ana", "👀", false, thread.PendingUser},
		{"ana", "❌", true, thread.PendingUser}, {"ana", "❌", false, thread.Closed},
		{"ana", "👎", false, thread.Closed},
	} {
		b := newInboxBench(t)
		b.add("1", "ana", "", event.Actionable, "why?")
		b.run()
		b.react(event.Action{ID: "r", Platform: "local", ChatID: "dev", MessageID: "1", Name: tt.emoji,
			Removed: tt.removed, Sender: event.Sender{ID: tt.who, Type: "user"}})
		b.tick()
		if th := b.thread("1"); th.Status != tt.want || th.Withdrawn() != (tt.want == thread.Closed) {
			t.Errorf("%+v: %s %q", tt, th.Status, th.CloseReason)
		}
	}
	b := newInboxBench(t)
	b.add("1", "ana", "", event.Ambient, "add milk to my list")
	b.add("2", "ana", "", event.Ambient, "add eggs to my list")
	b.add("3", "ana", "", event.Ambient, "check off milk")
	b.run()
	no := func(on, who string) event.Action {
		return event.Action{ID: on + who, Platform: "local", ChatID: "dev", MessageID: on, Name: "❌",
			At: "2026-11-21T10:00:00Z", Sender: event.Sender{ID: who, Type: "user"}}
	}
	b.react(no("2", "eve"), no("3", "eve"))
	if b.tick(); b.todos() != "add add done" {
		t.Errorf("of another person: %s", b.todos())
	}
	b.react(no("2", "ana"), no("3", "ana"))
	for range 2 { // the second process reads them again
		if b.tick(); b.todos() != "add add done done undone" {
			t.Errorf("%s", b.todos())
		}
	}
	b.add("4", "ana", "", event.Ambient, "check off milk")
	b.run()
	if b.tick(); b.todos() != "add add done done undone done" {
		t.Errorf("what was done since is undone: %s", b.todos())
	}
}

// TestDeclinesWait: a reaction waits an hour for its post to be known.
func TestDeclinesWait(t *testing.T) {
	b := newInboxBench(t)
	now := time.Now()
	b.react(event.Action{ID: "1", Name: "👎", At: now.Add(-59 * time.Minute).Format(time.RFC3339)},
		event.Action{ID: "2", Name: "👎", At: now.Add(-61 * time.Minute).Format(time.RFC3339)})
	i := newInbox(&Dispatcher{Options: b.options(), store: &store{}})
	for _, want := range []int{1, 0} {
		if _, err := i.tick(now); err != nil || len(i.no) != want {
			t.Errorf("%+v %v, want %d", i.no, err, want)
		}
		now = now.Add(2 * time.Minute)
	}
}

// react appends what people did to messages.
func (b *bench) react(all ...event.Action) {
	b.t.Helper()
	var lines []byte
	for _, a := range all {
		line, err := json.Marshal(a)
		if err != nil {
			b.t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	log, err := b.home.OpenLog("actions.ndjson")
	if err != nil {
		b.t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(func(int64) ([]byte, error) { return lines, nil }); err != nil {
		b.t.Fatal(err)
	}
}

// TestForwarded: what a person forwards is not a request, and withdraws nothing; the words behind it have it
// as their beginning.
func TestForwarded(t *testing.T) {
	b := newInboxBench(t)
	for i, said := range []string{"add milk to my list", "where is it set?", "build a new feature for exports"} {
		b.forward = true
		b.add(fmt.Sprint(i+1), "ana", "", event.Ambient, said)
	}
	b.run()
	if names, _ := b.home.List("open"); len(names) > 0 || b.todos() != "" || b.runs.Load() > 0 {
		t.Errorf("open %v, todos %q, %d runs", names, b.todos(), b.runs.Load())
	}
	b.add("4", "ana", "", event.Actionable, "why does it fail?")
	b.forward = true
	b.add("5", "ana", "4", event.Ambient, "never mind")
	b.run()
	if th := b.thread("4"); th.Status != thread.PendingUser {
		t.Errorf("a forwarded withdrawal: %s %s", th.Status, th.CloseReason)
	}
}

// TestMinutes: a run ends at the time of its intent.
func TestMinutes(t *testing.T) {
	b := newInboxBench(t)
	b.cfg.Inbox.Intents = map[string]config.InboxIntent{"question": {Minutes: 0.001}}
	b.add("1", "ana", "", event.Actionable, "how long is forever?")
	b.run()
	if th := b.thread("1"); th.Intent != "question" || !strings.Contains(th.InvestigatorError, "longer than") {
		t.Errorf("%s: %s %s", th.Intent, th.Badge, th.InvestigatorError)
	}
	for intent, want := range map[string]float64{"question": 0.001, "research": 15, "organize": 15,
		"code_change": 60, "reminder": 1, "todo": 1, "other": 5} {
		if got := b.cfg.Inbox.Minutes(intent); got != want {
			t.Errorf("%s: %g minutes, want %g", intent, got, want)
		}
	}
}
