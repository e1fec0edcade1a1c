package decision

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
)

func home(t testing.TB) *durable.Home {
	t.Helper()
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func add(t testing.TB, h *durable.Home, text string) Record {
	t.Helper()
	r, err := Append(h, Record{Kind: Offer, By: "d", Key: "k", Cycle: 1, Text: text, DraftSHA256: Sum(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAppendChains(t *testing.T) {
	h := home(t)
	var given []Record
	for i := range 3 {
		given = append(given, add(t, h, fmt.Sprintf("<%d> & \u2028", i)))
	}
	b, err := h.ReadFile(LogName)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	rs, err := Read(h)
	if err != nil || len(rs) != 3 {
		t.Fatal(len(rs), err)
	}
	for i, r := range rs {
		prev := ""
		if i > 0 {
			prev = Sum(lines[i-1])
		}
		if g := given[i]; g.N != r.N || g.Prev != r.Prev || g.At != r.At || g.Text != r.Text {
			t.Errorf("Append said %+v, the log has %+v", g, r)
		}
		if !strings.Contains(lines[i], fmt.Sprintf(`"<%d> &`, i)) {
			t.Errorf("a person cannot read %s", lines[i])
		}
		if r.N != int64(i+1) || r.Prev != prev || r.At == "" || Sum(r.Text) != r.DraftSHA256 {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	if n, last, err := Verify(h); n != 3 || last != Sum(lines[2]) || err != nil {
		t.Errorf("verify: %d, %s, %v", n, last, err)
	}
}

// Programs that append at once make one chain.
func TestAppendsAtOnce(t *testing.T) {
	h := home(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				add(t, h, fmt.Sprint(i, " ", j))
			}
		})
	}
	all.Wait()
	if n, _, err := Verify(h); n != 160 || err != nil {
		t.Errorf("%d records, %v", n, err)
	}
}

func TestBrokenChain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		edit   func(lines []string) []string
		append bool // Append sees it too
		says   string
	}{
		{"changed", func(l []string) []string {
			l[0] = strings.Replace(l[0], "one", "One", 1)
			return l
		}, false, "record 2: broken chain: it does not follow"},
		{"changed before the last", func(l []string) []string {
			l[1] = strings.Replace(l[1], "two", "Two", 1)
			return l
		}, true, "record 3: broken chain: it does not follow"},
		{"taken out", func(l []string) []string {
			return append(l[:1], l[2:]...)
		}, true, "record 2: broken chain: its number is 3"},
		{"put in", func(l []string) []string {
			return []string{l[0], l[0], l[1], l[2]}
		}, false, "record 2: broken chain: its number is 1"},
		{"swapped", func(l []string) []string {
			l[0], l[1] = l[1], l[0]
			return l
		}, true, "record 1: broken chain: its number is 2"},
		{"head cut", func(l []string) []string {
			return l[1:]
		}, false, "record 1: broken chain: its number is 2"},
		{"no JSON", func(l []string) []string {
			l[2] = "hello"
			return l
		}, true, "record 3: broken chain: invalid"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := home(t)
			for _, text := range []string{"one", "two", "three"} {
				add(t, h, text)
			}
			b, err := h.ReadFile(LogName)
			if err != nil {
				t.Fatal(err)
			}
			lines := tt.edit(strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"))
			text := strings.Join(lines, "\n") + "\n"
			if err := os.WriteFile(h.Path(LogName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = Read(h)
			if status, _ := sysexit.Of(err); !errors.Is(err, ErrChain) || status != sysexit.Data {
				t.Errorf("read: %v, status %d", err, status)
			}
			if _, _, err := Verify(h); !errors.Is(err, ErrChain) {
				t.Errorf("verify: %v", err)
			}
			var chain Chain
			var broken error
			for _, l := range lines {
				if err := chain.Link([]byte(l)); err != nil {
					broken = err
					break
				}
			}
			if !errors.Is(broken, ErrChain) || tt.name != "no JSON" &&
				!strings.Contains(err.Error(), broken.Error()) {
				t.Errorf("link: %v, next: %v", broken, err)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("says %v, want %s", err, tt.says)
			}
			if !tt.append {
				return
			}
			if _, err := Append(h, Record{Kind: Redo, Key: "k"}); !errors.Is(err, ErrChain) {
				t.Errorf("append: %v", err)
			}
			if after, _ := h.ReadFile(LogName); string(after) != text {
				t.Error("append changed a broken log")
			}
		})
	}
}

func TestTail(t *testing.T) {
	h := home(t)
	tail := NewTail(h)
	var got []string
	read := func() error {
		got = nil
		return tail.Next(func(r Record) error { got = append(got, r.Text); return nil })
	}
	if err := read(); err != nil || got != nil {
		t.Fatalf("no log: %v, %v", got, err)
	}
	add(t, h, "one")
	add(t, h, "two")
	if err := read(); err != nil || fmt.Sprint(got) != "[one two]" {
		t.Fatalf("%v, %v", got, err)
	}
	f, err := os.OpenFile(h.Path(LogName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"n":3,"prev"`); err != nil { // killed in the middle
		t.Fatal(err)
	}
	if err := read(); err != nil || got != nil {
		t.Fatalf("torn: %v, %v", got, err)
	}
	add(t, h, "three")
	if err := read(); err != nil || fmt.Sprint(got) != "[three]" {
		t.Fatalf("%v, %v", got, err)
	}
	if err := os.Truncate(h.Path(LogName), 10); err != nil {
		t.Fatal(err)
	}
	if err := read(); !errors.Is(err, ErrChain) {
		t.Errorf("cut: %v", err)
	}
}

func TestAppendRefuses(t *testing.T) {
	h := home(t)
	for name, text := range map[string]string{"invalid UTF-8": "a\xffb", "huge": strings.Repeat("x", 2<<20)} {
		if _, err := Append(h, Record{Kind: Offer, Key: "k", Text: text}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if rs, err := Read(h); len(rs) != 0 || err != nil {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

// TestAppendBounds: a record may be as long as a line, and no longer; its given time is kept.
func TestAppendBounds(t *testing.T) {
	h := home(t)
	at := "2026-01-02T03:04:05Z"
	r, err := Append(h, Record{Kind: Offer, Key: "k", At: at})
	if err != nil || r.At != at {
		t.Fatalf("at %s, %v", r.At, err)
	}
	r = Record{Kind: Offer, Key: "k", At: at, N: 2, Prev: strings.Repeat("0", 64), Text: "x"}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Text = strings.Repeat("x", ndjson.MaxLine-len(b))
	if _, err := Append(h, Record{Kind: Offer, Key: "k", At: at, Text: r.Text + "x"}); err == nil {
		t.Error("a longer one was taken")
	}
	if _, err := Append(h, r); err != nil {
		t.Errorf("as long as may be: %v", err)
	}
	if rs, err := Read(h); len(rs) != 2 || err != nil {
		t.Errorf("%d records, %v", len(rs), err)
	}
}

// TestAppendToWhatIsNoLog: no record is put behind what cannot be read as one.
func TestAppendToWhatIsNoLog(t *testing.T) {
	h := home(t)
	garbage := "hello"
	text := garbage + "\n" + `{"n":1,"prev":"` + Sum(garbage) + `"}` + "\n"
	if err := h.Replace(LogName, []byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(h, Record{Kind: Redo, Key: "k"}); !errors.Is(err, ErrChain) {
		t.Errorf("behind garbage: %v", err)
	}
	for n := range 6 {
		last, hash, err := lastLink(&failing{strings.NewReader(text), n}, int64(len(text)))
		if !errors.Is(err, errRead) || last != 0 || hash != "" {
			t.Errorf("read %d fails: %d, %q, %v", n+1, last, hash, err)
		}
	}
	if err := h.Remove(LogName); err != nil {
		t.Fatal(err)
	}
	if err := h.MkdirAll(LogName); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(h, Record{Kind: Redo, Key: "k"}); err == nil {
		t.Error("appended to a folder")
	}
	if _, err := Read(h); err == nil || errors.Is(err, ErrChain) {
		t.Errorf("read a folder: %v", err)
	}
	h.Close()
	_, err := Read(h)
	if status, _ := sysexit.Of(err); status != sysexit.IO {
		t.Errorf("read a home that is closed: %v", err)
	}
}

var errRead = errors.New("unreadable")

// failing is a file that can be read so many times.
type failing struct {
	io.ReaderAt
	left int
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errRead
	}
	return f.ReaderAt.ReadAt(p, off)
}

// TestTailClosesItsFile: a program reads the log for months.
func TestTailClosesItsFile(t *testing.T) {
	h := home(t)
	add(t, h, "one")
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close it, some day
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	before := open()
	for range 30 {
		if _, err := Read(h); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+5 {
		t.Errorf("%d files open before, %d after", before, after)
	}
}

// TestTailStops at an error of its reader, and resumes there; a removed log is not an empty one.
func TestTailStops(t *testing.T) {
	h := home(t)
	add(t, h, "one")
	add(t, h, "two")
	tail := NewTail(h)
	enough := errors.New("enough")
	seen := 0
	err := tail.Next(func(Record) error { seen++; return enough })
	if status, _ := sysexit.Of(err); !errors.Is(err, enough) || status == sysexit.Data || seen != 1 {
		t.Errorf("stopped after %d with %v", seen, err)
	}
	if err := tail.Next(func(Record) error { seen++; return nil }); err != nil || seen != 2 {
		t.Errorf("went on to %d, %v", seen, err)
	}
	b, err := h.ReadFile(LogName)
	if err != nil || tail.Offset() != int64(len(b)) {
		t.Errorf("stands at %d of %d, %v", tail.Offset(), len(b), err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var chain Chain
	for i, l := range lines {
		if err := chain.Link([]byte(l)); err != nil {
			t.Fatal(err)
		}
		if n, hash := chain.Last(); n != int64(i+1) || hash != Sum(l) {
			t.Errorf("the chain ends with %d, %s", n, hash)
		}
	}
	if err := h.Remove(LogName); err != nil {
		t.Fatal(err)
	}
	if err := tail.Next(func(Record) error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is gone, and the tail says %v", err)
	}
}

func FuzzChain(f *testing.F) {
	f.Add([]byte(`{"n":1,"prev":""}`))
	f.Add([]byte(`{"n":1,"prev":"","n":2}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var c Chain
		r, err := c.Next(line)
		if err == nil && (r.N != 1 || r.Prev != "") || err != nil && !errors.Is(err, ErrChain) {
			t.Errorf("%q: %+v, %v", line, r, err)
		}
	})
}

func BenchmarkRead100000(b *testing.B) {
	h := home(b)
	text := strings.Repeat("The limit is five. ", 20)
	var chain Chain
	var buf strings.Builder
	for i := range 100_000 {
		line := fmt.Sprintf(`{"n":%d,"prev":%q,"at":"2026-01-02T03:04:05Z","kind":"offer","by":"d","via":"code","key":"local.dev.%d","cycle":1,"draft_sha256":%q,"text":%q}`,
			i+1, chain.prev, i, Sum(text), text)
		if _, err := chain.Next([]byte(line)); err != nil {
			b.Fatal(err)
		}
		buf.WriteString(line + "\n")
	}
	if err := os.WriteFile(h.Path(LogName), []byte(buf.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := Verify(h); err != nil {
			b.Fatal(err)
		}
	}
}
