package health

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

func lookPath(program string) (string, error) { return exec.LookPath(program) }

func (x *checker) chain() {
	if !x.home.Exists(decision.LogName) {
		return
	}
	n, _, err := decision.Verify(x.home)
	if err != nil {
		x.failed("decisions", "", err)
		return
	}
	x.ok("decisions", "%d records, each chained to the one before", n)
}

// threads looks for threads that should make progress and do not.
func (x *checker) threads() {
	waiting, moving := 0, 0
	var still []string
	for t, err := range thread.Open(x.home) {
		switch {
		case err != nil:
			x.failed("threads", "tri-dispatch --rebuild", err)
		case t.Status == thread.PendingUser:
			waiting++
		case x.still(t):
			still = append(still, t.Key)
		default:
			moving++
		}
	}
	if len(still) > 0 {
		x.fail("threads", "start tri-dispatch; it continues them", "%d should move and do not: %s",
			len(still), strings.Join(still[:min(3, len(still))], ", "))
		return
	}
	x.ok("threads", "%d wait for a person, %d are being worked on", waiting, moving)
}

// still reports whether a thread's last step is longer ago than any run may take.
func (x *checker) still(t *thread.Thread) bool {
	if t.AtRest() || len(t.StatusHistory) == 0 {
		return false
	}
	at, err := time.Parse(time.RFC3339, t.StatusHistory[len(t.StatusHistory)-1].At)
	if err != nil {
		return true
	}
	minutes := 5.0
	if x.config != nil {
		minutes = max(x.config.Investigator.HardCapRuntimeMin, x.config.Validator.HardCapRuntimeMin)
	}
	if t.IsEscalated {
		minutes = max(30, minutes)
		if x.config != nil {
			minutes = max(x.config.Escalation.MaxMin, minutes)
		}
	}
	return x.Now().Sub(at) > time.Duration(2*minutes*float64(time.Minute))
}

// posts looks for replies of which it is unknown whether they were posted.
func (x *checker) posts() {
	entries, err := outbox.Open(x.home)
	if err != nil {
		x.failed("posts", "", err)
		return
	}
	parked := 0
	for _, e := range entries {
		if e.State == outbox.Parked {
			parked++
			x.fail("posts", fmt.Sprintf("look there, then tri-approve settle %s posted, retry or drop",
				e.Key), "parked: %s: %s", e.ID, e.Why)
		}
	}
	x.underway(entries)
	if parked == 0 {
		x.ok("posts", "%d under way, none parked", len(entries))
	}
}
