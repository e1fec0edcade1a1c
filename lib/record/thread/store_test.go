package thread

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/verdict"
)

func home(t *testing.T) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestSave: a thread has one file, open or closed, and moves with its status.
func TestSave(t *testing.T) {
	h := home(t)
	th := &Thread{Key: "local.dev.1", Status: Investigating}
	for _, status := range []string{Investigating, PendingUser, Closed, Closed, Investigating} {
		th.Status = status
		if err := th.Save(h); err != nil {
			t.Fatal(err)
		}
		closed := status == Closed
		if h.Exists(OpenPath(th.Key)) == closed || h.Exists(ClosedPath(th.Key)) != closed {
			t.Errorf("%s: open %v, closed %v", status, h.Exists(OpenPath(th.Key)),
				h.Exists(ClosedPath(th.Key)))
		}
		got, err := Load(h, th.Key)
		if err != nil || got == nil || got.Status != status || got.Key != th.Key {
			t.Fatalf("%s: %+v, %v", status, got, err)
		}
	}
	if got, err := Load(h, "none"); got != nil || err != nil {
		t.Errorf("no thread: %+v, %v", got, err)
	}
	b, err := h.ReadFile(OpenPath(th.Key))
	if err != nil || !strings.HasPrefix(string(b), "{\n  \"key\"") || !strings.HasSuffix(string(b), "}\n") {
		t.Errorf("a person cannot read it: %.20q, %v", b, err)
	}
	if got := ClosedPath("local.dev.1"); got != "closed/59/local.dev.1.json" {
		t.Errorf("closed threads are kept in %s", got)
	}
	if err := h.Remove(OpenPath(th.Key)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(h.Path(OpenPath(th.Key)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := th.Save(h); err == nil {
		t.Error("saved over a folder")
	}
	_, err = Load(h, th.Key)
	if status, _ := sysexit.Of(err); status != sysexit.IO {
		t.Errorf("loaded a folder: %v", err)
	}
}

func TestOpen(t *testing.T) {
	h := home(t)
	for _, key := range []string{"c", "a", "b"} {
		if err := (&Thread{Key: key, Status: Investigating}).Save(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Replace("open/broken.json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	list := func(most int) string {
		var got []string
		for th, err := range Open(h) {
			switch {
			case err != nil && len(sysexit.Hints(err)) > 0:
				got = append(got, "unreadable")
			case err != nil:
				got = append(got, "error")
			default:
				got = append(got, th.Key)
			}
			if len(got) == most {
				break
			}
		}
		return strings.Join(got, " ")
	}
	if got := list(9); got != "a b unreadable c" {
		t.Errorf("open: %s", got)
	}
	if got := list(1); got != "a" {
		t.Errorf("the first: %s", got)
	}
	if err := h.Remove("open/broken.json"); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for range Open(h) {
		if seen++; seen == 1 { // one is closed after it was listed
			if err := h.Move("open/b.json", "closed/b.json"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of two", seen)
	}
	none := home(t)
	for th, err := range Open(none) {
		t.Errorf("of no folder: %v, %v", th, err)
	}
	if err := none.Replace("open", nil); err != nil {
		t.Fatal(err)
	}
	seen = 0
	for _, err := range Open(none) {
		if seen++; err == nil {
			t.Error("a file in the folder's place is not an error")
		}
	}
	if seen != 1 {
		t.Errorf("%d errors", seen)
	}
}

func TestFileName(t *testing.T) {
	for proposed, want := range map[string]string{
		"Login Fails.md": "login-fails", "../../etc/passwd": "etc-passwd", "": "note", ".md": "md",
		"a_b-C9.MD": "a_b-c9", "z0.md": "z0", "日本": "note",
		"a.b.md": "a-b", "`rm`|x;": "rmx", "{z}[a]:@/": "za",
		strings.Repeat("x", 200): strings.Repeat("x", 80), "-- ": "note",
	} {
		got := FileName(proposed, "k", 1)
		name, mark, ok := strings.Cut(strings.TrimSuffix(got, ".md"), "-e3aa891d")
		if name != want || mark != "" || !ok {
			t.Errorf("%q: %s, want %s and the mark", proposed, got, want)
		}
	}
	if FileName("a", "k", 1) == FileName("a", "k", 2) || FileName("a", "k", 1) == FileName("a", "l", 1) {
		t.Error("two threads, or cycles, have one file")
	}
}

// TestIdentity: the same thing read twice is one, two things are two.
func TestIdentity(t *testing.T) {
	ev := &event.Classified{Event: event.Event{Platform: "local", ChatID: "dev", MessageID: "1"}}
	spent := func(day string) *Spent { return &Spent{RunID: "r", Day: day} }
	seen := map[string]int{}
	for i, in := range []Input{
		{Event: ev}, {Run: &run.Result{RunID: "r"}}, {Run: &run.Result{RunID: "s"}},
		{Decision: &decision.Record{N: 1}}, {Decision: &decision.Record{N: 2}},
		{Reply: &outbox.Reply{Cycle: 1, DraftSHA256: "d"}},
		{Reply: &outbox.Reply{Cycle: 2, DraftSHA256: "d"}},
		{Reply: &outbox.Reply{Cycle: 1, DraftSHA256: "e"}},
		{Escalated: &Escalation{RunID: "r"}}, {Escalated: &Escalation{RunID: "s"}}, {Spent: spent("")},
		{At: "1", Spent: spent("d")}, {At: "2", Spent: spent("d")},
		{At: "1", Resumed: &Resumed{RunID: "r"}}, {At: "2", Resumed: &Resumed{RunID: "r"}},
		{At: "1", Resumed: &Resumed{RunID: "s"}},
		{At: "1", Expired: &Expired{DraftSHA256: "d"}}, {At: "2", Expired: &Expired{DraftSHA256: "d"}},
		{At: "1", Expired: &Expired{DraftSHA256: "e"}},
	} {
		id := in.Identity()
		if before, ok := seen[id]; ok || len(id) != 16 {
			t.Errorf("inputs %d and %d are one: %s", before, i, id)
		}
		seen[id] = i
		if in.Spent != nil && in.Spent.Day != "" || in.Resumed != nil || in.Expired != nil {
			continue // these are of their time
		}
		if in.At = "later"; in.Identity() != id {
			t.Errorf("input %d is another when it is read later", i)
		}
	}
}

// TestAppliedIsBounded: the oldest inputs are forgotten, the newest are not.
func TestAppliedIsBounded(t *testing.T) {
	var th Thread
	th, _ = Apply(th, step(th, 0, "asks why?"))
	for n := 1; n < maxApplied+10; n++ {
		th, _ = Apply(th, Input{Key: key, Decision: &decision.Record{N: int64(n), Kind: decision.Settle}})
		if len(th.Applied) != min(n+1, maxApplied) {
			t.Fatalf("of %d inputs %d are kept", n+1, len(th.Applied))
		}
	}
	last := Input{Key: key, Decision: &decision.Record{N: int64(maxApplied + 9), Kind: decision.Settle}}
	if th.Applied[maxApplied-1] != last.Identity() {
		t.Error("the newest is not the last")
	}
	first := Input{Key: key, Decision: &decision.Record{N: 10, Kind: decision.Settle}}
	if th.Applied[0] != first.Identity() {
		t.Error("more than the oldest was forgotten")
	}
}

func TestContextIsBounded(t *testing.T) {
	var th Thread
	for n, w := range append([]string{"asks why?"},
		strings.Split(strings.Repeat("colleague c;", maxContext+5)+"colleague last", ";")...) {
		th, _ = Apply(th, step(th, n, w))
	}
	for _, ms := range [][]Message{th.Context, th.HumanReplies} {
		if len(ms) != maxContext || ms[maxContext-1].Content != "last" {
			t.Errorf("%d messages, the last %+v", len(ms), ms[len(ms)-1])
		}
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		messages []Message
		want     string
	}{
		{nil, "c th o"},
		{[]Message{{MessageID: "1"}}, "c th 1"},
		{[]Message{{MessageID: "1"}, {MessageID: "2"}}, "c th 2"},
		{[]Message{{MessageID: "1", Inferred: true}}, "c 1 1"},
		{[]Message{{MessageID: "1"}, {MessageID: "2", Inferred: true}}, "c 2 2"},
		{[]Message{{MessageID: "1", Inferred: true}, {MessageID: "2"}}, "c th 2"},
	} {
		th := Thread{ChatID: "c", ThreadID: "th", OriginalMessageID: "o", Messages: tt.messages}
		chat, thread, reply := th.Target()
		if got := fmt.Sprint(chat, " ", thread, " ", reply); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.messages, got, tt.want)
		}
	}
	e := &event.Classified{Event: event.Event{MessageID: "1", ThreadInferred: "x", Deleted: true,
		Content: "c", CreateTime: "t", Sender: event.Sender{ID: "s", Name: "n"}}, IsBotMention: true}
	want := Message{MessageID: "1", SenderID: "s", SenderName: "n", At: "t", Content: "c",
		Mention: true, Deleted: true, Inferred: true}
	if got := From(e); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestAtRest(t *testing.T) {
	for status, want := range map[string]bool{Investigating: false, AwaitingValidation: false,
		BouncedRound1: false, Escalated: false, PendingUser: true, Closed: true} {
		if got := (&Thread{Status: status}).AtRest(); got != want {
			t.Errorf("%s: %v", status, got)
		}
	}
}

// TestFile: the triage file is due with the post of the draft that it came with.
func TestFile(t *testing.T) {
	path := "triage/x.md"
	th := Thread{Cycle: 2, TriageFilePath: &path,
		InvestigatorReturn: &draft.Return{ProposedTriageFile: &draft.TriageFile{Content: "c"}}}
	none := Thread{Cycle: 2}
	for _, tt := range []struct {
		name string
		th   Thread
		in   Input
		due  bool
	}{
		{"posted", th, Input{Reply: &outbox.Reply{Outcome: outbox.Posted, Cycle: 2}}, true},
		{"no reply", th, Input{}, false},
		{"refused", th, Input{Reply: &outbox.Reply{Outcome: outbox.Refused, Cycle: 2}}, false},
		{"of another cycle", th, Input{Reply: &outbox.Reply{Outcome: outbox.Posted, Cycle: 1}}, false},
		{"no file", none, Input{Reply: &outbox.Reply{Outcome: outbox.Posted, Cycle: 2}}, false},
	} {
		got, content, due := tt.th.File(tt.in)
		if due != tt.due || due && (got != path || content != "c") || !due && got+content != "" {
			t.Errorf("%s: %s %q %v", tt.name, got, content, due)
		}
	}
}

// TestBroke: what waits for budget, and for which run.
func TestBroke(t *testing.T) {
	i, v := "i", "v"
	for _, tt := range []struct {
		th       Thread
		run      string
		validate bool
	}{
		{Thread{Status: PendingUser, Badge: broke, InvestigatorTaskID: &i}, "i", false},
		{Thread{Status: PendingUser, Badge: broke, InvestigatorTaskID: &i, ValidatorTaskID: &v}, "i", false},
		{Thread{Status: PendingUser, Badge: broke, InvestigatorTaskID: &i,
			InvestigatorReturn: &draft.Return{}}, "i", false},
		{Thread{Status: PendingUser, Badge: broke, InvestigatorTaskID: &i, ValidatorTaskID: &v,
			InvestigatorReturn: &draft.Return{}}, "v", true},
		{Thread{Status: PendingUser, Badge: "failed", InvestigatorTaskID: &i}, "", false},
		{Thread{Status: Closed, Badge: broke, InvestigatorTaskID: &i}, "", false},
		{Thread{Status: PendingUser, Badge: broke}, "", false},
	} {
		if run, validate := tt.th.Broke(); run != tt.run || validate != tt.validate {
			t.Errorf("%+v: %q %v", tt.th, run, validate)
		}
	}
}

// TestEarlierBadge shows the badge of a verdict from a version that compared no sentences in
// today's words; the file stays.
func TestEarlierBadge(t *testing.T) {
	h := home(t)
	for _, tt := range []struct{ proved, badge, want string }{
		{"", "✓ validated", verdict.Earlier},
		{"", "✓ validated, asks for a longer look", verdict.Earlier + ", asks for a longer look"},
		{"", "disagreement", "disagreement"},
		{verdict.Validated, "✓ validated, attacked by m", "✓ validated, attacked by m"},
	} {
		th := &Thread{Key: "local.dev.1", Status: PendingUser, Badge: tt.badge,
			ValidatorReturn: &verdict.Verdict{Verdict: verdict.Pass, Proved: tt.proved}}
		if err := th.Save(h); err != nil {
			t.Fatal(err)
		}
		if got, err := Load(h, th.Key); err != nil || got.Badge != tt.want {
			t.Errorf("%q: %v %+v, want %q", tt.badge, err, got, tt.want)
		}
	}
}
