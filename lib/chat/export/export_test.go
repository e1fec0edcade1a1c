package export

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/chat/chattest"
	"tri/lib/record/event"
)

// read returns the events of an export as lines to compare, the log messages, and the error.
func read(t *testing.T, path string) (format string, rows, said []string, err error) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		return "", nil, nil, err
	}
	defer r.Close()
	to := chattest.Handler{
		Log:   func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) },
		Event: func(e event.Event) error { rows = append(rows, row(e)); return nil },
	}
	err = r.Run(context.Background(), chat.Resume{}, to)
	return r.Format(), rows, said, err
}

func row(e event.Event) string {
	thread := "-"
	if e.ThreadID != nil {
		thread = *e.ThreadID
	}
	files := ""
	for _, a := range e.Attachments {
		files += " file:" + a.Name
	}
	if e.ReplyToID != "" {
		files += " re:" + e.ReplyToID
	}
	return fmt.Sprintf("%s %s %s(%s) %s %s %s/%s/%s %q %v%s", e.CreateTime, e.Platform, e.ChatID, e.ChatName,
		e.MessageID, thread,
		e.Sender.ID, e.Sender.Type, e.Sender.Name, e.Content, e.Mentions, files)
}

var exports = map[string]struct {
	format  string
	rows    []string
	notices int
	refused int
}{
	"slack": {"slack", []string{
		`2024-01-01T09:06:40.000001Z slack C1(general) 1704100000.000001 - U1/user/ana "first\nday 👍" []`,
		`2024-01-02T10:06:41.0002Z slack C1(general) 1704190001.000200 - U1/user/ana "hi @Ben Roy, where is the <retry> limit? see the page (https://example.com/a) or https://example.com/b in #general" [U2]`,
		`2024-01-02T10:07:10Z slack D024BE91L(D024BE91L) 1704190030.000000 - U2/user/Ben Roy "between the two" []`,
		`2024-01-02T10:07:40.0003Z slack C1(general) 1704190060.000300 1704190001.000200 U2/user/Ben Roy "in client.go" []`,
		`2024-01-02T10:07:41.0004Z slack C1(general) 1704190061.000400 - B9/bot/ci "build failed" []`,
		`2024-01-02T10:07:42.0005Z slack C1(general) 1704190062.000500 - UB/bot/deploy "@here deployed" []`,
		`2024-01-02T10:07:43.0006Z slack C1(general) 1704190063.000600 - U1/user/ana "" [] file:shot.png`,
	}, 1, 2},
	"discord": {"discord", []string{
		`2024-01-02T09:00:00.123Z discord 20(help) 100 - 5/user/Ana "where is the limit, @Ben?" [7] file:x.log`,
		`2024-01-02T09:00:40Z discord 20(help) 111 100 5/user/ana "asking here" []`,
		`2024-01-02T09:01:00Z discord 20(help) 102 - 7/user/Ben "in client.go" [] re:100`,
		`2024-01-02T09:02:00Z discord 20(help) 103 - 8/bot/helper "42" []`,
	}, 2, 0},
	"telegram.json": {"telegram", []string{
		`2024-01-02T10:00:01Z telegram 1234567890(Team) 2 1 user5/user/Ana "hi @ben_r, Chen: where is retry? here (https://example.com/)" [ben_r user9]`,
		`2024-01-02T10:00:10Z telegram 77(77) 9 - user5/user/Ana "between the two" [] file:a b.log`,
		`2024-01-02T10:00:20Z telegram 1234567890(Team) 3 1 user6/user/Ben "in client.go\v!" [] re:2`,
		`2024-01-02T10:00:21Z telegram 1234567890(Team) 4 - user7/user/ "old export" [] file:photo_1.jpg`,
		`2024-01-02T10:00:22Z telegram 1234567890(Team) 5 - user8/bot/Dice "" []`,
	}, 1, 0},
	"mattermost.jsonl": {"mattermost", []string{
		`2024-01-02T10:00:00.123Z mattermost core/help(Help) ROOT - ana/user/Ana Lima "@ben. and @tri: where is the limit? @nobody" [ben tri]`,
		`2024-01-02T10:00:30Z mattermost direct/ana,ben(ana,ben) * - ben/user/ben "between the two" []`,
		`2024-01-02T10:00:50Z mattermost core/help(Help) * - ana/bot/Ana Lima "hook" []`,
		`2024-01-02T10:01:00Z mattermost core/help(Help) * ROOT tri/bot/ "client.go:42" []`,
		`2024-01-02T10:01:10Z mattermost core/help(Help) * ROOT ben/user/ben "thanks" [] file:y.log`,
	}, 1, 1},
}

// TestFormats reads each export as it is, and as a zip.
func TestFormats(t *testing.T) {
	for name, want := range exports {
		for _, path := range []string{filepath.Join("testdata", name),
			zipped(t, filepath.Join("testdata", name), "")} {
			t.Run(name+filepath.Ext(path), func(t *testing.T) {
				format, rows, said, err := read(t, path)
				if format != want.format {
					t.Errorf("taken for %q", format)
				}
				compareRows(t, rows, want.rows)
				if status, _ := sysexit.Of(err); want.refused > 0 &&
					(status != sysexit.Data ||
						!strings.Contains(err.Error(), fmt.Sprint(want.refused, " parts"))) ||
					want.refused == 0 && err != nil {
					t.Errorf("ended with %v, want %d refused", err, want.refused)
				}
				if len(said) != want.refused+1 ||
					!strings.HasSuffix(said[len(said)-1],
						fmt.Sprintf("%d messages; notices of the platform left out: %d", len(want.rows),
							want.notices)) {
					t.Errorf("said %q", said)
				}
			})
		}
	}
}

// compareRows lets * stand for any id and ROOT for the first row's.
func compareRows(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	root := strings.Fields(got[0])[3]
	for i := range got {
		w := strings.ReplaceAll(want[i], "ROOT", root)
		w = strings.Replace(w, " * ", " "+strings.Fields(got[i])[3]+" ", 1)
		if got[i] != w {
			t.Errorf("message %d:\ngot  %s\nwant %s", i, got[i], w)
		}
	}
}

// zipped packs a file or folder below a folder called prefix.
func zipped(t *testing.T, path, prefix string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "export.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := zip.NewWriter(f)
	err = filepath.WalkDir(path, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(path), file)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		e, err := w.Create(prefix + filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		_, err = e.Write(raw)
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestNested: a zip that was made of a folder in a folder is the same export.
func TestNested(t *testing.T) {
	format, rows, _, _ := read(t, zipped(t, "testdata/slack", "Team export/"))
	if format != "slack" || len(rows) != len(exports["slack"].rows) {
		t.Errorf("%s with %d messages", format, len(rows))
	}
}

func TestUnknown(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{
		file("empty.json", ""), file("other.json", `{"a":1,"messages":[]}`), file("list.json", `[1,2]`),
		file("text.txt", "ana: hi\n"), file("cut.zip", "PK\x03\x04garbage"),
		file("deep.json", strings.Repeat("[", 1<<20)),
		t.TempDir(),
	} {
		_, err := Open(path)
		if status, _ := sysexit.Of(err); status != sysexit.Data {
			t.Errorf("%s: %v", filepath.Base(path), err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// TestBroken: the data before a defect is read, the defect is reported, and the other files are
// read.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/slack")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "general", "2024-01-01.json"),
		[]byte(`[{"type":"message","user":"U1","text":"kept","ts":"1704100000.000001"},{"type":"mess`),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, rows, said, err := read(t, dir)
	if len(rows) != 7 || !strings.Contains(rows[0], "kept") {
		t.Errorf("%d messages: %v", len(rows), rows)
	}
	if err == nil || !strings.Contains(strings.Join(said, "\n"), "general/2024-01-01.json: from byte") {
		t.Errorf("said %q, ended with %v", said, err)
	}
}

// TestYears: messages of the first and of the last year are in order; one of another year, or with an endless
// name, is refused alone, and so is a Mattermost post, whose replies are kept.
func TestYears(t *testing.T) {
	message := func(id, at, name string) string {
		return fmt.Sprintf(`{"id":%q,"type":"Default","timestamp":%q,"content":"x","author":{"id":"7","name":%q}}`,
			id, at, name)
	}
	for text, want := range map[string]string{
		`{"guild":{},"channel":{"id":"5"},"messages":[` + strings.Join([]string{
			message("1", "9999-12-31T23:59:59Z", "a"), message("2", "9999-12-31T23:59:59-02:00", "a"),
			message("3", "0001-01-01T00:00:00Z", "a"), message("4", "0001-01-01T00:00:00+02:00", "a"),
			message("5", "2026-01-01T00:00:00Z", "a"), message("6", "2026-01-02T00:00:00Z", strings.Repeat("n", 1<<20)),
		}, ",") + "]}": "0001 2026 9999 ",
		`{"type":"version"}` + "\n" + `{"type":"post","post":{"user":"","create_at":1,"replies":[
			{"user":"ana","create_at":0},{"user":"ben","create_at":1767225600000,"message":"kept"},
			{"user":"ben","create_at":400000000000000,"message":"late"}]}}`: "2026 ",
	} {
		path := filepath.Join(t.TempDir(), "export.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, rows, said, err := read(t, path)
		years := ""
		for _, row := range rows {
			years += row[:4] + " "
		}
		if years != want || err == nil || len(said) < 2 {
			t.Errorf("%q, want %q; said %q, %v", years, want, said, err)
		}
	}
}

// TestBomb: an archive that unpacks to a multiple of its size costs little memory and is reported.
func TestBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and alone: make check has it without the race detector")
	}
	for name, inside := range map[string]io.Reader{
		"spaces": io.MultiReader(strings.NewReader(`[`), io.LimitReader(repeat(' '), 1<<30)),
		"text": io.MultiReader(strings.NewReader(`[{"type":"message","text":"`),
			io.LimitReader(repeat('x'), 1<<30)),
	} {
		path := filepath.Join(t.TempDir(), "bomb.zip")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := zip.NewWriter(f)
		e, err := w.Create("general/2024-01-01.json")
		if err == nil {
			_, err = io.Copy(e, io.LimitReader(inside, 3*maxValue))
		}
		if err := errors.Join(err, w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, rows, said, err := read(t, path)
		if err == nil || len(rows) > 0 || len(said) == 0 || !strings.Contains(said[0], "larger than") {
			t.Errorf("%s: %d messages, said %q, ended with %v after %v", name, len(rows), said, err,
				time.Since(start))
		}
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestOrder sorts more than fits into memory, by time and, for the same time, by order of arrival.
func TestOrder(t *testing.T) {
	o := newOrder(t.TempDir())
	o.limit = 4 << 10
	defer o.close()
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 3000
	for i := range n {
		at := time.Unix(int64(rng.IntN(50)), 0)
		if err := o.add(event.Event{MessageID: fmt.Sprint(i), CreateTime: at.UTC().Format(time.RFC3339)},
			at); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.runs) < 10 {
		t.Fatalf("only %d pieces: the test tests nothing", len(o.runs))
	}
	last, count := event.Event{}, 0
	err := o.each(func(es []event.Event) error {
		for _, e := range es {
			var a, b int
			fmt.Sscan(last.MessageID, &a)
			fmt.Sscan(e.MessageID, &b)
			if e.CreateTime < last.CreateTime || e.CreateTime == last.CreateTime && b <= a {
				t.Fatalf("%s %s behind %s %s", e.CreateTime, e.MessageID, last.CreateTime, last.MessageID)
			}
			last = e
			count++
		}
		return nil
	})
	if err != nil || count != n {
		t.Errorf("%d of %d, %v", count, n, err)
	}
	if left, _ := os.ReadDir(o.dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestMended reads in pieces of every size.
func TestMended(t *testing.T) {
	in, want := `a\x0Bb\\x0B\"\\\x1F`, `a\u000Bb\\x0B\"\\\u001F`
	for n := 1; n < 9; n++ {
		got, err := io.ReadAll(&repaired{src: &pieces{[]byte(in), n}})
		if err != nil || string(got) != want {
			t.Errorf("in pieces of %d: %s, %v", n, got, err)
		}
	}
}

type pieces struct {
	rest []byte
	n    int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzOpen: no file makes it panic, or emit a message without its ids.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"testdata/telegram.json", "testdata/mattermost.jsonl",
		"testdata/discord/help.json"} {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(dir, "x.json")
		if err := os.WriteFile(path, bytes.Clone(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		_ = r.Run(context.Background(), chat.Resume{},
			chattest.Handler{Log: func(string, ...any) {}, Event: func(e event.Event) error {
				if e.ChatID == "" || e.MessageID == "" || e.CreateTime == "" || e.Sender.ID == "" {
					t.Errorf("emitted %+v", e)
				}
				return nil
			}})
	})
}
