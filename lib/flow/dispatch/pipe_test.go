package dispatch

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/base/stream"
	"tri/lib/record/event"
)

// TestPipeIntoUsedHome: the seq of events from a pipe need not belong to the log read last. New events are
// applied, however small their seq; events applied before are not applied again.
func TestPipeIntoUsedHome(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"1", "2", "3"} {
		b.add(id, "ana", "", event.Actionable, "why "+id+"?")
	}
	b.run()
	log, err := os.ReadFile(b.home.Path("events-classified.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(log, []byte("\n"))
	again := bytes.ReplaceAll(first, []byte(`"message_id":"1"`), []byte(`"message_id":"9"`))
	pipe := string(first) + "\n" + string(again) + "\n"
	o := b.options()
	o.Input = stream.Input{Stdin: strings.NewReader(pipe)}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := Run(ctx, o); err != nil {
		t.Fatal(err)
	}
	if names, err := b.home.List("open"); err != nil || len(names) != 4 || b.thread("9").Key == "" {
		t.Errorf("%d threads, %v", len(names), err)
	}
}
