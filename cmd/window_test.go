package cmd_test

import (
	"testing"

	"tri/lib/flow/watch"
	"tri/lib/judge/classify"
	"tri/lib/judge/conversation"
)

// TestWindows: a pipe that begins again with tri-watch --after has to say what it
// said, so tri-watch repeats what tri-thread must see for what tri-classify must
// see to be right.
func TestWindows(t *testing.T) {
	if need := int64(conversation.Window + classify.Window); watch.Window < need {
		t.Errorf("tri-watch repeats %d bytes, tri-thread | tri-classify need %d", watch.Window, need)
	}
}
