package conversation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tri/lib/base/stream/streamtest"
)

// talk is an event log of n messages without threads, more than one Window of it.
func talk(n int) []byte {
	said := []string{"why is it down?", "it says timeout on the proxy", "ok thanks",
		"u3: anyone know where the log is", "lunch at noon", "no, u5", "👍"}
	rnd := rand.New(rand.NewPCG(1, 2))
	var b []byte
	at := 0
	for i := range n {
		quoted := ""
		if i%50 == 49 {
			quoted = fmt.Sprintf(`"reply_to_id":"%d",`, i-rnd.IntN(40))
		}
		if at += rnd.IntN(40); i%200 == 0 {
			at += 1000
		}
		b = fmt.Appendf(b,
			`{"seq":%d,"platform":"irc","chat_id":"#c%d","chat_name":"a room","message_id":"%d","create_time":%q,"msg_type":"text","content":"%s %d","thread_id":null,%s"sender":{"id":"u%d","type":"user"},"mentions":[]}`+"\n",
			len(b), rnd.IntN(3), i, time.Unix(int64(at), 0).UTC().Format(time.RFC3339),
			said[rnd.IntN(len(said))], rnd.IntN(500), quoted, rnd.IntN(30))
	}
	return b
}

// TestKilled: what a killed tri-thread leaves behind is, in the end, what one
// undisturbed run writes.
func TestKilled(t *testing.T) {
	log := talk(50_000)
	got, want := streamtest.Killed(t, "tri-thread", log)
	if len(log) < Window*5/4 || bytes.Count(want, []byte(`"thread_inferred":`)) < 10_000 {
		t.Error("hardly anything is continued: the window is not tested")
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d lines, want %d, or others", bytes.Count(got, []byte("\n")),
			bytes.Count(want, []byte("\n")))
	}
}

// TestResumedAnywhere: wherever a run ended, the next one says what an undisturbed run says.
func TestResumedAnywhere(t *testing.T) {
	streamtest.Resumed(t, streamtest.Room(1500, 32<<10), 29, Window, Stage, bytes.Clone)
}
