package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// TestRaw: an event has the offset of the platform's own record; an event delivered twice has one record;
// without the option there is none.
func TestRaw(t *testing.T) {
	for _, keep := range []bool{false, true} {
		h := home(t)
		o := options(h, io.Discard)
		o.Raw = keep
		raws := []string{"{\"a\":\n 1}", "PRIVMSG #dev :\"hi\"", ""}
		err := Run(context.Background(), o,
			FromSources(map[string]chat.Source{"test": live{t.Name(),
				func(_ context.Context, r chat.Resume, to chat.Handler) error {
					for range 2 {
						for i, raw := range raws {
							e := message(i)
							e.Raw = []byte(raw)
							if err := to.OnEvents(e); err != nil {
								return err
							}
						}
					}
					return nil
				}}}))
		if err != nil {
			t.Fatal(err)
		}
		text, err := h.ReadFile(RawName)
		if !keep {
			if err == nil {
				t.Error("kept without being asked to")
			}
			continue
		}
		if want := "{\"a\":1}\n\"PRIVMSG #dev :\\\"hi\\\"\"\n"; err != nil || string(text) != want {
			t.Fatalf("%q (%v), want %q", text, err, want)
		}
		log, err := h.ReadFile(LogName)
		if err != nil {
			t.Fatal(err)
		}
		checkSeq(t, log)
		for i, line := range bytes.Split(bytes.TrimSpace(log), []byte("\n")) {
			var e event.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if i == 2 {
				if e.RawRef != "" {
					t.Errorf("%q, and there is none", e.RawRef)
				}
				continue
			}
			off, err := strconv.Atoi(strings.TrimPrefix(e.RawRef, RawName+":"))
			if err != nil || off > len(text) || !bytes.HasPrefix(text[off:], rawLine([]byte(raws[i]))) {
				t.Errorf("%q points at nothing of its own", e.RawRef)
			}
		}
	}
	if rawLine(bytes.Repeat([]byte("x"), 2<<20)) != nil {
		t.Error("more than a line can hold is kept")
	}
}
