package cmd_test

import (
	"testing"

	"tri/lib/flow/watch"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
	"tri/lib/record/turn"
)

// TestWindows: after a restart with tri-watch --after, the output must be the same as before, so
// tri-watch repeats the events that tri-thread needs for the events that
// tri-turn and tri-classify need.
func TestWindows(t *testing.T) {
	if need := int64(conversation.Window + turn.Window + classify.Window); watch.Window < need {
		t.Errorf("tri-watch repeats %d bytes, tri-thread | tri-turn | tri-classify need %d",
			watch.Window, need)
	}
}
