package reply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/notice"
	"tri/lib/record/notify"
	"tri/lib/record/todo"
)

// board is a platform with cards and reactions.
type board struct {
	*platform
	did  []string
	room string  // of the last card
	fail []error // of the next calls
}

func (b *board) call(format string, args ...any) error {
	b.did = append(b.did, fmt.Sprintf(format, args...))
	if len(b.fail) == 0 {
		return nil
	}
	err := b.fail[0]
	b.fail = b.fail[1:]
	return err
}

func (b *board) React(_ context.Context, chatID, messageID, emoji string, on bool) error {
	return b.call("react %s %s %s %v", chatID, messageID, emoji, on)
}
func (b *board) Typing(context.Context, string, string) error { return chat.ErrUnsupported }
func (b *board) Edit(_ context.Context, chatID, id, text string) error {
	return b.call("edit %s %s %q", chatID, id, text)
}
func (b *board) PostCard(_ context.Context, c chat.Card) (chat.Posted, error) {
	b.room = c.ChatID
	if err := b.call("deal %s %q %d", c.Key, c.Text, len(c.Buttons)); err != nil {
		return chat.Posted{}, err
	}
	return chat.Posted{MessageID: "m-" + c.Key}, nil
}
func (b *board) UpdateCard(_ context.Context, id string, c chat.Card) error {
	return b.call("redeal %s %q %d", id, c.Text, len(c.Buttons))
}

func (w *world) show(b *board, signals ...notify.Signal) map[string]notify.Done {
	w.t.Helper()
	for i := range signals {
		if signals[i].At == "" {
			signals[i].At = text.Timestamp(start)
		}
		signals[i].Platform, signals[i].ChatID = "fake", "ops"
	}
	if err := notify.Ask(w.home, signals...); err != nil {
		w.t.Fatal(err)
	}
	o := w.options(nil)
	o.Sinks["fake"] = b
	o.Allowed = func(s *notify.Signal) error {
		if s.Emoji == "🖕" {
			return errors.New("not that one")
		}
		return nil
	}
	s, err := newSignaler(&o)
	if err != nil {
		w.t.Fatal(err)
	}
	s.wait = func(context.Context, time.Duration) error { return nil }
	if err := s.all(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return s.done
}

var yes = []notify.Button{{Name: "approve", Label: "Approve", Value: "x"}}

func TestSignals(t *testing.T) {
	w, b := newWorld(t), &board{}
	done := w.show(b,
		notify.Signal{ID: "c1", Kind: notify.Card, Text: "draft", Buttons: yes},
		notify.Signal{ID: "r1", Kind: notify.React, MessageID: "7", Emoji: "👀", On: true},
		notify.Signal{ID: "r2", Kind: notify.React, MessageID: "7", Emoji: "🖕", On: true},
		notify.Signal{ID: "r3", Kind: notify.React, MessageID: "7", Emoji: "👀", On: true,
			At: text.Timestamp(start.Add(-2 * time.Hour))},
		notify.Signal{ID: "r1", Kind: notify.React, MessageID: "8", Emoji: "👀", On: true},
	)
	want := []string{`deal c1 "draft" 1`, "react ops 7 👀 true"}
	if !slices.Equal(b.did, want) {
		t.Errorf("did %q, want %q", b.did, want)
	}
	for id, outcome := range map[string]string{"c1": notify.Shown, "r1": notify.Shown, "r2": notify.Refused,
		"r3": notify.Late} {
		if done[id].Outcome != outcome {
			t.Errorf("%s: %+v, want %s", id, done[id], outcome)
		}
	}
	// A later process knows what was done, and in which message the card is.
	b.did = nil
	w.show(b, notify.Signal{ID: "c2", Kind: notify.Recard, Card: "c1", Text: "approved"})
	if want := []string{`redeal m-c1 "approved" 0`}; !slices.Equal(b.did, want) {
		t.Errorf("did %q, want %q", b.did, want)
	}
}

// stopped is a board on which the program is told to stop while a card is being posted.
type stopped struct {
	*board
	stop context.CancelFunc
}

func (s *stopped) PostCard(ctx context.Context, c chat.Card) (chat.Posted, error) {
	posted, err := s.board.PostCard(ctx, c)
	s.stop()
	if ctx.Err() != nil { // the answer is lost, as it is of an HTTP client
		return chat.Posted{}, ctx.Err()
	}
	return posted, err
}

// TestCardOfAStop: a card that was being posted when the program was told to stop is not posted again.
func TestCardOfAStop(t *testing.T) {
	w, b := newWorld(t), &board{}
	err := notify.Ask(w.home, notify.Signal{ID: "c1", Kind: notify.Card, At: text.Timestamp(start),
		Text: "draft", Platform: "fake", ChatID: "ops"})
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		o := w.options(nil)
		o.Sinks["fake"], o.Allowed = &stopped{b, cancel}, func(*notify.Signal) error { return nil }
		s, bad := newSignaler(&o)
		if err = errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
		if err := s.all(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	if len(b.did) != 1 {
		t.Errorf("posted %d times: %q", len(b.did), b.did)
	}
}

func TestCardsThatCameTooLate(t *testing.T) {
	w, b := newWorld(t), &board{}
	done := w.show(b,
		notify.Signal{ID: "c1", Kind: notify.Card, Text: "draft", Buttons: yes},
		notify.Signal{ID: "c2", Kind: notify.Recard, Card: "c1", Text: "votes", Buttons: yes},
		notify.Signal{ID: "c3", Kind: notify.Recard, Card: "c1", Text: "approved elsewhere"})
	if len(b.did) != 0 || done["c1"].Outcome != notify.Late || done["c3"].Outcome != notify.Unsupported {
		t.Errorf("did %q, %+v", b.did, done)
	}
}

// TestOneCardForADraft: two programs may request a card of the same draft at the same time. The second is
// shown in the message of the first.
func TestOneCardForADraft(t *testing.T) {
	of := func(id, text string, buttons []notify.Button) notify.Signal {
		return notify.Signal{ID: id, Kind: notify.Card, Text: text, Buttons: buttons, Key: "local.dev.1",
			Cycle: 1, DraftSHA256: strings.Repeat("a", 64)}
	}
	draft, auto := of("card-1", "draft", yes), of("auto-1", "automatic", nil)
	other := of("card-2", "another draft", yes)
	other.Cycle = 2
	for _, tt := range []struct {
		name    string
		asked   []notify.Signal
		want    []string
		outcome string // of the last
		fail    []error
		on      string
	}{
		{"the draft's first", []notify.Signal{draft, auto},
			[]string{`deal card-1 "draft" 1`, `redeal m-card-1 "automatic" 0`}, notify.Shown,
			nil, "m-card-1"},
		{"the automatic first", []notify.Signal{auto, draft},
			[]string{`deal auto-1 "automatic" 0`, `redeal m-auto-1 "draft" 1`}, notify.Shown,
			nil, "m-auto-1"},
		{"three", []notify.Signal{draft, auto, of("card-1-t2", "draft", yes)},
			[]string{`deal card-1 "draft" 1`, `redeal m-card-1 "automatic" 0`, `redeal m-card-1 "draft" 1`},
			notify.Shown, nil, "m-card-1"},
		{"another draft has its own", []notify.Signal{draft, other},
			[]string{`deal card-1 "draft" 1`, `deal card-2 "another draft" 1`}, notify.Shown,
			nil, "m-card-2"},
		{"the first was refused", []notify.Signal{draft, auto},
			[]string{`deal card-1 "draft" 1`, `deal auto-1 "automatic" 0`}, notify.Shown,
			[]error{chat.ErrRefused}, "m-auto-1"},
		{"the line is lost in between", []notify.Signal{draft, auto},
			[]string{`deal card-1 "draft" 1`, `redeal m-card-1 "automatic" 0`,
				`redeal m-card-1 "automatic" 0`}, notify.Shown, []error{nil, errors.New("lost")}, "m-card-1"},
		{"the first was taken away", []notify.Signal{draft, auto},
			[]string{`deal card-1 "draft" 1`, `redeal m-card-1 "automatic" 0`, `deal auto-1 "automatic" 0`},
			notify.Shown, []error{nil, chat.ErrRefused}, "m-auto-1"},
	} {
		for _, restart := range []bool{false, true} { // a later life knows it too
			w, b := newWorld(t), &board{fail: tt.fail}
			var done map[string]notify.Done
			if !restart {
				done = w.show(b, tt.asked...)
			}
			for i := range tt.asked {
				if restart {
					done = w.show(b, tt.asked[i])
				}
			}
			last := done[tt.asked[len(tt.asked)-1].ID]
			if !slices.Equal(b.did, tt.want) || last.Outcome != tt.outcome || last.MessageID != tt.on {
				t.Errorf("%s, restart %v: did %q, want %q; %+v", tt.name, restart, b.did, tt.want, last)
			}
		}
	}
}

func TestSignalsThatFail(t *testing.T) {
	lost := errors.New("connection lost")
	for _, tt := range []struct {
		name    string
		kind    string
		fail    []error
		calls   int
		outcome string
	}{
		{"reaction again", notify.React, []error{lost}, 2, notify.Shown},
		{"reaction in vain", notify.React, []error{lost, lost, lost}, 3, notify.Failed},
		{"a card that may stand there", notify.Card, []error{lost}, 1, notify.Failed},
		{"refused", notify.Card, []error{fmt.Errorf("no: %w", chat.ErrRefused)}, 1, notify.Refused},
		{"unsupported", notify.React, []error{chat.ErrUnsupported}, 1, notify.Unsupported},
	} {
		w, b := newWorld(t), &board{fail: tt.fail}
		done := w.show(b, notify.Signal{ID: "s", Kind: tt.kind, Emoji: "👀"})
		if len(b.did) != tt.calls || done["s"].Outcome != tt.outcome {
			t.Errorf("%s: %d calls, %+v", tt.name, len(b.did), done["s"])
		}
	}
}

// TestCardInAnOutage: a card that was provably not posted is tried until it is, and delays nothing else; what
// replaces it waits for it, and one that is decided meanwhile is not posted.
func TestCardInAnOutage(t *testing.T) {
	for _, decided := range []bool{false, true} {
		w, b := newWorld(t), &board{}
		for range 20 {
			b.fail = append(b.fail, &chat.RetryError{After: time.Second, Err: errors.New("no route")})
		}
		o := w.options(nil)
		o.Sinks["fake"], o.Allowed = b, func(*notify.Signal) error { return nil }
		s, err := newSignaler(&o)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(sg notify.Signal) {
			sg.Platform, sg.ChatID, sg.At = "fake", "ops", text.Timestamp(w.now)
			if err := notify.Ask(w.home, sg); err != nil {
				t.Fatal(err)
			}
		}
		ask(notify.Signal{ID: "c1", Kind: notify.Card, Text: "draft", Buttons: yes})
		for tries := 1; tries <= 20; tries++ {
			if err := s.all(t.Context()); err != nil || len(b.did) != tries || len(s.done) != 0 {
				t.Fatalf("try %d: did %q, %+v, %v", tries, b.did, s.done, err)
			}
			if err := s.all(t.Context()); err != nil || len(b.did) != tries {
				t.Fatalf("try %d again at once: %q, %v", tries, b.did, err)
			}
			w.now = w.now.Add(longestWait)
		}
		again := notify.Signal{ID: "c1-r-1", Kind: notify.Recard, Card: "c1", Text: "more", Buttons: yes}
		want := []string{`deal c1 "draft" 1`, `redeal m-c1 "more" 1`}
		if decided {
			again.Text, again.Buttons, want = "dismissed", nil, nil
		}
		ask(again)
		b.did = nil
		if err := s.all(t.Context()); err != nil || !slices.Equal(b.did, want) || len(s.done) != 2 ||
			len(s.held) > 0 {
			t.Errorf("decided %v: did %q, %+v, %v", decided, b.did, s.done, err)
		}
	}
}

// TestRefusedReminder: a reminder whose card the platform refuses is missed.
func TestRefusedReminder(t *testing.T) {
	w := newWorld(t)
	l := &todo.List{}
	if err := l.Append(w.home, todo.Line{ID: "t-1", At: text.Timestamp(start), Kind: todo.Add, By: "ana",
		Text: "call", Due: text.Timestamp(start)}, todo.Line{ID: "t-1", Kind: todo.Told}); err != nil {
		t.Fatal(err)
	}
	w.show(&board{fail: []error{fmt.Errorf("not a member: %w", chat.ErrRefused)}},
		notify.Signal{ID: (&todo.Entry{Line: todo.Line{ID: "t-1"}}).Signal(), Kind: notify.Card, Text: "call"})
	missed, err := l.Missed(w.home, start.Add(time.Hour))
	if err != nil || !strings.Contains(missed["t-1"], "not a member") {
		t.Errorf("%q %v", missed, err)
	}
}

// A platform without signals, and a configuration that says nothing, show nothing
// and hold nothing up.
func TestNoSignals(t *testing.T) {
	w := newWorld(t)
	if err := notify.Ask(w.home, notify.Signal{ID: "s", At: text.Timestamp(start), Kind: notify.React,
		Platform: "fake", ChatID: "ops", Emoji: "👀"}); err != nil {
		t.Fatal(err)
	}
	w.run()
	got := ""
	if _, err := notify.Told(w.home, 0, func(d notify.Done) error {
		got += d.Outcome + d.Why
		return nil
	}); err != nil || !strings.HasPrefix(got, notify.Refused) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestNoticeEdited: a posted notice is edited to what its approved form gives, and to nothing else.
func TestNoticeEdited(t *testing.T) {
	running, done := notice.Holes{State: "running", Minutes: 3, Files: 2}, notice.Holes{State: "done", Minutes: 4}
	key := decision.NoticeKey("local.dev.1", notice.Working, "1")
	for _, tt := range []struct {
		name    string
		retract bool
		age     time.Duration
		signals []notify.Signal
		want    string // what was done
		outcome string // of the last
	}{
		{"in place", false, 0, []notify.Signal{{Holes: &running}},
			`[edit dev m1 "running, 3 min"]`, notify.Shown},
		{"the latest", false, 0, []notify.Signal{{Holes: &running}, {Holes: &done}},
			`[edit dev m1 "done, 4 min"]`, notify.Shown},
		{"what may be over", false, time.Hour, []notify.Signal{{Holes: &running}}, "[]", notify.Late},
		{"an end", false, time.Hour, []notify.Signal{{Holes: &done}}, `[edit dev m1 "done, 4 min"]`, notify.Shown},
		{"a form taken back", true, 0, []notify.Signal{{Holes: &done}}, "[]", notify.Refused},
		{"a word of no form", false, 0, []notify.Signal{{Holes: &notice.Holes{State: "buy now"}}}, "[]",
			notify.Refused},
		{"nothing", false, 0, []notify.Signal{{}}, "[]", notify.Refused},
		{"an answer", false, 0, []notify.Signal{{Key: "local.dev.1", Holes: &done}}, "[]", notify.Refused},
	} {
		w := newWorld(t)
		w.approvers = []string{"ana"}
		form := decision.Record{Kind: decision.Notice, By: "ana", Via: "terminal", Form: notice.Working,
			Key: decision.FormKey(notice.Working), Text: "{state}, {minutes} min",
			DraftSHA256: decision.Sum("{state}, {minutes} min")}
		w.append(form)
		first := notice.Holes{State: "running", Minutes: 1}
		w.append(decision.Record{Kind: decision.Notify, By: decision.Dispatcher, Via: "code", Key: key, Cycle: 1,
			Of: "local.dev.1", Form: notice.Working, Holes: &first, Text: "running, 1 min",
			DraftSHA256: decision.Sum("running, 1 min"), Target: &decision.Target{Platform: "fake", ChatID: "dev",
				ThreadID: "1", ReplyToID: "1", QuestionSHA256: decision.Sum(question)}})
		w.run()
		if len(w.chat.stands) != 1 || w.chat.stands[0].Text != "running, 1 min" {
			t.Fatalf("%s: posted: %v", tt.name, w.chat.stands)
		}
		if tt.retract {
			form.Kind, form.Text, form.DraftSHA256 = decision.Retract, "", decision.Sum("")
			w.append(form)
		}
		b := &board{platform: w.chat}
		for i := range tt.signals {
			s := &tt.signals[i]
			s.ID, s.Kind, s.By, s.Key = fmt.Sprint("edit-", i), notify.Edit, "tri-dispatch", cmp.Or(s.Key, key)
			s.At = text.Timestamp(w.now.Add(-tt.age))
		}
		outcomes := w.show(b, tt.signals...)
		if got := fmt.Sprint(b.did); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
		if got := outcomes[fmt.Sprint("edit-", len(tt.signals)-1)]; got.Outcome != tt.outcome {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
