package streamtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tri/lib/base/stream"
)

// Room returns n records of some rooms, as a watcher would write them, that are step bytes of stream apart:
// with equal ids in two rooms, edits and deletions before and after their messages, threads of the platform
// and inferred ones, people without an id and with another name than before, and clocks that jump.
func Room(n int, step int64) [][]byte {
	rnd := rand.New(rand.NewPCG(7, 8))
	said := []string{"why does the build fail with error 500 on staging?", "it says timeout on the proxy",
		"ok thanks", "u3: anyone know where the log is", "lunch at noon", "@u5 no, the other one", "👍", "",
		"where is the retry limit set?", "set it in the env file, then restart the gateway", "that works now",
		"u1, which version is it?", "never mind, found it"}
	now, who, room, thread := int64(1_000_000_000), 0, 0, "null"
	var lines [][]byte
	for i := range n {
		if now += rnd.Int64N(40); rnd.IntN(60) == 0 {
			now += rnd.Int64N(4000) - 1500
		}
		id, more := i, ""
		switch rnd.IntN(12) {
		case 0:
			id, more = max(0, i-rnd.IntN(60)), `,"edited_at":"2001-09-09T02:00:00Z"`
		case 1:
			id, more = max(0, i-rnd.IntN(60)), `,"edit_id":"deleted","deleted":true`
		case 2:
			id, more = i+rnd.IntN(5), `,"edited_at":"2001-09-09T02:00:00Z"`
		case 3:
			more = fmt.Sprintf(`,"reply_to_id":"%d"`, max(0, i-rnd.IntN(60)))
		}
		if rnd.IntN(2) == 0 { // otherwise the same person goes on
			who, room, thread = rnd.IntN(9), rnd.IntN(3), "null"
			if root := max(0, i-rnd.IntN(40)); rnd.IntN(2) == 0 {
				thread = fmt.Sprintf(`"%d"`, root)
			}
		}
		if thread != "null" && rnd.IntN(2) == 0 {
			more += `,"thread_inferred":"same-person"`
		}
		sender := fmt.Sprintf(`{"id":"u%d","type":"user","name":"u%d"}`, who, (who+rnd.IntN(20)/19)%9)
		if who == 8 {
			sender = `{"id":"","type":"user"}`
		}
		lines = append(lines, fmt.Appendf(nil, `{"seq":%d,"platform":"p","chat_id":"c%d","chat_name":"a room",`+
			`"message_id":"%d","create_time":%q,"msg_type":"text","content":%q,"thread_id":%s,"sender":%s,`+
			`"mentions":[]%s}`+"\n", int64(i)*step, room, id%997,
			time.Unix(now, 0).UTC().Format(time.RFC3339), said[rnd.IntN(len(said))], thread, sender, more))
	}
	return lines
}

// Resumed runs a stage over records once as a whole, and for every kth of them as a run that ended there and
// one that resumed it. It compares what they write; same removes what may differ.
func Resumed[T any](t *testing.T, lines [][]byte, k int, window int64, stage func() stream.Stage[T],
	same func([]byte) []byte) {
	t.Helper()
	log := bytes.Join(lines, nil)
	dir := t.TempDir()
	file := filepath.Join(dir, "whole.ndjson")
	run := func(in []byte) {
		t.Helper()
		_, err := stream.Run(context.Background(), stream.Input{Stdin: bytes.NewReader(in), After: -1,
			Window: window}, stream.Output{File: file}, stage())
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func() []byte {
		t.Helper()
		out, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return same(out)
	}
	run(log)
	want := bytes.SplitAfter(read(), []byte("\n"))
	for n := k; n < len(lines); n += k {
		file = filepath.Join(dir, fmt.Sprint(n, ".ndjson"))
		run(bytes.Join(lines[:n], nil))
		run(log)
		for i, got := range bytes.SplitAfter(read(), []byte("\n")) {
			if i >= len(want) || !bytes.Equal(got, want[i]) {
				t.Fatalf("resumed after %d records, number %d is %s, want %s", n, i, got,
					want[min(i, len(want)-1)])
			}
		}
	}
}
