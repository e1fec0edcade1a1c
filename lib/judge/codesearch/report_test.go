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
x.RetryError: no more tries left
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
		titleShare: "Timeout is ignored", askedShare: "Why does RetryLimit stay at three?\nx.RetryError: no more tries left", 1: "We upgraded.",
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
	if err != nil || len(found.Hits) == 0 || found.Hits[0].Path != "retry.go" {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestFrames prefers the innermost file of a traceback that the codebase has, in both orders.
func TestFrames(t *testing.T) {
	body := " def send(self):\n    retry(self.connection)\n"
	x := Texts(map[string]string{"pool/a.py": body, "pool/b.py": body, "pool/c.py": body})
	report := "Sending retries the connection\n\n" + strings.Repeat("It happens now and then in production. ", 8)
	for trace, want := range map[string]string{
		"  File \"/srv/app.py\", line 3, in <module>\n  File \"/lib/pool/c.py\", line 9, in send\n" +
			"  File \"/lib/pool/b.py\", line 1, in send\n  File \"/usr/lib/socket.py\", line 1, in send\n": "pool/b.py",
		"    at send (/lib/pool/c.py:2:1)\n    at send (/lib/pool/b.py:2:1)\n": "pool/c.py",
	} {
		found, err := x.Search(t.Context(), report+"\n\n"+trace, 3)
		if err != nil || len(found.Hits) == 0 || found.Hits[0].Path != want {
			t.Errorf("%s: %+v, %v, want %s", trace, found.Hits, err, want)
		}
	}
}

// TestTemplate ignores what a report has from the codebase's own template.
func TestTemplate(t *testing.T) {
	line := "Provide the shell completion script and the commit."
	x := Texts(map[string]string{".github/ISSUE_TEMPLATE.md": "- " + line + "\n", "shell.go": "package x\n\n// " +
		"Script is the shell completion script of a commit.\nfunc Script() {}\n",
		"wild.go": "package x\n\n// addRoute refuses conflicting wildcards.\nfunc addRoute() {}\n"})
	filler := strings.Repeat("This is on the newest version of all. ", 8)
	found, err := x.Search(t.Context(), "Two conflicting wildcards\n\n- "+line+"\n"+filler, 3)
	if err != nil || len(found.Hits) == 0 || found.Hits[0].Path != "wild.go" {
		t.Errorf("%+v, %v", found.Hits, err)
	}
}

// TestReportWantsCode: what a short question has from a document, a report has from the code.
func TestReportWantsCode(t *testing.T) {
	x := Texts(map[string]string{"use.md": "# The retry limit\n\nThe retry limit stays at three calls.\n",
		"loop.go": "package x\n\nfunc loop() {\n\tretry(limit, three, calls)\n}\n"})
	question := "Why does the retry limit stay at three calls?"
	for question, want := range map[string]string{question: "use.md",
		question + "\n\n" + strings.Repeat("It was never so on Monday mornings. ", 8): "loop.go"} {
		found, err := x.Search(t.Context(), question, 3)
		if err != nil || len(found.Hits) == 0 || found.Hits[0].Path != want {
			t.Errorf("%.50q: %+v, %v, want %s", question, found.Hits, err, want)
		}
	}
}
