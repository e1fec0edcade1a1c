package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// feedOf is a source that delivers events, some of them together, and ends.
func feedOf(batches ...[]event.Event) Feed {
	return FromSources(map[string]chat.Source{"test": source(batches)})
}

type source [][]event.Event

func (s source) Run(_ context.Context, _ chat.Resume, to chat.Handler) error {
	for _, b := range s {
		if err := to.OnEvents(b...); err != nil {
			return err
		}
	}
	return nil
}

func message(i int) event.Event {
	return event.Event{
		Platform: "test", ChatID: "c", ChatName: "c", MessageID: fmt.Sprint(i), MsgType: "text",
		CreateTime: time.Unix(int64(1700000000+i), 0).UTC().Format(time.RFC3339),
		Content:    "text <&> " + strings.Repeat("é\n", i%7),
		Sender:     event.Sender{ID: "ana", Type: "user"},
	}
}

func messages(from, to int) (es []event.Event) {
	for i := from; i < to; i++ {
		es = append(es, message(i))
	}
	return es
}

func home(t *testing.T) *durable.Home {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func options(h *durable.Home, out io.Writer) Options {
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
	if err := Run(context.Background(), options(h, &out),
		feedOf(messages(0, 5), messages(2, 6))); err != nil {
		t.Fatal(err)
	}
	first := out.String()
	if ids := checkSeq(t, out.Bytes()); len(ids) != 6 {
		t.Errorf("kept %v", ids)
	}
	out.Reset()
	err := Run(context.Background(), options(h, &out),
		feedOf(messages(0, 6), []event.Event{edit, gone, edit, gone}, messages(5, 8)))
	if err != nil {
		t.Fatal(err)
	}
	if ids := checkSeq(t, out.Bytes()); strings.Join(ids, " ") != "0 1 2 3 4 5 3 4 6 7" ||
		!strings.HasPrefix(out.String(), first) {
		t.Errorf("kept %v", ids)
	}
	log, err := h.ReadFile(LogName)
	if err != nil || !bytes.Equal(log, out.Bytes()) {
		t.Errorf("printed is not the log (%v)", err)
	}
}

// TestResume: a source gets, per chat, the latest time in the log.
func TestResume(t *testing.T) {
	h := home(t)
	other := message(1)
	other.ChatID, other.EditedAt = "d", "2030-01-01T00:00:00.5Z"
	if err := Run(context.Background(), options(h, io.Discard),
		feedOf(messages(0, 9), []event.Event{other})); err != nil {
		t.Fatal(err)
	}
	err := Run(context.Background(), options(h, io.Discard),
		func(_ context.Context, open Open, _ func([]Item) error) error {
			r, to, err := open("test")
			other, _, otherErr := open("another")
			if err != nil || otherErr != nil || to == nil || len(other.Last) != 0 {
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

// TestTornTail: a torn line of a killed watcher is cut, and its event is kept when the source delivers it
// again.
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
		if err := h.Remove("." + LogName + ".sum"); err != nil { // a line is summed once it is whole
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

// TestTwo: the second watcher of a home is refused with a temporary failure.
func TestTwo(t *testing.T) {
	h := home(t)
	err := Run(context.Background(), options(h, io.Discard),
		func(context.Context, Open, func([]Item) error) error {
			err := Run(context.Background(), options(h, io.Discard), feedOf(messages(0, 1)))
			if status, _ := sysexit.Of(err); status != sysexit.TempFail ||
				!errors.Is(err, durable.ErrLocked) {
				t.Errorf("the second: %v", err)
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
}

// TestConcurrent: a source may tell from many places at once.
func TestConcurrent(t *testing.T) {
	h := home(t)
	var out bytes.Buffer
	err := Run(context.Background(), options(h, &out),
		func(_ context.Context, _ Open, keep func([]Item) error) error {
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
