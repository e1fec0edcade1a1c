package cmd_test

import (
	"testing"

	"tri/lib/flow/watch"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
)

// TestWindows: after a restart with tri-watch --after, the output must be the same as before, so
// tri-watch repeats the events that tri-thread needs for the events that tri-classify needs.
func TestWindows(t *testing.T) {
	if need := int64(conversation.Window + classify.Window); watch.Window < need {
		t.Errorf("tri-watch repeats %d bytes, tri-thread | tri-classify need %d", watch.Window, need)
	}
}
