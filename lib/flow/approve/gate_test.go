package approve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func newGate(t *testing.T, by string) Gate {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	cfg := config.Default()
	cfg.Team.Approvers = []string{"ana", "ben"}
	return Gate{Home: h, Config: cfg, By: by, Via: "terminal", Now: func() time.Time { return noon }}
}

// put makes a thread that waits with an offered draft.
func put(t *testing.T, g Gate, id, question, text string) string {
	t.Helper()
	key := "local.dev." + id
	th := thread.Thread{
		Key: key, Platform: "local", ChatID: "dev", ChatName: "dev", ThreadID: id, OriginalSenderName: "cy",
		Status: thread.PendingUser, Cycle: 1,
		Messages:     []thread.Message{{MessageID: id, SenderName: "cy", Content: question}},
		DraftPending: &text, DraftSHA256: decision.Sum(text),
		StartedAt:          noon.Add(-time.Hour).Format(time.RFC3339),
		InvestigatorReturn: &draft.Return{Confidence: draft.High, ConfidenceReason: "read it"},
	}
	if err := th.Save(g.Home); err != nil {
		t.Fatal(err)
	}
	if _, err := decision.Append(g.Home, decision.Record{Kind: decision.Offer, By: "d", Key: key, Cycle: 1,
		Text: text, DraftSHA256: decision.Sum(text)}); err != nil {
		t.Fatal(err)
	}
	return key
}

// Two people decide on the same drafts at once: one decision counts, and the other person gets an error.
func TestTwoPeopleAtOnce(t *testing.T) {
	g := newGate(t, "")
	for i := range 30 {
		key := put(t, g, fmt.Sprint(i), "q", fmt.Sprint("draft ", i))
		var both sync.WaitGroup
		errs := make([]error, 2)
		for n, by := range []string{"ana", "ben"} {
			both.Go(func() {
				mine := g
				mine.By = by
				it, err := mine.Find(key, Draft)
				if err == nil {
					_, err = mine.Decide(it, decision.Approve, "")
				}
				errs[n] = err
			})
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%s: ana %v, ben %v", key, errs[0], errs[1])
		}
		if status, _ := sysexit.Of(errors.Join(errs...)); status != sysexit.No {
			t.Errorf("status %d: %v", status, errs)
		}
	}
}

func TestIDs(t *testing.T) {
	g := newGate(t, "ana")
	put(t, g, "10", "q", "x")
	put(t, g, "1", "q", "y")
	items, err := g.Items()
	if err != nil || len(items) != 2 {
		t.Fatal(items, err)
	}
	for _, name := range []string{items[0].ID, items[0].full[:3], "local.dev.1",
		thread.UUID("local.dev.1")[:3]} {
		if it, err := g.Find(name, Draft); err != nil || it.Key != "local.dev.1" {
			t.Errorf("%q: %v, %v", name, it, err)
		}
	}
	for _, name := range []string{"", "1", items[0].full[:2], items[0].full[:3] + "!", "local.dev.", "nope"} {
		if it, err := g.Find(name, Draft); err == nil {
			t.Errorf("%q found %s", name, it.Key)
		}
	}
}

// A draft that was replaced between the look and the yes is not approved.
func TestStaleLook(t *testing.T) {
	g := newGate(t, "ana")
	key := put(t, g, "1", "q", "x")
	it, err := g.Find(key, Draft)
	if err != nil {
		t.Fatal(err)
	}
	put(t, g, "1", "q", "y")
	if _, err := g.Decide(it, decision.Approve, ""); err == nil || !strings.Contains(err.Error(), "not the one that was shown") {
		t.Errorf("got %v", err)
	}
}

func TestSettle(t *testing.T) {
	g := newGate(t, "ana")
	key := put(t, g, "1", "q", "x")
	it, err := g.Find(key, Draft)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Decide(it, decision.Approve, ""); err != nil {
		t.Fatal(err)
	}
	sha := decision.Sum("x")
	if _, err := decision.Append(g.Home, decision.Record{Kind: decision.Claim, By: "tri-reply", Key: key,
		Cycle: 1, DraftSHA256: sha}); err != nil {
		t.Fatal(err)
	}
	e := outbox.Entry{ID: outbox.ID(key, 1, sha, 1), Key: key, Cycle: 1, DraftSHA256: sha, Part: 1, Parts: 1,
		State: outbox.Parked, Tries: 2, Why: "who knows", Text: "x"}
	if err := e.Save(g.Home); err != nil {
		t.Fatal(err)
	}
	if it, err = g.Find(key, Parked); err != nil {
		t.Fatal(err)
	}
	r, err := g.Settle(it, decision.SettlePosted, "I see it")
	if err != nil || r.Post != e.ID || r.Tries != 2 || r.DraftSHA256 != sha {
		t.Errorf("%+v, %v", r, err)
	}
}

// terminal opens both ends of a pseudo-terminal (pty(7)).
func terminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	return keyboard, screen
}

// At a terminal a person is shown what would be posted, and asked.
func TestTerminalAsks(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "yes\n": true, "n\n": false, "\n": false,
		"yep\n": false} {
		g := newGate(t, "ana")
		put(t, g, "1", "where\x1b[2J is it?", "There.")
		keyboard, screen := terminal(t)
		var shown bytes.Buffer
		term := Terminal{Gate: g, In: screen, Out: io.Discard, Err: &shown, Say: func(string, ...any) {}}
		if _, err := keyboard.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		err := term.Approve("local.dev.1")
		rs, readErr := decision.Read(g.Home)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if (err == nil) != want || (rs[len(rs)-1].Kind == decision.Approve) != want {
			t.Errorf("%q: %v, last record %s", answer, err, rs[len(rs)-1].Kind)
		}
		if text := shown.String(); !strings.Contains(text, "│ There.") || strings.Contains(text, "\x1b") {
			t.Errorf("shown: %q", text)
		}
	}
}

func TestEditorAtTerminal(t *testing.T) {
	g := newGate(t, "ana")
	put(t, g, "1", "q", "It is 5.")
	keyboard, screen := terminal(t)
	t.Setenv("VISUAL", "sed -i s/5/7/")
	if _, err := keyboard.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	term := Terminal{Gate: g, In: screen, Out: io.Discard, Err: io.Discard, Say: func(string, ...any) {}}
	if err := term.Edit("local.dev.1", ""); err != nil {
		t.Fatal(err)
	}
	rs, err := decision.Read(g.Home)
	if last := rs[len(rs)-1]; err != nil || last.Kind != decision.Edit || last.Text != "It is 7." {
		t.Errorf("%+v, %v", last, err)
	}
}

// TestTypedTextIsKept: a text that a person typed and that is not sent, since they said no or it does not
// count, is kept. One that is sent leaves no file.
func TestTypedTextIsKept(t *testing.T) {
	for answer, kept := range map[string]bool{"y": false, "n": true, "y, taken off the list": true} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		t.Setenv("VISUAL", "sed -i s/5/7/")
		g, looks := newGate(t, "ana"), 0
		g.Policy = func() (decision.Policy, error) {
			if looks++; looks > 1 && len(answer) > 1 {
				return decision.Policy{Approvers: []string{"ben"}}, nil
			}
			return decision.Policy{Approvers: []string{"ana"}}, nil
		}
		put(t, g, "1", "q", "It is 5.")
		keyboard, screen := terminal(t)
		if _, err := keyboard.WriteString(answer[:1] + "\n"); err != nil {
			t.Fatal(err)
		}
		said := ""
		term := Terminal{Gate: g, In: screen, Out: io.Discard, Err: io.Discard}
		term.Say = func(f string, a ...any) { said = fmt.Sprintf(f, a...) }
		err := term.Edit("local.dev.1", "")
		text, _ := os.ReadFile(strings.TrimPrefix(said, "your text is kept in "))
		left, globErr := filepath.Glob(filepath.Join(dir, "*"))
		if globErr != nil || (err != nil) != kept || (string(text) == "It is 7.\n") != kept ||
			(len(left) > 0) != kept {
			t.Errorf("%s: %v, said %q, left %q", answer, err, said, left)
		}
	}
}

// TestEditorThatChangesNothing: an editor that is left without a change, fails or empties
// the text is not a decision, in the terminal and for every other caller of Edit.
func TestEditorThatChangesNothing(t *testing.T) {
	for editor, status := range map[string]int{"true": sysexit.No, "false": sysexit.Unavailable,
		"truncate -s 0": sysexit.No} {
		g := newGate(t, "ana")
		put(t, g, "1", "q", "It is 5.")
		keyboard, screen := terminal(t)
		t.Setenv("VISUAL", editor)
		if _, err := keyboard.WriteString("y\n"); err != nil {
			t.Fatal(err)
		}
		term := Terminal{Gate: g, In: screen, Out: io.Discard, Err: io.Discard, Say: func(string, ...any) {}}
		err := term.Edit("local.dev.1", "")
		rs, readErr := decision.Read(g.Home)
		if got, _ := sysexit.Of(err); err == nil || got != status || readErr != nil ||
			rs[len(rs)-1].Kind != decision.Offer {
			t.Errorf("%s: status %d, want %d; last record %s", editor, got, status, rs[len(rs)-1].Kind)
		}
	}
	g := newGate(t, "ana")
	it, err := g.Find(put(t, g, "1", "q", "It is 5."), Draft)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"It is 5.", "It is 5.\r\n", "", " \n"} {
		if _, err := g.Edit(it, text); err == nil || !strings.Contains(err.Error(), "nothing was decided") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNotesAreNotChat: what an approver said is below a heading of its own, and the
// triage file that a yes keeps is shown before it.
func TestNotesAreNotChat(t *testing.T) {
	g := newGate(t, "ana")
	key := put(t, g, "1", "q", "It is 5.")
	th, err := thread.Load(g.Home, key)
	if err != nil {
		t.Fatal(err)
	}
	th.Context = []thread.Message{{SenderName: "cho", Content: "thanks ana"}}
	th.InvestigatorReturn = &draft.Return{ProposedTriageFile: &draft.TriageFile{Filename: "retry.md",
		Content: "kept as it is"}}
	if err := th.Save(g.Home); err != nil {
		t.Fatal(err)
	}
	it, err := g.Find(key, Draft)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := g.Decide(it, decision.Approve, ""); err != nil || said.Waits() != "" {
		t.Fatalf("%q, %v", said.Waits(), err)
	}
	if it, err = g.Find(key, Approved); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := g.View(it).Print(&page, noon); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nDecided\n  │ approved by ana\n",
		"retry.md\n  │ kept as it is\n"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("%q is not in\n%s", want, page.String())
		}
	}
}

// TestFirstOfTwo: a yes that another must follow is not said to be posted.
func TestFirstOfTwo(t *testing.T) {
	g := newGate(t, "ana")
	g.Config.Team.Approvers, g.Config.Gate.Quorum = []string{"ana", "ben"}, 2
	key := put(t, g, "1", "q", "It is 5.")
	var said string
	term := Terminal{Gate: g, Out: io.Discard, Err: io.Discard, Yes: true, Say: func(f string, a ...any) {
		said = fmt.Sprintf(f, a...)
	}}
	for _, step := range [][2]string{{"ana", "approved; 1 of 2; waits for another approver"},
		{"ben", "approved; tri-reply posts it"}} {
		term.By = step[0]
		if err := term.Approve(key); err != nil || !strings.Contains(said, step[1]) {
			t.Errorf("%s: %q, %v", step[0], said, err)
		}
	}
}

// TestVotesAreShown: who decides second sees what the first has approved.
func TestVotesAreShown(t *testing.T) {
	for text, want := range map[string]string{"It is 5.": "\nana approved it, 2026-01-02 12:00Z; another",
		"It is 6.": "which another person must approve:\n  │ It is 6.\n"} {
		g := newGate(t, "ana")
		g.Config.Team.Approvers, g.Config.Gate.Quorum = []string{"ana", "ben"}, 2
		key := put(t, g, "1", "q", "It is 5.")
		for _, shown := range []bool{false, true} {
			it, err := g.Find(key, Draft)
			if err != nil {
				t.Fatal(err)
			}
			var page strings.Builder
			err = g.View(it).Print(&page, noon)
			if err != nil || strings.Contains(page.String(), want) != shown {
				t.Errorf("%q is in %s", want, page.String())
			}
			if _, err := g.Edit(it, text); err != nil {
				if _, err := g.Decide(it, decision.Approve, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestFirstOfTwoTakenBack: the one who gave the first of two approvals takes it back, and nobody else can.
func TestFirstOfTwoTakenBack(t *testing.T) {
	g := newGate(t, "ana")
	g.Config.Team.Approvers, g.Config.Gate.Quorum = []string{"ana", "ben"}, 2
	key := put(t, g, "1", "q", "It is 5.")
	said := ""
	term := Terminal{Gate: g, Out: io.Discard, Err: io.Discard, Yes: true, Say: func(f string, a ...any) {
		said = fmt.Sprintf(f, a...)
	}}
	if err := term.Approve(key); err != nil {
		t.Fatal(err)
	}
	term.By = "ben"
	if err := term.Undo(key); err == nil || !strings.Contains(err.Error(), "no such decision") {
		t.Errorf("ben has approved nothing: %v", err)
	}
	term.By = "ana"
	if err := term.Undo(key); err != nil {
		t.Fatal(err)
	}
	term.By = "ben"
	if err := term.Approve(key); err != nil || !strings.Contains(said, "1 of 2") {
		t.Errorf("ben approved alone: %q, %v", said, err)
	}
}

// TestApproversAreReadAgain: the list counts as it is when a word is said.
func TestApproversAreReadAgain(t *testing.T) {
	g := newGate(t, "ana")
	list := []string{"ana"}
	g.Policy = func() (decision.Policy, error) { return decision.Policy{Approvers: list}, nil }
	it, err := g.Find(put(t, g, "1", "q", "It is 5."), Draft)
	if err != nil {
		t.Fatal(err)
	}
	list = []string{"ben"}
	_, err = g.Decide(it, decision.Approve, "")
	if status, _ := sysexit.Of(err); status != sysexit.NoPerm {
		t.Errorf("ana was taken off the list: %v", err)
	}
	g.By = "ben"
	if _, err = g.Decide(it, decision.Approve, ""); err != nil {
		t.Errorf("ben was put on it: %v", err)
	}
}

// TestBoardFollowsApprovers: an approval by a person who was taken off the list does not count, and a screen
// that was open before shows that the draft waits again. A list that cannot be read leaves the last one.
func TestBoardFollowsApprovers(t *testing.T) {
	g := newGate(t, "ana")
	policy, broken := decision.Policy{Approvers: []string{"ana", "ben"}}, error(nil)
	g.Policy = func() (decision.Policy, error) { return policy, broken }
	it, err := g.Find(put(t, g, "1", "q", "It is 5."), Draft)
	if err != nil {
		t.Fatal(err)
	}
	board, err := g.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kind := func() string {
		board.Refresh()
		items, _, err := board.Items()
		if err != nil || len(items) != 1 {
			t.Fatalf("%d items, %v", len(items), err)
		}
		return items[0].Kind
	}
	if _, err = g.Decide(it, decision.Approve, ""); err != nil || kind() != Approved {
		t.Fatalf("%s, %v", kind(), err)
	}
	policy.Approvers = policy.Approvers[1:]
	if k := kind(); k != Draft {
		t.Errorf("ana has left, and the draft is shown as %s", k)
	}
	if broken = errors.New("no configuration"); kind() != Draft {
		t.Errorf("unreadable: %s", kind())
	}
}

// TestExpiredIsShown: what expired is in the list for a week, and undo brings it back.
func TestExpiredIsShown(t *testing.T) {
	g := newGate(t, "ana")
	key := put(t, g, "1", "where?", "It is 5.")
	th, err := thread.Load(g.Home, key)
	if err != nil {
		t.Fatal(err)
	}
	closed, _ := thread.Apply(*th, thread.Input{At: noon.Format(time.RFC3339), Key: key,
		Expired: &thread.Expired{DraftSHA256: th.DraftSHA256}})
	if err := closed.Save(g.Home); err != nil {
		t.Fatal(err)
	}
	r := decision.Record{Kind: decision.Withdraw, By: decision.Dispatcher, Key: key, Cycle: 1,
		DraftSHA256: th.DraftSHA256, Note: decision.ExpiredNote, At: noon.Format(time.RFC3339)}
	if _, err := decision.Append(g.Home, r); err != nil {
		t.Fatal(err)
	}
	late := g
	late.Now = func() time.Time { return noon.Add(8 * 24 * time.Hour) }
	if items, err := late.Items(); err != nil || len(items) != 0 {
		t.Errorf("after a week: %d items, %v", len(items), err)
	}
	var said []string
	term := Terminal{Gate: g, Out: io.Discard, Err: io.Discard, Say: func(f string, a ...any) {
		said = append(said, fmt.Sprintf(f, a...))
	}}
	if err := term.List(false); err == nil ||
		!strings.HasPrefix(strings.Join(said, "|"), "1 expired, since nobody decided in time") {
		t.Errorf("%v, said %q", err, said)
	}
	it, err := g.Find(key, Expired)
	if err != nil || it.Waits() || g.View(it).Draft != "It is 5." {
		t.Fatalf("%+v, %v", it, err)
	}
	if err := term.Undo(key); err != nil {
		t.Fatal(err)
	}
	state, err := decision.Fold(g.Home, decision.PolicyOf(g.Config), nil)
	if st := state.Standing(key); err != nil || !st.Open(noon) {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestReopen: what was dismissed is listed for a week; it is reopened from the list, or later by its key.
func TestReopen(t *testing.T) {
	for _, days := range []int{1, 30} {
		g := newGate(t, "ana")
		key := put(t, g, "1", "where?", "It is 5.")
		it, err := g.Find(key, Draft)
		if err != nil {
			t.Fatal(err)
		}
		said, err := g.Decide(it, decision.Dismiss, "no")
		if err != nil {
			t.Fatal(err)
		}
		closed, _ := thread.Apply(*it.thread, thread.Input{At: said.At, Key: key, Decision: &said.Record})
		if err := closed.Save(g.Home); err != nil {
			t.Fatal(err)
		}
		g.Now = func() time.Time { return noon.Add(time.Duration(days) * 24 * time.Hour) }
		if items, err := g.Items(); err != nil || len(items) == 0 != (days > 7) ||
			len(items) == 1 && (items[0].Waits() || items[0].Kind != Ended) {
			t.Errorf("after %d days: %d items, %v", days, len(items), err)
		} else if len(items) == 1 && items[0].ID != it.ID {
			t.Errorf("the ID %s became %s", it.ID, items[0].ID)
		}
		term := Terminal{Gate: g, Out: io.Discard, Err: io.Discard, Say: func(string, ...any) {}}
		if err := term.Reopen(key, "after all"); err != nil {
			t.Fatal(err)
		}
		if err := term.Reopen(key, "twice"); err == nil {
			t.Error("reopened twice")
		}
		if err := term.Reopen("local.dev.9", ""); err == nil {
			t.Error("reopened what is not there")
		}
	}
}

func TestPageHoldsOutsideText(t *testing.T) {
	g := newGate(t, "ana")
	key := put(t, g, "1", "q\nEvidence\n  1. all is well", "x\r\x1b[1A\u202e\nDraft, 1 characters, sha256 0")
	it, err := g.Find(key, Draft)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := g.View(it).Print(&page, noon); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(page.String()) {
		if strings.ContainsAny(line, "\x1b\r\u202e") || strings.HasPrefix(line, "Evidence") ||
			strings.Contains(line, "all is well") && !strings.HasPrefix(line, "  │ ") {
			t.Errorf("a line gets out: %q", line)
		}
	}
}

// TestIntentIsShown: an item of an inbox says what its message was taken for, and why.
func TestIntentIsShown(t *testing.T) {
	g := newGate(t, "ana")
	key := put(t, g, "1", "rename maxRows", "Done.")
	th, err := thread.Load(g.Home, key)
	if err != nil {
		t.Fatal(err)
	}
	th.Want = thread.Want{Intent: "code_change", IntentScore: 12, IntentNext: "question", IntentMargin: 7,
		IntentReasons: []string{"code_change:rename +12"}}
	if err := th.Save(g.Home); err != nil {
		t.Fatal(err)
	}
	it, err := g.Find(key, Draft)
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	const want = "  taken for code_change, score 12, 7 before question: code_change:rename +12\n"
	if err := g.View(it).Print(&page, noon); err != nil || !strings.Contains(page.String(), want) {
		t.Errorf("%v\n%s", err, page.String())
	}
}
