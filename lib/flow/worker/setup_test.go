package worker

import (
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

// TestNextSteps: a folder with a space can be pasted, and an address of IPv6 is one.
func TestNextSteps(t *testing.T) {
	got := Next("/srv/a b", []string{"hub"}, "::1")
	if !strings.Contains(got, "cd '/srv/a b' &&") || strings.Count(got, `"tls://[::1]:4222"`) != 2 {
		t.Errorf("%s", got)
	}
}

// TestNoSlots: a worker that would take no job says so.
func TestNoSlots(t *testing.T) {
	if status, _ := sysexit.Of((&Queue{}).Run(t.Context(), "")); status != sysexit.Usage {
		t.Errorf("status %d", status)
	}
}
