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
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

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
	if err != nil || !strings.HasSuffix(string(log), got) || from < off-Window ||
		from > off-Window+(110<<10) || !strings.HasPrefix(got, `{"seq":`) {
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
		ended <- Run(context.Background(), options(h, w),
			func(ctx context.Context, _ Open, keep func([]Item) error) error {
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

// TestLive: an event is printed while the source continues; a stop ends it without an error.
func TestLive(t *testing.T) {
	h := home(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, options(h, w), func(ctx context.Context, open Open, keep func([]Item) error) error {
			_, to, err := open("test")
			if err != nil {
				return err
			}
			to.OnConnect(true)
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
	if err != nil || !bytes.Contains(beat, []byte(`"connected_since":null`)) ||
		bytes.Contains(beat, []byte(`"last_event_at":null`)) {
		t.Errorf("heartbeat %s, %v", beat, err)
	}
}

// TestStuckReader: a watch that is asked to stop does so, although its reader has stalled.
func TestStuckReader(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	began := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, options(home(t), stuck(began)),
			func(_ context.Context, _ Open, keep func([]Item) error) error {
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

// stuck is a full pipe without a reader.
type stuck chan struct{}

func (s stuck) Write([]byte) (int, error) {
	close(s)
	select {}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestPrintFails: a reader that is gone ends the watch with the I/O status.
func TestPrintFails(t *testing.T) {
	for name, h := range map[string]*durable.Home{"log": home(t), "print only": nil} {
		err := Run(context.Background(), options(h, failing{}), feedOf(messages(0, 2)))
		if status, _ := sysexit.Of(err); status != sysexit.IO || !strings.Contains(err.Error(), "no room") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
