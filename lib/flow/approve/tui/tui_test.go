package tui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
	"tri/lib/record/thread"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// desk is a screen under test, without a terminal.
type desk struct {
	*testing.T
	home *durable.Home
	s    *screen
	late []chan tea.Msg // of commands that have not completed
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return &desk{T: t, home: h}
}

func (d *desk) gate() approve.Gate {
	cfg := config.Default()
	cfg.Team.Approvers = []string{"ana"}
	return approve.Gate{Home: d.home, Config: cfg, By: "ana", Via: "terminal", Now: func() time.Time {
		return noon
	}}
}

func (d *desk) put(id, question, text string) {
	d.Helper()
	key := "local.dev." + id
	th := thread.Thread{
		Key: key, Platform: "local", ChatName: question, ThreadID: id, OriginalSenderName: question,
		Status: thread.PendingUser, Cycle: 1, Badge: question,
		Messages: []thread.Message{{MessageID: id, Content: question}}, DraftPending: &text,
		DraftSHA256: decision.Sum(text), StartedAt: noon.Format(time.RFC3339),
	}
	if err := th.Save(d.home); err != nil {
		d.Fatal(err)
	}
	_, err := decision.Append(d.home, decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: key, Cycle: 1, Text: text,
		DraftSHA256: decision.Sum(text), At: noon.Format(time.RFC3339),
	})
	if err != nil {
		d.Fatal(err)
	}
}

// open begins the screen in a size.
func (d *desk) open(width, height int) {
	d.Helper()
	g := d.gate()
	b, err := g.Watch(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	d.s = newScreen(Options{Gate: g}, b)
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
}

// send gives the screen a message, and it what its command brings. It waits for the page of the item.
func (d *desk) send(msg tea.Msg) {
	d.Helper()
	_, cmd := d.s.Update(msg)
	d.run(cmd)
	for end := time.Now().Add(time.Minute); d.s.item() != nil && len(d.s.page) == 0 && len(d.late) > 0; {
		for i, got := range d.late {
			select {
			case msg := <-got:
				d.late = slices.Delete(d.late, i, i+1)
				d.take(msg)
			default:
				continue
			}
			break
		}
		if time.Now().After(end) {
			d.Fatal("the page never came")
		}
		time.Sleep(time.Millisecond)
	}
}

// take gives the screen what a command brought.
func (d *desk) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			d.run(c)
		}
	case viewed:
		d.s.Update(msg)
	}
}

// run runs the commands that complete at once; the others are late.
func (d *desk) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	got := make(chan tea.Msg, 1)
	go func() { got <- cmd() }()
	select {
	case msg := <-got:
		d.take(msg)
	case <-time.After(50 * time.Millisecond): // a wait for a change, or for the clock
		d.late = append(d.late, got)
	}
}

func (d *desk) keys(keys ...string) {
	for _, k := range keys {
		switch k {
		case "enter":
			d.send(tea.KeyPressMsg{Code: tea.KeyEnter})
		case "esc":
			d.send(tea.KeyPressMsg{Code: tea.KeyEscape})
		default:
			for _, r := range k {
				d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
	}
}

func (d *desk) kinds() string {
	rs, err := decision.Read(d.home)
	if err != nil {
		d.Fatal(err)
	}
	var kinds []string
	for _, r := range rs {
		if r.Kind != decision.Offer {
			kinds = append(kinds, r.Kind+" "+strings.TrimPrefix(r.Key, "local.dev.")+" "+r.Note)
		}
	}
	return strings.Join(kinds, ", ")
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want string
	}{
		{"approve", []string{"a"}, "approve 0 "},
		{"approve and take back", []string{"a", "G", "u"}, "approve 0 , undo 0 "},
		{"the second", []string{"ja"}, "approve 1 "},
		{"redo", []string{"r", "look at the client", "enter"}, "redo 0 look at the client"},
		{"redo without a note", []string{"r", "enter"}, "redo 0 "},
		{"an answer needs a text", []string{"w", "enter", "7", "enter"}, "answer 0 7"},
		{"dismiss", []string{"d", "asked twice", "enter"}, "dismiss 0 asked twice"},
		{"changed their mind", []string{"d", "no", "esc", "q"}, ""},
		{"longer", []string{"l", "enter"}, "escalate 0 "},
		{"keys of a note are not words", []string{"d", "aq", "enter"}, "dismiss 0 aq"},
		{"nothing is parked", []string{"s", "posted", "enter"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.put("0", "where?", "It is 5.")
			d.put("1", "when?", "It is 6.")
			d.open(80, 24)
			d.keys(tt.keys...)
			if got := d.kinds(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// A change of the list while the person acts does not change what they decide on.
func TestStaysWithItsItem(t *testing.T) {
	d := newDesk(t)
	d.put("1", "where?", "It is 5.")
	d.put("2", "when?", "It is 6.")
	d.open(80, 24)
	d.keys("j")
	d.put("0", "why?", "Because.") // precedes both
	d.s.board.Refresh()
	d.send(changed{})
	d.keys("a")
	if got := d.kinds(); got != "approve 2 " {
		t.Error(got)
	}
}

// A note is about the item for which it was begun, also if that item leaves the list before it is sent.
func TestNoteStaysWithItsItem(t *testing.T) {
	d := newDesk(t)
	d.put("1", "where?", "It is 5.")
	d.put("2", "when?", "It is 6.")
	d.open(80, 24)
	d.keys("d")
	d.send(tea.PasteMsg{Content: "asked\ntwice"})
	g := d.gate()
	it, err := g.Find("local.dev.1", approve.Draft)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Decide(it, decision.Redo, ""); err != nil {
		t.Fatal(err)
	}
	d.s.board.Refresh()
	d.send(changed{})
	d.keys("enter")
	if got := d.kinds(); got != "redo 1 " || !strings.Contains(d.s.said, `"ana" was first`) {
		t.Errorf("%q, said %q", got, d.s.said)
	}
	d.keys("d")
	d.send(tea.PasteMsg{Content: "asked\ntwice"})
	d.keys("enter")
	if got := d.kinds(); got != "redo 1 , dismiss 2 asked twice" {
		t.Errorf("%q", got)
	}
}

// Another person was first: this is reported, and nothing is written.
func TestRace(t *testing.T) {
	d := newDesk(t)
	d.put("1", "where?", "It is 5.")
	d.open(80, 24)
	g := d.gate()
	it, err := g.Find("local.dev.1", approve.Draft)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Decide(it, decision.Dismiss, ""); err != nil {
		t.Fatal(err)
	}
	d.keys("a")
	if got := d.kinds(); got != "dismiss 1 " || !strings.Contains(d.s.said, `"ana" was first`) {
		t.Errorf("%q, said %q", got, d.s.said)
	}
}

// Every line fits, and nothing of what came from outside reaches the terminal raw.
func TestHostileText(t *testing.T) {
	names, err := filepath.Glob("../../../../../shared/data/hostile/text/*")
	if err != nil {
		t.Fatal(err)
	}
	var controls strings.Builder
	for r := rune(0); r < 0xa0; r++ {
		controls.WriteRune(r)
	}
	texts := []string{controls.String(), "\x1b]0;owned\x07\x1b[2J", strings.Repeat("漢字", 500),
		strings.Repeat("👨‍👩‍👧‍👦", 200), "a\u202eb", strings.Repeat("x", 5000)}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.ToValidUTF8(string(b[:min(len(b), 8000)]), "?"))
	}
	for _, text := range texts {
		d := newDesk(t)
		d.put("1", text, text+"x")
		for _, size := range [][2]int{{80, 24}, {200, 50}, {20, 8}} {
			d.open(size[0], size[1])
			for range 5 {
				check(t, d.s, text)
				d.keys("f")
			}
			d.keys("?")
			check(t, d.s, text)
		}
		var out bytes.Buffer
		if err := Run(t.Context(), Options{Gate: d.gate(), In: strings.NewReader("list\nshow\nzz\nquit\n"),
			Out: &out, Plain: true}); err != nil {
			t.Fatal(err)
		}
		raw(t, out.String(), text)
	}
}

func check(t *testing.T, s *screen, text string) {
	t.Helper()
	lines := s.lines()
	if len(lines) > s.height {
		t.Fatalf("%.30q: %d lines on a screen of %d", text, len(lines), s.height)
	}
	for _, line := range lines {
		if w := uniseg.StringWidth(line); w > s.width {
			t.Fatalf("%.30q: %d columns on a screen of %d: %q", text, w, s.width, line)
		}
		raw(t, line, text)
	}
}

func raw(t *testing.T, said, text string) {
	t.Helper()
	for _, r := range said {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e ||
			r >= 0x2066 && r <= 0x2069 {
			t.Fatalf("%.30q: raw %U", text, r)
		}
	}
}

// A long queue: the first screen within 200 ms, a key within 30 ms, in 80 MB. The
// limits here are far above, for a machine that does other things; the
// figures are printed.
func TestLongQueue(t *testing.T) {
	d := newDesk(t)
	for i := range 500 {
		d.put(fmt.Sprint(i), "where is the retry limit?", strings.Repeat("It is 5. ", 100))
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	g := d.gate()
	b, err := g.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.s = newScreen(Options{Gate: g}, b)
	d.s.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	_ = d.s.View()
	first := time.Since(began)
	var worst time.Duration
	var all []time.Duration
	for range 100 {
		began := time.Now()
		_, cmd := d.s.Update(tea.KeyPressMsg{Code: 'j', Text: "j"})
		d.run(cmd)
		_ = d.s.View()
		worst = max(worst, time.Since(began))
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	runtime.ReadMemStats(&after)
	t.Logf("500 drafts: first screen %v, a key %v, the slowest %v, %d KB", first, all[50], worst,
		(after.HeapAlloc-before.HeapAlloc)/1024)
	if first > 10*time.Second || all[50] > time.Second || after.HeapAlloc-before.HeapAlloc > 80<<20 {
		t.Errorf("first screen %v, a key %v, %d KB", first, all[50], (after.HeapAlloc-before.HeapAlloc)/1024)
	}
}

func TestNeedsTerminal(t *testing.T) {
	d := newDesk(t)
	if err := Run(t.Context(), Options{Gate: d.gate(), In: strings.NewReader(""),
		Out: new(bytes.Buffer)}); err == nil {
		t.Error("drawn into a pipe")
	}
}

func TestPlain(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where?", "It is 5.")
	d.put("1", "when?", "It is 6.")
	var out bytes.Buffer
	in := strings.NewReader("next\napprove\nprevious\nd\nasked twice\nwhat\n")
	if err := Run(t.Context(), Options{Gate: d.gate(), In: in, Out: &out, Plain: true}); err != nil {
		t.Fatal(err)
	}
	if got := d.kinds(); got != "approve 1 , dismiss 0 asked twice" {
		t.Errorf("%q\n%s", got, out.String())
	}
	for _, want := range []string{"Item 1 of 2, draft. In where?, where? asks: where?",
		"The draft, where?: It is 5.", "Done: dismissed; nothing is posted; tri-approve reopen ", `Unknown command "what".`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestPlainAmbiguous: a letter with which two commands begin decides nothing.
func TestPlainAmbiguous(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where?", "It is 5.")
	var out bytes.Buffer
	in := strings.NewReader("a\nl\n\nli\n")
	if err := Run(t.Context(), Options{Gate: d.gate(), In: in, Out: &out, Plain: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Which one: approve or answer?", "Which one: longer or list?", "1: draft, "} {
		if !strings.Contains(out.String(), want) || d.kinds() != "" {
			t.Errorf("%q is not in\n%s\n%s", want, out.String(), d.kinds())
		}
	}
}

// asked is what a person types who is asked again and again: what each call says.
type asked func() string

func (a asked) Read(b []byte) (int, error) {
	text := a()
	if text == "" {
		return 0, io.EOF
	}
	return copy(b, text), nil
}

// TestLongState: the state of a decided item leaves room for its question.
func TestLongState(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where is the limit of the retries set?", "It is 5.")
	d.open(100, 30)
	it := *d.s.items[0]
	it.Kind, it.Note = approve.Approved, strings.Repeat("edited by ana, 1 of 2 sentences covered, ", 4)
	d.s.items[0] = &it
	if row := d.s.row(0, 100); !strings.Contains(row, "limit of the") {
		t.Errorf("%q", row)
	}
}

// If nothing waits, only applicable commands are offered, and a new item is seen.
func TestPlainEmpty(t *testing.T) {
	d := newDesk(t)
	var out bytes.Buffer
	words := []func() string{
		func() string { return "list\n" },
		func() string { d.put("0", "where?", "It is 5."); return "list\n" },
		func() string { return "" },
	}
	in := asked(func() string {
		next := words[0]
		words = words[1:]
		return next()
	})
	if err := Run(t.Context(), Options{Gate: d.gate(), In: in, Out: &out, Plain: true}); err != nil {
		t.Fatal(err)
	}
	const none = "Nothing waits for you.\nWhat now? list, quit.\n"
	if got := out.String(); !strings.HasPrefix(got,
		none+none+"1: draft, where? in where?, where?: where?\nWhat now? "+help+".\n") {
		t.Errorf("%q", got)
	}
}

// editing opens the screen on one draft and closes an editor that left text, with an
// error or without.
func (d *desk) editing(text string, err error) {
	d.Helper()
	file := filepath.Join(d.TempDir(), "draft.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	d.send(edited{d.s.item(), file, err})
}

// TestTypedTextOutlivesItsDraft: a text that came too late for its draft is in the editor for the next one.
func TestTypedTextOutlivesItsDraft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	d := newDesk(t)
	d.put("0", "where?", "It is 5.")
	d.open(80, 24)
	d.editing("It is 6.", nil)
	d.put("0", "where?", "It is 7.")
	d.keys("y")
	if it := d.s.item(); !strings.HasPrefix(d.s.said, "! ") || d.s.Gate.View(it).Draft != "It is 7." {
		t.Fatalf("%q", d.s.said)
	}
	d.s.edit(d.s.item())
	files, err := filepath.Glob(filepath.Join(dir, "tri-edit-*", "draft.md"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if b, err := os.ReadFile(files[0]); err != nil || string(b) != "It is 6." {
		t.Errorf("%q, %v", b, err)
	}
}

// TestEditDecidesNothingByItself: an editor that is left without a change, fails or
// leaves nothing is not a decision; after a change the text is shown as it will be sent,
// and only y sends it.
func TestEditDecidesNothingByItself(t *testing.T) {
	const draft = "It is 5."
	for _, tt := range []struct {
		name, text string
		err        error
		keys       []string
		want, said string
	}{
		{"unchanged", draft, nil, nil, "", "unchanged"},
		{"unchanged, with the newline of vi", draft + "\n", nil, nil, "", "unchanged"},
		{"unchanged, and keys", draft, nil, []string{"y", "enter"}, "", ""},
		{"the editor failed", "It is 6.", errors.New("exit status 1"), []string{"y"}, "", ""},
		{"empty", " \n", nil, []string{"y"}, "", ""},
		{"changed, not asked yet", "It is 6.", nil, nil, "", ""},
		{"changed, no", "It is 6.", nil, []string{"n"}, "", "nothing was decided"},
		{"changed, enter", "It is 6.", nil, []string{"enter"}, "", "nothing was decided"},
		{"changed, another key of the screen", "It is 6.", nil, []string{"a"}, "", "nothing was decided"},
		{"changed, yes", "It is 6.", nil, []string{"y"}, "edit 0 ", "approved with your text"},
		{"read, then yes", "It is 6.", nil, []string{"f", "b", "y"}, "edit 0 ", "approved with your text"},
		{"may not be sent", "@channel it is 6.", nil, []string{"y"}, "", "nothing was decided"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.put("0", "where?", draft)
			d.open(80, 24)
			d.editing(tt.text, tt.err)
			if tt.keys == nil && strings.HasPrefix(tt.name, "changed") {
				if page := strings.Join(d.s.lines(), "\n"); !strings.Contains(page,
					"Your text, 8 characters, as it will be sent") || !strings.Contains(page, "│ It is 6.") ||
					!strings.Contains(page, "y/N") {
					t.Errorf("shown:\n%s", page)
				}
			}
			d.keys(tt.keys...)
			if got := d.kinds(); got != tt.want || !strings.Contains(d.s.said, tt.said) {
				t.Errorf("%q, said %q; want %q, %q", got, d.s.said, tt.want, tt.said)
			}
		})
	}
}

// TestUnseenDraftIsAskedFor: a draft that was not shown to its end takes two yeses.
func TestUnseenDraftIsAskedFor(t *testing.T) {
	long := strings.Repeat("It is 5.\n", 120)
	for _, tt := range []struct {
		name string
		keys []string
		want string
	}{
		{"at once", []string{"a"}, ""},
		{"twice", []string{"a", "a"}, "approve 0 "},
		{"read to its end", append(slices.Repeat([]string{"f"}, 14), "a"), "approve 0 "},
		{"asked for another", []string{"a", "j", "k", "a"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.put("0", "where?", long)
			d.put("1", "when?", long)
			d.open(80, 24)
			d.keys(tt.keys...)
			if got := d.kinds(); got != tt.want {
				t.Errorf("%q, want %q, said %q", got, tt.want, d.s.said)
			}
			if tt.want == "" && !strings.Contains(d.s.said, " of the draft not shown; a again") {
				t.Errorf("said %q", d.s.said)
			}
		})
	}
}

// TestOutcomeEndsWithItsItem: what is said of an item is gone when another is shown, except the outcome of
// the decision that ended it.
func TestOutcomeEndsWithItsItem(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where?", strings.Repeat("It is 5.\n", 120))
	d.put("1", "when?", "At 6.")
	d.open(80, 24)
	d.keys("a")
	if d.s.said == "" {
		t.Fatal("nothing is said of the lines that were not shown")
	}
	if d.keys("j"); d.s.said != "" {
		t.Errorf("said of the next item: %q", d.s.said)
	}
	if d.keys("d", "enter"); !strings.Contains(d.s.said, "dismissed") {
		t.Errorf("said after a decision: %q", d.s.said)
	}
}

// TestReopen: what was dismissed keeps its ID, says how it is reopened, and is reopened by a key.
func TestReopen(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where?", "It is 5.")
	d.open(80, 24)
	id := d.s.item().ID
	d.keys("d", "enter")
	if want := id + ": dismissed; nothing is posted; tri-approve reopen " + id + ", or r here"; !strings.HasPrefix(d.s.said, want) {
		t.Errorf("said %q, want %q", d.s.said, want)
	}
	th, err := thread.Load(d.home, "local.dev.0")
	if err != nil {
		t.Fatal(err)
	}
	rs, err := decision.Read(d.home)
	if err != nil {
		t.Fatal(err)
	}
	said := rs[len(rs)-1]
	closed, _ := thread.Apply(*th, thread.Input{At: said.At, Key: th.Key, Decision: &said})
	if err := closed.Save(d.home); err != nil {
		t.Fatal(err)
	}
	d.s.board.Refresh()
	d.send(changed{})
	if it := d.s.item(); it == nil || it.ID != id || it.Kind != approve.Ended {
		t.Fatalf("%+v, want the item %s", it, id)
	}
	if page := strings.Join(d.s.lines(), "\n"); !strings.Contains(page, "r reopen") {
		t.Errorf("no key reopens it:\n%s", page)
	}
	if d.keys("r", "now", "enter"); d.kinds() != "dismiss 0 , reopen 0 now" {
		t.Errorf("%q, said %q", d.kinds(), d.s.said)
	}
}

// TestNothingToApprove: a thread without a draft, or with one that was not offered, is not approved
// or edited.
func TestNothingToApprove(t *testing.T) {
	d := newDesk(t)
	text := "It is 5."
	for i, th := range []thread.Thread{{DraftPending: &text, DraftSHA256: decision.Sum(text)},
		{InvestigatorError: "nothing found"}} {
		th.Key, th.Platform, th.Status, th.Cycle = fmt.Sprint("local.dev.", i), "local", thread.PendingUser, 1
		th.StartedAt = noon.Format(time.RFC3339)
		if err := th.Save(d.home); err != nil {
			t.Fatal(err)
		}
	}
	d.open(80, 24)
	if d.keys("a", "a", "e", "u", "j", "a", "e", "u"); d.kinds() != "" {
		t.Errorf("%q", d.kinds())
	}
}

// TestKeysOfUnsendableText: a text that may not be sent is offered no key that posts it.
func TestKeysOfUnsendableText(t *testing.T) {
	for text, want := range map[string]bool{"It is 6.": true, "@channel it is 6.": false} {
		d := newDesk(t)
		d.put("0", "where?", "It is 5.")
		d.open(80, 24)
		d.editing(text, nil)
		if page := strings.Join(d.s.lines(), "\n"); strings.Contains(page, "y posts it") != want ||
			!strings.Contains(page, "e edits it again") {
			t.Errorf("%q:\n%s", text, page)
		}
	}
}

func TestHelpCloses(t *testing.T) {
	for _, key := range []string{"?", "esc"} {
		d := newDesk(t)
		d.put("0", "where?", "It is 5.")
		d.open(80, 24)
		d.keys("?")
		if !d.s.help {
			t.Fatal("no help")
		}
		if d.keys(key); d.s.help {
			t.Errorf("%s leaves it open", key)
		}
	}
}

// TestQuorumIsSaid: the first of two yeses posts nothing, and says so.
func TestQuorumIsSaid(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where?", "It is 5.")
	d.open(80, 24)
	d.s.Gate.Config.Gate.Quorum = 2
	d.keys("a")
	if !strings.Contains(d.s.said, "approved, 1 of 2; waits for another approver") {
		t.Errorf("said %q", d.s.said)
	}
	d.keys("u")
	if it := d.s.item(); len(it.Votes) != 0 || !strings.Contains(d.s.said, "taken back") {
		t.Errorf("after u: %q, %d approvals", d.s.said, len(it.Votes))
	}
}

// TestResized: the terminal is cleared once the page for the new width is there: the renderer leaves
// parts of lines that were wrapped for the old width (tmux, from 80x24 to 200x50).
func TestResized(t *testing.T) {
	d := newDesk(t)
	d.put("1", "where is the retry limit?", strings.Repeat("It is 5. ", 100))
	d.open(80, 24)
	for range 2 {
		for _, width := range []int{200, 80} {
			_, look := d.s.Update(tea.WindowSizeMsg{Width: width, Height: 50})
			_, clear := d.s.Update(look())
			if clear == nil || clear() != tea.ClearScreen() {
				t.Errorf("%d columns: the terminal is not cleared", width)
			}
		}
	}
	if _, again := d.s.Update(viewed{d.s.of, d.s.page}); again != nil {
		t.Error("cleared without a new size")
	}
}

// TestDraftHasTheScreen: a small screen shows the question, then mostly the draft, whatever was said around
// it; what the draft rests on is below.
func TestDraftHasTheScreen(t *testing.T) {
	for _, size := range []struct{ width, height, least int }{{80, 24, 13}, {200, 50, 40}} {
		d := newDesk(t)
		for i := range 9 {
			d.put(fmt.Sprint(i), "where is the retry limit?", strings.Repeat("It is 5.\n", 90))
			th, err := thread.Load(d.home, fmt.Sprint("local.dev.", i))
			if err != nil {
				t.Fatal(err)
			}
			th.Context = slices.Repeat([]thread.Message{{SenderName: "ben", Content: "around"}}, 20)
			if err := th.Save(d.home); err != nil {
				t.Fatal(err)
			}
		}
		d.open(size.width, size.height)
		screen := strings.Join(d.s.lines(), "\n")
		if n := strings.Count(screen, "  │ It is 5."); n < size.least || !strings.Contains(screen, "Question of ") {
			t.Errorf("%d lines of the draft on %dx%d:\n%s", n, size.width, size.height, screen)
		}
		if page := strings.Join(d.s.page, "\n"); strings.Index(page, "Around it") < strings.Index(page, "It is 5.") {
			t.Errorf("what was said around it precedes the draft:\n%s", page)
		}
	}
}

// TestCodeIsShownAsCode: the lines between the fences of a draft have the colour of code, and no others.
func TestCodeIsShownAsCode(t *testing.T) {
	d := newDesk(t)
	d.put("0", "where?", "Here:\n```go\nx := 5\n\n```\nThat ```is``` all.")
	d.open(80, 24)
	d.s.Color = true
	screen := strings.Join(d.s.lines(), "\n")
	for line, style := range map[string]string{"```go": dim, "x := 5": cyan, "Here:": "", "That ```is``` all.": ""} {
		row, styled := fit("  │ "+line, 80), fit("  │ "+line, 80)
		if style != "" {
			styled = "\x1b[" + style + "m" + row + "\x1b[0m"
		}
		if !strings.Contains(screen, "\n"+styled+"\n") {
			t.Errorf("%q is not shown as %q in\n%q", line, style, screen)
		}
	}
}
