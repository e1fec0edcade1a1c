package outbox

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/event"
)

// TestPlan goes through the table at the top of the package.
func TestPlan(t *testing.T) {
	fresh := &Entry{State: Intent}
	tried := &Entry{State: Intent, Tries: 1}
	posted := &Entry{State: Posted, Tries: 1}
	parked := &Entry{State: Parked, Tries: 1}
	refused := &Entry{State: Refused, Tries: 1}
	dropped := &Entry{State: Dropped, Tries: 1}
	for _, tt := range []struct {
		state         string
		claimed, line bool
		entries       []*Entry
		step          string
		part          int
	}{
		{"S0", false, false, nil, "recheck", -1},
		{"S1", true, false, nil, "write", -1},
		{"S1", true, false, []*Entry{fresh, nil}, "write", -1},
		{"S1", true, false, []*Entry{nil, fresh}, "write", -1},
		{"S2", true, false, []*Entry{fresh, fresh}, "try", 0},
		{"S2", true, false, []*Entry{posted, fresh}, "try", 1},
		{"S3", true, false, []*Entry{tried, fresh}, "look", 0},
		{"S3", true, false, []*Entry{posted, tried}, "look", 1},
		{"S4", true, false, []*Entry{posted, posted}, "line", -1},
		{"S5", true, false, []*Entry{parked, fresh}, "wait", 0},
		{"S5", true, false, []*Entry{posted, parked}, "wait", 1},
		{"S6", true, false, []*Entry{refused, fresh}, "line", -1},
		{"S6", true, false, []*Entry{posted, dropped, fresh}, "line", -1},
		{"S7", true, true, []*Entry{posted, posted}, "file", -1},
		{"S7", true, true, []*Entry{refused, fresh}, "file", -1},
		{"S8", true, true, []*Entry{nil, posted}, "file", -1},
		{"S8", true, true, []*Entry{nil, nil}, "rest", -1},
		{"S8", true, true, nil, "rest", -1},
	} {
		step, part, err := Plan(tt.claimed, tt.line, tt.entries)
		if step.String() != tt.step || part != tt.part || err != nil {
			t.Errorf("%s: %v of part %d, %v; want %v of %d", tt.state, step, part, err, tt.step, tt.part)
		}
	}
	for _, bad := range []struct {
		claimed, line bool
		entries       []*Entry
	}{{false, true, nil}, {false, false, []*Entry{fresh}}, {true, false, []*Entry{{State: "sent", Tries: 1}}},
		{true, false, []*Entry{{State: "sent"}}}} {
		if step, _, err := Plan(bad.claimed, bad.line, bad.entries); err == nil {
			t.Errorf("%+v is not a legal state, and planned as %v", bad, step)
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range []struct {
		key   string
		cycle int
		sha   string
		part  int
	}{{"a.1", 1, "ff", 1}, {"a", 11, "ff", 1}, {"a", 1, "1ff", 1}, {"a", 1, "ff", 11}, {"a", 1, "ff", 1},
		{"a.1", 11, "ff", 1}} {
		key := PostKey(k.key, k.cycle, k.sha, k.part)
		if seen[key] || len(key) != 32 || strings.Trim(key, "0123456789abcdef") != "" ||
			key != PostKey(k.key, k.cycle, k.sha, k.part) {
			t.Errorf("%+v: %q", k, key)
		}
		seen[key] = true
	}
	long := ID(event.Key("slack", strings.Repeat("C", 300), "1"), 1<<30, strings.Repeat("f", 64), 1<<20)
	if len(long)+len(".json")+len(".1234567890.") > 255 {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limit      int
		want       string // parts joined by |
	}{
		{"short", "one", 5, "one"},
		{"exact", "12345", 5, "12345"},
		{"paragraph", "One two.\n\nThree four.", 15, "One two.\n\n|Three four."},
		{"line", "one two\nthree four", 12, "one two\n|three four"},
		{"sentence", "It is it. So it is.", 13, "It is it. |So it is."},
		{"word", "alpha beta gamma", 12, "alpha beta |gamma"},
		{"early places are passed over", "a b cccccccccccc", 8, "a b cccc|cccccccc"},
		{"runes are counted", "日本語日本語", 4, "日本語日|本語"},
		{"full stop of another script", "日本語。日本語", 5, "日本語。|日本語"},
		{"family stays together", "ab👨‍👩‍👧cd", 5, "ab|👨‍👩‍👧|cd"},
		{"longer than a part", "👨‍👩‍👧", 2, "👨‍|👩‍|👧"},
		{"blank tail stays", "abcd     ", 5, "abcd     "},
		{"no limit", "abc", 0, "abc"},
		{"only one may", "abc", 1, "a|b|c"},
		{"a place in the middle counts", "abc defg", 6, "abc |defg"},
		{"no blank part before a paragraph", "   \n\nabcdef", 6, "   \n\na|bcdef"},
		{"no blank part before what is cut", "  e\u0301x", 3, "  e|\u0301x"},
	} {
		if got := strings.Join(Split(tt.text, tt.limit), "|"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A hostile text, all one character to the eye, costs no more than another.
func TestSplitIsLinear(t *testing.T) {
	text := "a" + strings.Repeat("\u0301", 200_000)
	if n := len(Split(text, 100)); n < 2000 {
		t.Errorf("%d parts", n)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("One two.\n\nThree. Four? 👨‍👩‍👧 five six seven", 9)
	f.Add("    \n\n   a   ", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1 || limit > 1000 || len(text) > 5000 || !utf8.ValidString(text) {
			return
		}
		parts := Split(text, limit)
		if strings.Join(parts, "") != text {
			t.Fatalf("%q became %q", text, parts)
		}
		for i, p := range parts {
			if n := utf8.RuneCountInString(strings.TrimRight(p, " \n\t\r\v\f\u0085\u00a0")); n > limit &&
				strings.TrimSpace(text) == text {
				t.Errorf("part %d has %d characters, at most %d: %q", i, n, limit, p)
			}
			if strings.TrimSpace(p) == "" && len(parts) > 1 && !blankRun(text, limit) {
				t.Errorf("part %d is blank: %q", i, parts)
			}
		}
	})
}

// blankRun reports whether text has n consecutive blanks.
func blankRun(text string, n int) bool {
	run := 0
	for _, r := range text {
		if run++; !unicode.IsSpace(r) {
			run = 0
		}
		if run >= n {
			return true
		}
	}
	return false
}

func TestStore(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	e := &Entry{ID: ID("k", 1, "abcdefabcdefabcdef", 1), Key: "k", Cycle: 1,
		DraftSHA256: "abcdefabcdefabcdef", Part: 1, Parts: 1, State: Intent}
	if err := e.Save(h); err != nil {
		t.Fatal(err)
	}
	got, err := Open(h)
	if err != nil || len(got) != 1 || *got[0] != *e {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := h.Replace(Dir+"/a note", nil); err != nil { // no entry, and before it in the list
		t.Fatal(err)
	}
	if got, err := Open(h); err != nil || len(got) != 1 {
		t.Fatalf("beside a file that is not an entry: %+v, %v", got, err)
	}
	if err := e.Finish(h); err != nil {
		t.Fatal(err)
	}
	if got, err := Open(h); len(got) != 0 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRemove(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	e := &Entry{ID: ID("k", 1, "ab", 1), Key: "k", Cycle: 1, DraftSHA256: "ab", Part: 1, Parts: 1,
		State: Intent}
	if err := errors.Join(e.Save(h), e.Remove(h)); err != nil {
		t.Fatal(err)
	}
	if got, err := Open(h); len(got) != 0 || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if h.Exists(Done) {
		t.Error("what was never posted went to done")
	}
}

// TestGoneMeanwhile: an entry that is finished while another program lists them is not an error
// for that program. A dangling name simulates this.
func TestGoneMeanwhile(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := h.Replace(Dir+"/k.1.ab.1.json",
		[]byte(`{"id":"k.1.ab.1","key":"k","cycle":1,"draft_sha256":"ab","part":1,"parts":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", h.Path(Dir+"/a.1.ab.1.json")); err != nil {
		t.Skip(err)
	}
	if got, err := Open(h); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestOpenRefuses: an untrusted entry is an error, since skipping it could cause a second post.
func TestOpenRefuses(t *testing.T) {
	good := ID("k", 1, "ab", 1)
	for _, tt := range []struct {
		name, file, text string
		status           int
	}{
		{"torn", good, `{"id":`, sysexit.Data},
		{"one value of another type", good,
			`{"id":"k.1.ab.1","key":"k","cycle":1,"draft_sha256":"ab","part":1,"parts":1,"tries":"1"}`,
			sysexit.Data},
		{"another's file", "k.1.ab.2",
			`{"id":"k.1.ab.1","key":"k","cycle":1,"draft_sha256":"ab","part":1,"parts":1}`, sysexit.Data},
		{"another's fields", good,
			`{"id":"k.1.ab.1","key":"k","cycle":2,"draft_sha256":"ab","part":1,"parts":1}`, sysexit.Data},
		{"no such part", good, `{"id":"k.1.ab.1","key":"k","cycle":1,"draft_sha256":"ab","part":1,"parts":0}`,
			sysexit.Data},
		{"part 0", "k.1.ab.0", `{"id":"k.1.ab.0","key":"k","cycle":1,"draft_sha256":"ab","part":0,"parts":1}`,
			sysexit.Data},
		{"a folder", "x.json/" + good, `{}`, sysexit.IO},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, err := durable.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if err := h.Replace(Dir+"/"+tt.file+".json", []byte(tt.text)); err != nil {
				t.Fatal(err)
			}
			_, err = Open(h)
			if status, _ := sysexit.Of(err); err == nil || status != tt.status {
				t.Errorf("went on: %v", err)
			}
		})
	}
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := os.WriteFile(h.Path(Dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(h); err == nil {
		t.Error("a file in the folder's place was not an error")
	}
}

// TestEveryFlipIsSeen: no bit of a file changes unseen.
func TestEveryFlipIsSeen(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := &decision.Record{Key: "local.dev.1", Cycle: 1, Text: "It is 5.",
		DraftSHA256: decision.Sum("It is 5.")}
	e := Derive(r, &decision.Target{Platform: "local", ChatID: "dev", ThreadID: "1", ReplyToID: "1"}, 1000)[0]
	e.State, e.Tries, e.Why = Parked, 1, "who knows"
	if err := e.Save(h); err != nil {
		t.Fatal(err)
	}
	good, err := h.ReadFile(e.path())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(h, Dir, e.ID); err != nil || *got != *e {
		t.Fatalf("%+v, %v", got, err)
	}
	for at := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[at] ^= 1 << bit
			if err := os.WriteFile(h.Path(e.path()), b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Read(h, Dir, e.ID)
			if status, _ := sysexit.Of(err); status != sysexit.Data {
				t.Fatalf("bit %d of byte %d, %q: %v", bit, at, good[max(0, at-10):at+1], err)
			}
		}
	}
}

var stepNames = [...]string{"recheck", "write", "try", "look", "wait", "line", "file", "rest"}

func (s Step) String() string { return stepNames[s] }
