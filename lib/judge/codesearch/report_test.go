package codesearch

import (
	"strings"
	"testing"
)

const reported = `Timeout is ignored

<!-- read the contributing guide -->
### Describe the bug
We upgraded. Why does RetryLimit stay at three?
- [x] I searched
Python version: 3.11

` + "```" + `
client.connect(host)
` + "```" + `
Traceback (most recent call last):
  File "/srv/app.py", line 3, in <module>
    run()
`

func TestSections(t *testing.T) {
	got := map[float64]string{}
	for _, s := range sections(reported) {
		got[s.share] = strings.TrimSpace(s.text)
	}
	want := map[float64]string{
		titleShare: "Timeout is ignored", askedShare: "Why does RetryLimit stay at three?", 1: "We upgraded.",
		codeShare:  "client.connect(host)",
		traceShare: "Traceback (most recent call last):\n  File \"/srv/app.py\", line 3, in <module>\n    run()",
	}
	for share, text := range want {
		if got[share] != text {
			t.Errorf("%g: %q, want %q", share, got[share], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
}

// TestReport finds what a report asks for, though it says more of other things.
func TestReport(t *testing.T) {
	noise := strings.Repeat("We run the worker with the default queue and the worker logs an error about the queue. ", 8)
	x := Texts(map[string]string{
		"queue.go": "package x\n\n// worker logs an error about the queue\nfunc worker(queue string) error { return nil }\n",
		"retry.go": "package x\n\n// RetryLimit is how often a call is tried.\nconst RetryLimit = 3\n",
		"other.go": "package x\n\nfunc other() {}\n",
	})
	found, err := x.Search(t.Context(), reported+noise, 3)
	if err != nil || len(found.Hits) == 0 || found.Hits[0].Path != "retry.go" || !found.Report {
		t.Errorf("%+v, %v", found, err)
	}
}
