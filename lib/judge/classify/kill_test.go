package classify

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"tri/lib/base/stream/streamtest"
)

// talk is an event log of n messages in threads, more than one Window of it.
func talk(n int) []byte {
	said := []string{"why is it down?", "it says timeout", "ok thanks", "anyone know where the log is",
		"lunch at noon", "👍"}
	rnd := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for i := range n {
		root := fmt.Sprintf("%q", fmt.Sprint(max(0, i-rnd.IntN(400))))
		if i%5 == 0 {
			root = "null"
		}
		b = fmt.Appendf(b,
			`{"seq":%d,"platform":"local","chat_id":"dev","message_id":"%d","create_time":%q,"content":%q,"thread_id":%s,"sender":{"id":"u%d","type":"user"},"mentions":[]}`+"\n",
			len(b), i, time.Unix(int64(i)*20, 0).UTC().Format(time.RFC3339), said[rnd.IntN(len(said))],
			root, rnd.IntN(9))
	}
	return b
}

var stamp = regexp.MustCompile(`"classified_at":"[^"]*"`)

func unstamped(b []byte) []byte { return stamp.ReplaceAll(b, []byte(`"classified_at":""`)) }

// TestKilled: what a killed tri-classify leaves behind is, in the end, what one
// undisturbed run writes.
func TestKilled(t *testing.T) {
	got, want := streamtest.Killed(t, "tri-classify", talk(24_000))
	if bytes.Count(want, []byte(`"mentions_thread_with_inflight":true`)) < 1000 {
		t.Error("hardly anything is in flight: the window is not tested")
	}
	if !bytes.Equal(unstamped(got), unstamped(want)) {
		t.Errorf("%d lines, want %d, or others", bytes.Count(got, []byte("\n")),
			bytes.Count(want, []byte("\n")))
	}
}

// TestResumedAnywhere: wherever a run ended, the next one says what an undisturbed run says.
func TestResumedAnywhere(t *testing.T) {
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	streamtest.Resumed(t, streamtest.Room(1500, 16<<10), 29, Window, c.Stage, unstamped)
}
