package claims

import (
	"strings"
	"testing"

	"tri/lib/judge/evidence"
	"tri/lib/judge/safety"
	"tri/lib/record/draft"
)

var quoting = safety.Sources{Refs: []draft.Ref{{Kind: draft.KindFile, Ref: "a.sql:1",
	Quote: "DELETE FROM jobs WHERE done; -- always\nI'd be happy to help"}}}

func TestSmell(t *testing.T) {
	for text, want := range map[string]string{
		"The limit is 3, set in `MaxRetries`.":                                  "",
		"Great question! The limit is 3.":                                       "great question",
		"The limit is 3. I’d be happy to help further.":                         "be happy to",
		"Certainly! It is 3.":                                                   "certainly!",
		"It is 3. Feel free to ask, and let me know if you need more.":          "feel free to",
		"As an AI language model I cannot read it.":                             "as an ai",
		"It's worth noting that the limit is 3.":                                "worth noting",
		"Sorry, it is 3, not 5.":                                                "",
		"It may retry when `may_retry` is set.":                                 "",
		"Dengan senang hati. Batasnya 3.":                                       "dengan senang hati",
		"Batasnya 3, lihat `MaxRetries`.":                                       "",
		"The code prints `I'd be happy to help`.":                               "",
		"It says:\n> I'd be happy to help\nin that file.":                       "",
		"I searched the code for this. These lines may answer it:\n\na.go:1\nx": "",
	} {
		if got := strings.Join(AIPhrases(text, quoting), " "); (got == "") != (want == "") ||
			!strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestMisjudged(t *testing.T) {
	for _, c := range []struct {
		text, confidence string
		want             bool
	}{
		{"It is definitely 3.", draft.Medium, true},
		{"It is definitely 3.", draft.Low, true},
		{"It is definitely 3.", draft.High, false},
		{"It always retries.", draft.Medium, true},
		{"It never retries.", draft.Medium, false},
		{"It never retries.", draft.Low, true},
		{"Batasnya pasti 3.", draft.Medium, true},
		{"I guess it is 3.", draft.High, true},
		{"I guess it is 3.", draft.Low, false},
		{"The flag is `always`.", draft.Low, false},
		{"DELETE FROM jobs WHERE done; -- always", draft.Low, false},
	} {
		if got := OverConfident(c.text, c.confidence, quoting); (len(got) > 0) != c.want {
			t.Errorf("%q %s: %v", c.text, c.confidence, got)
		}
	}
}

func TestRisk(t *testing.T) {
	for text, want := range map[string]string{
		"You should change `MaxRetries` to 5.":                    "code",
		"Please remove that check.":                               "code",
		"The fix is to replace the loop.":                         "code",
		"Comment out line 3.":                                     "code",
		"```diff\n- a\n+ b\n```":                                  "code",
		"Sebaiknya ubah nilai itu.":                               "code",
		"Roll back to the last release.":                          "rollback",
		"`git revert HEAD` helps.":                                "rollback",
		"Run `DROP TABLE users`.":                                 "deletion",
		"You can delete the old rows.":                            "deletion",
		"```\nrm -rf /var/lib/x\n```":                             "deletion",
		"Just restart the service.":                               "production",
		"1. Restart the production workers":                       "production",
		"Refund the customer for that order.":                     "customer",
		"Rotate the API key, then try.":                           "credentials",
		"curl https://x.test/i.sh | sh":                           "credentials",
		"Please disable TLS for now.":                             "credentials",
		"Also: lib/merge.go:3, lib/restart/server.go:4":           "",
		"The limit is 3.":                                         "",
		"The transaction is rolled back when a charge fails.":     "",
		"The worker deletes rows older than a day.":               "",
		"`Fetch` changes nothing; the service restarts by itself": "",
		"DELETE FROM jobs WHERE done; -- always":                  "",
		"The token is validated before each call.":                "",
		"Set RETRIES=5 in the environment to try more often.":     "",
	} {
		if got := strings.Join(Risk(text, quoting), " "); (got == "") != (want == "") ||
			!strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestUntraced(t *testing.T) {
	s := safety.Sources{
		Texts: []string{"why does FetchAll fail after 7 tries in v2?"},
		Refs: []draft.Ref{
			{Kind: draft.KindFile, Ref: "lib/retry.go:2", Quote: "const MaxRetries = 3"},
			{Kind: draft.KindFile, Ref: "lib/long.go:1-300", Quote: "const Wait = 1"},
			{Kind: draft.KindLogQuery, Ref: `{app="shop"} |= "gone"`, Quote: "status 504 after 30s"},
		},
	}
	found := []evidence.Finding{
		{Path: "lib/retry.go", Start: 2, End: 2, Lines: []string{"const MaxRetries = 3"}, Stands: true,
			Text: "package retry\nconst MaxRetries = 3\n\n\n\n\n\n\nfunc Fetch() { sleep(99) }\n"},
		{Path: "lib/long.go", Start: 9, End: 9, Lines: []string{"const Wait = 1"}, Stands: true, Text: "const Wait = 1"},
		{Result: evidence.Uncheckable},
	}
	for text, want := range map[string]string{
		"`MaxRetries` is 3 (lib/retry.go:2), `Fetch` stops.": "",
		"three tries, retry.MaxRetries, and `retry.go`":      "",
		"It gives up after 5.":                               "5",
		"It sleeps 99 ms.":                                   "99 ms",
		"It is `MaxTries`.":                                  "MaxTries",
		"See lib/other.go.":                                  "lib/other.go",
		"See lib/retry.go:2 and lib/retry.go:40.":            "lib/retry.go:40",
		"See lib/retry.go:1, or lib/retry.go:2-4.":           "lib/retry.go:1 lib/retry.go:2-4", // beside it
		// what is cited as a whole covers only the lines of its quote
		"See lib/long.go:9 and lib/long.go:200.": "lib/long.go:200",
		"On line 2, then line 77.":               "line 77",
		"Pass --retries to it.":                  "--retries",
		"FetchAll fails after 7 tries.":          "",
		// only the quote of a log has them, which code did not see
		"It fails with status 504 after 30 s.":                      "504 30 s",
		"1. first `MaxRetries`\n2. then `Fetch`":                    "",
		"```go\nconst MaxRetries = 3\n```":                          "",
		"```go\nconst MaxRetries = 8\n```":                          "8",
		"The limit was 3 and someone made it 4 in lib/retry.go:2.":  "4",
		"Plain words only, in 2 places, on GitHub.":                 "",
		"lib/retry.go:9 has `Fetch`, a line that nobody looked at.": "lib/retry.go:9",
	} {
		var names []string
		for _, named := range Trace(text, s, found) {
			if named.To == "" {
				names = append(names, named.Text)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestTrace: everything that a draft names is followed to a place, or named.
func TestTrace(t *testing.T) {
	lines := strings.Split("package retry\n\n// Wait is the pause between two tries.\nconst Wait = 30 * time.Second\n", "\n")
	s := safety.Sources{
		Texts: []string{"why does --slow take 7 tries?"},
		Refs: []draft.Ref{{Kind: draft.KindFile, Ref: "lib/retry.go:4",
			SupportsClaim: "Wait is half a minute."}},
		Exists: func(p string) bool { return p == "lib/fetch.go" || p == "lib/fetch" },
	}
	found := []evidence.Finding{{Path: "lib/retry.go", Start: 4, End: 4, Lines: lines[3:4],
		Text:   strings.Join(lines, "\n"),
		Places: []*evidence.Text{evidence.FromLines("lib/retry.go", lines, 1)}}}
	for text, want := range map[string]string{
		"`Wait` is 30s.":                 "name Wait: lib/retry.go:3, number 30s: lib/retry.go:4",
		"It waits 30 minutes.":           "number 30 minutes: ",
		"Seven or 7 tries with `--slow`": "flag --slow: the question, number 7: the question",
		"See lib/fetch.go and lib/fetch": "path lib/fetch.go: the codebase, path lib/fetch: the codebase",
		"See lib/fecth.go and lib/fecth": "path lib/fecth.go: , path lib/fecth: ",
		"On L4, not on line 99":          "place line 4: reference 1, place line 99: ",
	} {
		var got []string
		for _, x := range Trace(text, s, found) {
			got = append(got, x.Kind+" "+x.Text+": "+x.To)
		}
		if g := strings.Join(got, ", "); g != want {
			t.Errorf("%q:\n got %s\nwant %s", text, g, want)
		}
	}
}

// TestOpposed: a draft that says otherwise than its lines, as far as code can tell.
func TestOpposed(t *testing.T) {
	lines := []string{"// Jobs are never retried by the worker.", "const slots = 5"}
	found := []evidence.Finding{{Result: evidence.Supports,
		Places: []*evidence.Text{evidence.FromLines("q.go", lines, 1)}}}
	for text, want := range map[string]string{
		"The worker has 5 slots, and jobs are not retried by it.": "",
		"They are not retried.":                                   "",
		"Jobs are retried by the worker.":                         `the draft says "retried", q.go:1 has not "retried"`,
		"The worker has `slots` = 7.":                             "the draft says 7, q.go:2 has 5",
		"The worker's slots are 7.":                               "", // a word of prose may be another name
		"Jobs are retried when a worker dies.":                    "", // a condition is not decided
		"The worker has 5 slots. Setting slots: 7 gives more.":    "", // it also says what the lines say
	} {
		if got := strings.Join(Contradicted(evidence.FromText("the draft", text), found), " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
