package decision

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"tri/lib/disk"
	"tri/lib/sysexit"
)

func home(t testing.TB) *disk.Home {
	t.Helper()
	h, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func add(t testing.TB, h *disk.Home, text string) Record {
	t.Helper()
	r, err := Append(h, Record{Kind: Offer, By: "d", Key: "k", Cycle: 1, Text: text, DraftSHA256: Sum(text)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAppendChains(t *testing.T) {
	h := home(t)
	for i := range 3 {
		add(t, h, fmt.Sprintf("<%d> & \u2028", i))
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
	}{
		{"changed", func(l []string) []string { l[0] = strings.Replace(l[0], "one", "One", 1); return l }, false},
		{"changed before the last", func(l []string) []string { l[1] = strings.Replace(l[1], "two", "Two", 1); return l }, true},
		{"taken out", func(l []string) []string { return append(l[:1], l[2:]...) }, true},
		{"put in", func(l []string) []string { return []string{l[0], l[0], l[1], l[2]} }, false},
		{"swapped", func(l []string) []string { l[0], l[1] = l[1], l[0]; return l }, true},
		{"head cut", func(l []string) []string { return l[1:] }, false},
		{"no JSON", func(l []string) []string { l[2] = "hello"; return l }, true},
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
