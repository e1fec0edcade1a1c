package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/disk"
	"tri/lib/event"
	"tri/lib/ndjson"
	"tri/lib/stream"
	"tri/lib/sysexit"
)

// feedOf is a source that tells events, some of them together, and ends.
func feedOf(batches ...[]event.Event) Feed {
	return FromSources(map[string]chat.Source{"test": source(batches)})
}

type source [][]event.Event

func (s source) Run(_ context.Context, r chat.Resume, emit func(event.Event) error) error {
	for _, b := range s {
		if err := r.EmitAll(emit, b); err != nil {
			return err
		}
	}
	return nil
}

func message(i int) event.Event {
	return event.Event{
		Platform: "test", ChatID: "c", ChatName: "c", MessageID: fmt.Sprint(i), MsgType: "text",
		CreateTime: time.Unix(int64(1700000000+i), 0).UTC().Format(time.RFC3339), Content: "text <&> " + strings.Repeat("é\n", i%7),
		Sender: event.Sender{ID: "ana", Type: "user"},
	}
}

func messages(from, to int) (es []event.Event) {
	for i := from; i < to; i++ {
		es = append(es, message(i))
	}
	return es
}

func home(t *testing.T) *disk.Home {
	h, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func options(h *disk.Home, out io.Writer) Options {
	return Options{Home: h, Out: out, Say: func(string, ...any) {}}
}

// checkSeq makes sure that every line's seq is its offset, and returns the ids.
func checkSeq(t *testing.T, text []byte) (ids []string) {
	t.Helper()
	off := int64(0)
	for line := range bytes.Lines(text) {
		e, seq := identify(line)
		if seq != off || line[len(line)-1] != '\n' || ndjson.Check(line[:len(line)-1]) != nil {
			t.Fatalf("at offset %d stands %.80q", off, line)
		}
		ids = append(ids, e.MessageID)
		off += int64(len(line))
	}
	return ids
}

// TestRun keeps each event once, over restarts too, and prints its log.
func TestRun(t *testing.T) {
	h := home(t)
	edit := message(3)
	edit.EditedAt, edit.EditID, edit.Content = "2024-01-01T00:00:00Z", "77", "better"
	gone := message(4)
	gone.Deleted, gone.Content = true, ""
	var out bytes.Buffer
	if err := Run(context.Background(), options(h, &out), feedOf(messages(0, 5), messages(2, 6))); err != nil {
		t.Fatal(err)
	}
	first := out.String()
	if ids := checkSeq(t, out.Bytes()); len(ids) != 6 {
		t.Errorf("kept %v", ids)
	}
	out.Reset()
	err := Run(context.Background(), options(h, &out), feedOf(messages(0, 6), []event.Event{edit, gone, edit, gone}, messages(5, 8)))
	if err != nil {
		t.Fatal(err)
	}
	if ids := checkSeq(t, out.Bytes()); strings.Join(ids, " ") != "0 1 2 3 4 5 3 4 6 7" || !strings.HasPrefix(out.String(), first) {
		t.Errorf("kept %v", ids)
	}
	log, err := h.ReadFile(LogName)
	if err != nil || !bytes.Equal(log, out.Bytes()) {
		t.Errorf("printed is not the log (%v)", err)
	}
}

// TestResume: a source is told, per chat, the latest time of the log.
func TestResume(t *testing.T) {
	h := home(t)
	other := message(1)
	other.ChatID, other.EditedAt = "d", "2030-01-01T00:00:00.5Z"
	if err := Run(context.Background(), options(h, io.Discard), feedOf(messages(0, 9), []event.Event{other})); err != nil {
		t.Fatal(err)
	}
	err := Run(context.Background(), options(h, io.Discard), func(_ context.Context, resume func(string) chat.Resume, _ func([]Item) error) error {
		r := resume("test")
		if r.Say == nil || len(resume("another").Last) != 0 {
			t.Error("a platform is told of another's chats")
		}
		if len(r.Last) != 2 || r.Last["c"].Unix() != 1700000008 || r.Last["d"].Year() != 2030 {
			t.Errorf("told %v", r.Last)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTornTail: what a killed watcher left of a line is cut, and its event is
// kept when the source tells it again.
func TestTornTail(t *testing.T) {
	h := home(t)
	if err := Run(context.Background(), options(h, io.Discard), feedOf(messages(0, 3))); err != nil {
		t.Fatal(err)
	}
	whole, err := h.ReadFile(LogName)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut < len(whole); cut++ {
		if err := os.WriteFile(h.Path(LogName), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Run(context.Background(), options(h, &out), feedOf(messages(0, 3))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), whole) {
			t.Fatalf("cut at %d: %q", cut, out.String())
		}
	}
}

// TestForeignLog: a log whose lines are not where they say is refused.
func TestForeignLog(t *testing.T) {
	for name, text := range map[string]string{
		"cut at the front": `{"seq":244,"platform":"x"}` + "\n",
		"no seq":           `{"platform":"x"}` + "\n",
		"not JSON":         "hello\n",
	} {
		h := home(t)
		if err := os.WriteFile(h.Path(LogName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Run(context.Background(), options(h, io.Discard), feedOf(messages(0, 1)))
		if status, _ := sysexit.Of(err); status != sysexit.Data {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := h.ReadFile(LogName); string(got) != text {
			t.Errorf("%s: changed to %q", name, got)
		}
	}
}

// TestTwo: the second watcher of a home is told to try later.
func TestTwo(t *testing.T) {
	h := home(t)
	err := Run(context.Background(), options(h, io.Discard), func(context.Context, func(string) chat.Resume, func([]Item) error) error {
		err := Run(context.Background(), options(h, io.Discard), feedOf(messages(0, 1)))
		if status, _ := sysexit.Of(err); status != sysexit.TempFail || !errors.Is(err, disk.ErrLocked) {
			t.Errorf("the second: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAfter prints from the window before the later stage's end, and says when
// that was not made from this log.
func TestAfter(t *testing.T) {
	h := home(t)
	const size = 100 << 10
	many := Window/size + 20 // more than the window holds
	big := messages(0, many)
	for i := range big {
		big[i].Content = strings.Repeat("x", size)
	}
	if err := Run(context.Background(), options(h, io.Discard), feedOf(big)); err != nil {
		t.Fatal(err)
	}
	log, err := h.ReadFile(LogName)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(log, []byte("\n"))
	off := 0
	for i := range many - 5 {
		off += len(lines[i])
	}
	after := filepath.Join(t.TempDir(), "later.ndjson")
	write := func(text string) {
		if err := os.WriteFile(after, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (string, error) {
		var out bytes.Buffer
		o := options(h, &out)
		o.After = after
		err := Run(context.Background(), o, feedOf(messages(many+40, many+41)))
		return out.String(), err
	}
	write(fmt.Sprintf(`{"seq":%d,"x":1}`+"\n", off))
	got, err := run()
	log, _ = h.ReadFile(LogName)
	from := len(log) - len(got)
	if err != nil || !strings.HasSuffix(string(log), got) || from < off-Window || from > off-Window+(110<<10) || !strings.HasPrefix(got, `{"seq":`) {
		t.Errorf("printed from %d, the later stage ends at %d; %v", from, off, err)
	}
	for _, none := range []string{"", `{"seq":1}`} { // no whole record yet: all of it
		write(none)
		if got, err := run(); err != nil || len(got) != len(log) {
			t.Errorf("behind %q: %d bytes of %d, %v", none, len(got), len(log), err)
		}
	}
	for _, wrong := range []int{off + 1, len(log) + 5} {
		write(fmt.Sprintf(`{"seq":%d}`+"\n", wrong))
		if _, err := run(); err == nil || !strings.Contains(err.Error(), "not made from this log") {
			t.Errorf("behind seq %d: %v", wrong, err)
		}
	}
}

// TestSlowReader: who does not read does not keep events from the log.
func TestSlowReader(t *testing.T) {
	h := home(t)
	r, w := io.Pipe()
	kept, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), options(h, w), func(ctx context.Context, _ func(string) chat.Resume, keep func([]Item) error) error {
			for i := range 300 {
				e := message(i)
				item, err := encode(&e, nil)
				if err == nil {
					err = keep([]Item{item})
				}
				if err != nil {
					return err
				}
			}
			close(kept)
			return nil
		})
		w.Close()
	}()
	<-kept
	text, err := io.ReadAll(r)
	if ids := checkSeq(t, text); err != nil || len(ids) != 300 {
		t.Errorf("read %d, %v", len(ids), err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestLive: an event is printed while the source goes on; a stop ends it without
// an error.
func TestLive(t *testing.T) {
	h := home(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, options(h, w), func(ctx context.Context, resume func(string) chat.Resume, keep func([]Item) error) error {
			resume("test").Up()
			e := message(1)
			item, err := encode(&e, nil)
			if err == nil {
				err = keep([]Item{item})
			}
			<-ctx.Done()
			return errors.Join(err, ctx.Err())
		})
		w.Close()
	}()
	buf := make([]byte, 1<<10)
	if n, err := r.Read(buf); err != nil || len(checkSeq(t, buf[:n])) != 1 {
		t.Errorf("printed %q, %v", buf[:n], err)
	}
	cancel()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("printed more: %q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	beat, err := h.ReadFile(BeatName)
	if err != nil || !bytes.Contains(beat, []byte(`"connected_since":null`)) || bytes.Contains(beat, []byte(`"last_event_at":null`)) {
		t.Errorf("heartbeat %s, %v", beat, err)
	}
}

// TestStuckReader: a watch that is told to end does so, although what it prints
// to has stopped reading.
func TestStuckReader(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	began := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, options(home(t), stuck(began)), func(_ context.Context, _ func(string) chat.Resume, keep func([]Item) error) error {
			e := message(1)
			item, err := encode(&e, nil)
			if err == nil {
				err = keep([]Item{item})
			}
			<-began
			cancel()
			return err
		})
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for its reader")
	}
}

// stuck is a pipe that is full, and that nobody reads.
type stuck chan struct{}

func (s stuck) Write([]byte) (int, error) {
	close(s)
	select {}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestPrintFails: a reader that is gone ends the watch with the I/O status.
func TestPrintFails(t *testing.T) {
	for name, h := range map[string]*disk.Home{"log": home(t), "print only": nil} {
		err := Run(context.Background(), options(h, failing{}), feedOf(messages(0, 2)))
		if status, _ := sysexit.Of(err); status != sysexit.IO || !strings.Contains(err.Error(), "no room") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConcurrent: a source may tell from many places at once.
func TestConcurrent(t *testing.T) {
	h := home(t)
	var out bytes.Buffer
	err := Run(context.Background(), options(h, &out), func(_ context.Context, _ func(string) chat.Resume, keep func([]Item) error) error {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 40 {
					e := message(i + g*20)
					if item, err := encode(&e, nil); err != nil || keep([]Item{item}) != nil {
						t.Error("not kept")
					}
				}
			})
		}
		wg.Wait()
		return nil
	})
	if ids := checkSeq(t, out.Bytes()); err != nil || len(ids) != 180 {
		t.Errorf("kept %d of 180, %v", len(ids), err)
	}
}

// TestHuge: a text that fits no record is cut, and said.
func TestHuge(t *testing.T) {
	e := message(1)
	e.Content = strings.Repeat("\x01é", 1<<20)
	said := 0
	item, err := encode(&e, func(string, ...any) { said++ })
	if err != nil || len(item.Body) > maxBody || said != 1 || ndjson.Check(item.Body) != nil {
		t.Errorf("%d bytes, said %d, %v", len(item.Body), said, err)
	}
	e.MessageID = strings.Repeat("x", 2<<20)
	if _, err := encode(&e, func(string, ...any) {}); err == nil {
		t.Error("an endless id is accepted")
	}
}

// TestRecords: records keep their bytes but for seq; what is no event is refused
// by the name of the field.
func TestRecords(t *testing.T) {
	good := `"platform":"p","chat_id":"c","chat_name":"","message_id":"%s","create_time":"2024-01-01T00:00:00Z","msg_type":"text","content":"x","thread_id":null,"sender":{"id":"a","type":"user"},"mentions":[]`
	fill := func(id string) string { return fmt.Sprintf(good, id) }
	in := strings.Join([]string{
		`{` + fill("1") + `,"more":{"a":[1, 2]}}`,
		` { "seq" : 99 , ` + fill("2") + `}`,
		`{` + fill("3") + `, "seq": 99 }`,
		`{"a":1,"seq":99,` + fill("4") + `}`,
		`{` + fill("1") + `}`, // seen
		`{` + fill("1") + `,"edited_at":"x","deleted":false}`,
	}, "\n")
	want := `{"seq":0,` + fill("1") + `,"more":{"a":[1, 2]}}
{"seq":N,  ` + fill("2") + `}
{"seq":N,` + fill("3") + ` }
{"seq":N,"a":1,` + fill("4") + `}
{"seq":N,` + fill("1") + `,"edited_at":"x","deleted":false}
`
	var out bytes.Buffer
	err := Run(context.Background(), options(nil, &out), FromRecords(stream.Input{Stdin: strings.NewReader(in)}))
	if err != nil {
		t.Fatal(err)
	}
	checkSeq(t, out.Bytes())
	got := out.String()
	for line := range strings.Lines(got) {
		_, seq := identify([]byte(line))
		want = strings.Replace(want, "N", fmt.Sprint(seq), min(1, int(seq)))
	}
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	for change, reason := range map[string]string{
		`"platform":"p"|`:                         `lacks "platform"`,
		`"chat_id":"c"|"chat_id":""`:              `"chat_id" is "", not a text`,
		`"content":"x"|"content":5`:               `"content" is 5`,
		`"2024-01-01T00:00:00Z"|"yesterday"`:      `not RFC 3339`,
		`"thread_id":null|"thread_id":""`:         `thread_id is ""`,
		`"thread_id":null|"x":0`:                  `lacks "thread_id"`,
		`"type":"user"|"type":"dog"`:              `sender.type is "dog"`,
		`{"id":"a","type":"user"}|"ana"`:          `sender.id`,
		`"mentions":[]|"mentions":[1]`:            `no list of texts`,
		`"mentions":[]|"mentions":[],"deleted":1`: `deleted is 1`,
		`"mentions":[]|"mentions":[],"edit_id":1`: `"edit_id" is 1`,
	} {
		old, new, _ := strings.Cut(change, "|")
		line := "{" + strings.Replace(fill("1"), old, new, 1) + "}"
		if new == "" {
			line = strings.Replace(line, "{,", "{", 1)
		}
		var said []string
		err := Run(context.Background(), options(nil, io.Discard), FromRecords(stream.Input{
			Stdin: strings.NewReader(line), Say: func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) },
		}))
		if status, _ := sysexit.Of(err); status != sysexit.Data || !strings.Contains(strings.Join(said, "\n"), reason) {
			t.Errorf("%s: said %q, %v", line, said, err)
		}
	}
}

// TestSet holds many, in a slice and in a map.
func TestSet(t *testing.T) {
	s := newSet()
	for i := range 40000 {
		e := message(i)
		if h := hashOf(&e); s.has(h) {
			t.Fatalf("%d is there before it is added", i)
		} else {
			s.add(h)
		}
	}
	if len(s.sorted) == 0 || len(s.recent) == 0 {
		t.Errorf("%d sorted, %d recent: one half is not tested", len(s.sorted), len(s.recent))
	}
	for i := range 40000 {
		if e := message(i); !s.has(hashOf(&e)) {
			t.Fatalf("%d is lost", i)
		}
	}
}

func TestRead(t *testing.T) {
	for line, want := range map[string]string{
		"":                     "live log",
		"local":                "local log",
		"local d":              "local d log",
		"local d e":            "usage",
		"local slack":          "local slack log",
		"slack local slack":    "local slack log",
		"slack other":          "usage",
		"loca":                 "no input",
		"export":               "usage",
		"export x":             "export x",
		"stdin":                "stdin",
		"stdin x":              "usage",
		"mattermost":           "mattermost log",
		"mattermost x":         "usage",
		"a.x b":                "file [a.x b]",
		"stdin --text":         "stdin",
		"a.x --text":           "usage",
		"local --no-log":       "local",
		"local --once":         "local log",
		"stdin --once":         "usage",
		"export x --log":       "export x log",
		"local --log --no-log": "usage",
		"export x --after":     "usage",
		"local --after":        "local log",
		"stdin --rejects":      "stdin",
		"local --rejects":      "usage",
	} {
		var f Flags
		var args []string
		for _, a := range strings.Fields(line) {
			switch a {
			case "--log":
				f.Log = true
			case "--no-log":
				f.NoLog = true
			case "--after":
				f.After = true
			case "--once":
				f.Once = true
			case "--text":
				f.Text = true
			case "--rejects":
				f.Rejects = true
			default:
				args = append(args, a)
			}
		}
		p, err := Read(args, []string{"local", "mattermost", "slack"}, f)
		got := strings.TrimSpace(p.Name() + " " + p.Arg)
		if p.Files != nil {
			got += fmt.Sprint(" ", p.Files)
		}
		if p.Log {
			got += " log"
		}
		if err != nil {
			status, _ := sysexit.Of(err)
			got = map[int]string{sysexit.Usage: "usage", sysexit.NoInput: "no input"}[status]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
