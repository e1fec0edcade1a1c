package remote

import (
	"strings"
	"testing"

	"tri/lib/agent"
)

// TestHostileEvent: what a worker says of a run is short, and steers no terminal; its process id is that of
// this process.
func TestHostileEvent(t *testing.T) {
	var got []agent.Event
	l := &leg{pid: 7, task: agent.Task{Watch: func(e agent.Event) { got = append(got, e) }}}
	long := "\x1b[2J" + strings.Repeat("x", 3<<20)
	l.see(agent.Event{Kind: agent.Started, Text: long, Tool: long, Lines: long, SessionID: long, PID: 1})
	l.see(agent.Event{Kind: "made up"})
	if len(got) != 1 {
		t.Fatalf("%d events", len(got))
	}
	e := got[0]
	if len(e.Text) > maxText || len(e.Tool+e.Lines+e.SessionID) > 1000 || e.PID != 7 ||
		strings.ContainsRune(e.Tool+e.Lines+e.SessionID, '\x1b') {
		t.Errorf("%d, %d, %d, %d bytes, process %d", len(e.Text), len(e.Tool), len(e.Lines), len(e.SessionID),
			e.PID)
	}
}
