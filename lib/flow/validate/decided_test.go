package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// TestNotDecided: a draft that differs from its line in a number, a unit or a negation, or cites a line
// beside the one that it means, is refused, or is offered with the part that no check decided named.
func TestNotDecided(t *testing.T) {
	dir := codebase(t)
	if err := os.WriteFile(filepath.Join(dir, "pay/send.go"), []byte(send), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, draft, claim, quote, ref string }{
		{"another count, in a word", "A charge is tried again six times (`MaxRetries`).",
			"A charge is tried again six times.", "const MaxRetries = 5", "pay/retry.go:4"},
		{"another count, without a quote", "A charge is tried again six times (MaxRetries).",
			"`MaxRetries` is the number of times a charge is tried again.", "", "pay/retry.go:4"},
		{"a negation", "A charge is not retried.", "A charge is not retried.", "const MaxRetries = 5",
			"pay/retry.go:4"},
		{"a negation beside a true claim", "A charge is not retried: `MaxRetries`.", "`MaxRetries` is 5.",
			"const MaxRetries = 5", "pay/retry.go:4"},
		{"a unit", "A charge is tried again for 5 hours (`MaxRetries`).",
			"A charge is tried again for 5 hours.", "const MaxRetries = 5", "pay/retry.go:4"},
		{"a unit beside a true claim", "Charges are tried again for 5 hours: `MaxRetries`.",
			"`MaxRetries` is 5.", "const MaxRetries = 5", "pay/retry.go:4"},
		{"a share", "5% of payments are tried again (`MaxRetries`).", "5% of payments are tried again.",
			"const MaxRetries = 5", "pay/retry.go:4"},
		{"a share beside a true claim", "5% of payments are tried again: `MaxRetries`.", "`MaxRetries` is 5.",
			"const MaxRetries = 5", "pay/retry.go:4"},
		{"a line beside it", "A charge is tried again and returns `errGone`.",
			"A charge is tried again and returns `errGone`.", "", "pay/retry.go:12"},
		{"a short word", "Compression of replies is on (pay/send.go:4).", "Compression of replies is on.",
			"// Compression of replies is off.", "pay/send.go:4"},
		{"a bound", "Compressed replies have at most 10 lines (pay/send.go:7).",
			"Compressed replies have at most 10 lines.", "// Compressed replies have at least 10 lines.",
			"pay/send.go:7"},
		{"in no language, beside a list of places", "Compression waits forever.", "`Compression` stands here.",
			"// Compression of replies is off.", "pay/send.go:4"},
	} {
		ret := good()
		ret.DraftReply, ret.SummaryForOrchestrator = tt.draft, tt.claim
		ret.EvidenceRefs = []draft.Ref{{Kind: draft.KindFile, Ref: tt.ref, Quote: tt.quote,
			SupportsClaim: tt.claim}}
		got := judge(t, &Validator{}, Request{Return: ret, Codebase: dir})
		open := slices.ContainsFunc(got.Sentences, func(s verdict.Sentence) bool {
			return s.State == verdict.Unbacked || s.State == verdict.Uncompared || len(s.Undecided) > 0
		})
		if got.Verdict == verdict.Pass && !open {
			t.Errorf("%s passes as decided: %s %q %+v", tt.name, got.Badge(), got.Reasons, got.Sentences)
		}
	}
}

const send = `package pay

// Compress says how replies are sent.
// Compression of replies is off.
const Compress = false

// Compressed replies have at least 10 lines.
const mask = 2147483647

var errPlain = errors.New("plain reply without a header")

func send(w http.ResponseWriter) {
	w.Header().Set("X-Reply-Kind", "plain-text") // the kind of every reply
	write(w, errPlain)
}

func refuse(w http.ResponseWriter) {
	for _, r := range replies {
		r.close()
	}
	done(w)
	count++
	wait()
	trace(w)
	mark(w)
	log(w)
	end(w)
	write(w, errGone)
}

// Held says that a reply of less than one kilobyte, or a reply in the same second as another, is held back.
const Held = true

// sizes are those of a reply, by its kind.
var sizes = []string{"tiny", "small",
	"large", "huge"}

const maxReply = 32768 // of a reply

func again(d time.Duration) time.Duration { return factor * d } // the pause before a reply

const factor = 2
`

// TestWrongNameOrNumber: a name, a quoted word or a number that the cited lines do not hold makes its
// sentence unbacked, however many of its other words they hold.
func TestWrongNameOrNumber(t *testing.T) {
	dir := codebase(t)
	if err := os.WriteFile(filepath.Join(dir, "pay/send.go"), []byte(send), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, good, bad, quote, ref string }{
		{"a name from elsewhere in the file", "A plain reply without a header is `errPlain`.",
			"A plain reply without a header is `errGone`.",
			`var errPlain = errors.New("plain reply without a header")`, "pay/send.go:10"},
		{"a header", "Every reply has its kind set in X-Reply-Kind.",
			"Every reply has its kind set in X-Reply-Text.",
			`w.Header().Set("X-Reply-Kind", "plain-text") // the kind of every reply`, "pay/send.go:13"},
		{"a quoted value", "The kind of every reply is set to 'plain-text'.",
			"The kind of every reply is set to 'plain-html'.",
			`w.Header().Set("X-Reply-Kind", "plain-text") // the kind of every reply`, "pay/send.go:13"},
		{"one of a unit", "A reply of less than one kilobyte is held back.",
			"A reply of less than one megabyte is held back.", "", "pay/send.go:31"},
		{"a unit without a number", "A reply within one second of another is held back.",
			"A reply within one minute of another is held back.", "", "pay/send.go:31"},
		{"a rate", "At most one reply per second is not held back.",
			"At most one reply per hour is not held back.", "", "pay/send.go:31"},
		{"bytes", "A reply of less than 1024 bytes is held back.",
			"A reply of less than 1024 bits is held back.", "", "pay/send.go:31"},
		{"a count of a list", "A reply has one of four sizes.", "A reply has one of six sizes.", "",
			"pay/send.go:34-36"},
		{"a bare number of bytes", "A reply has at most 32 KiB (`maxReply`).",
			"A reply has at most 32 MiB (`maxReply`).", "", "pay/send.go:38"},
		{"a factor", "The pause before a reply doubles.", "The pause before a reply triples.", "",
			"pay/send.go:40-42"},
		{"the next number", "The mask is 2147483647.", "The mask is 2147483648.", "const mask = 2147483647",
			"pay/send.go:8"},
	} {
		for _, text := range []string{tt.good, tt.bad} {
			ret := good()
			ret.Question = "what is replied?"
			ret.DraftReply, ret.SummaryForOrchestrator = text, text
			ret.EvidenceRefs = []draft.Ref{{Kind: draft.KindFile, Ref: tt.ref, Quote: tt.quote,
				SupportsClaim: text}}
			got := judge(t, &Validator{}, Request{Return: ret, Codebase: dir})
			covered := slices.ContainsFunc(got.Sentences, func(s verdict.Sentence) bool {
				return s.State == verdict.About
			})
			if pass := got.Verdict == verdict.Pass && covered; pass != (text == tt.good) {
				t.Errorf("%s: %q: %s %q %+v", tt.name, text, got.Verdict, got.Reasons, got.Sentences)
			}
		}
	}
}

// TestInventedLog: the quote of a log, which code cannot look up, backs no sentence and no number beside a
// true reference to something else.
func TestInventedLog(t *testing.T) {
	ret := good()
	ret.DraftReply = "12 payments failed at the gateway today."
	ret.SummaryForOrchestrator = ret.DraftReply
	ret.EvidenceRefs = append(ret.EvidenceRefs, draft.Ref{Kind: draft.KindLogQuery, Ref: "level:error gateway",
		SupportsClaim: ret.DraftReply, Quote: "12 failed payments at the gateway"})
	got := judge(t, &Validator{}, Request{Return: ret, Codebase: codebase(t), Question: "did payments fail?"})
	if got.Proved != verdict.Undecided || !strings.Contains(strings.Join(got.Reasons, "\n"), `"12"`) {
		t.Errorf("%s %q %+v", got.Verdict, got.Reasons, got.Sentences)
	}
}

// TestNotInTheLines: a draft with a number, a unit or a name that only the lines beside the cited ones have,
// or none, passes by itself in no wording; the true one does.
func TestNotInTheLines(t *testing.T) {
	dir := codebase(t)
	if err := os.WriteFile(filepath.Join(dir, "pay/wait.go"), []byte(wait), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ right, wrong, claim, ref string }{
		{"The pause grows up to thirty seconds.", "The pause grows up to two minutes.",
			"The pause is at most 30 seconds.", "pay/wait.go:4"},
		{"Milliseconds. The pause is read from the header.", "Microseconds. The pause is read from the header.",
			"The pause is read from the retry header.", "pay/wait.go:9"},
		{"A chunk is cut at 128 kB.", "A chunk is cut at 128 MB.", "A chunk has at most 128 KB.", "pay/wait.go:11"},
		{"They are rejected, and the layer leaves writeErr alone.",
			"They are rejected, and the layer leaves closeErr alone.",
			"Errors are rejected, so the layer does not set writeErr.", "pay/wait.go:13"},
		{"A letter is sent with up to 9 stamps.", "A letter is sent with up to 14 stamps.",
			"A letter is sent with stamps.", "pay/wait.go:18-24"},
		{"A child has a rank of up to 64.", "A child has a rank of up to 65.", "A child has a rank of up to 64.",
			"pay/wait.go:16"},
	} {
		for text, pass := range map[string]bool{tt.right: true, tt.wrong: false} {
			ret := good()
			ret.Question = "what does the pay package do about the pause, a child or a chunk?"
			ret.DraftReply, ret.SummaryForOrchestrator = text, tt.claim
			ret.EvidenceRefs = []draft.Ref{{Kind: draft.KindFile, Ref: tt.ref, SupportsClaim: tt.claim}}
			got := judge(t, &Validator{}, Request{Return: ret, Codebase: dir})
			if (got.Verdict == verdict.Pass) != pass {
				t.Errorf("%q: %s %q %+v", text, got.Verdict, got.Reasons, got.Sentences)
			}
		}
	}
}

const wait = `package pay

// pause grows up to the limit of this.
const longestPause = 30 * time.Second

const ping = 2 * time.Minute

// retry reads the pause from the header.
func retry(h http.Header) { pause = time.Duration(number(h, "Retry")) * time.Millisecond }

const chunk = 128 << 10 // a chunk is cut at this

// Rejected errors, so that the layer does not set writeErr, leaves them alone.
var errRejected = errors.New("rejected")

func rank(n int) bool { return n <= 64 } // whether a child may have the rank

const stamps = 9 // with which a letter is sent

type box struct{ wide, high int }

var small = box{3, 4}

const cellar = 14
`

// TestEverydayWords: everyday words of a codebase do not show that lines are about a draft, if other files
// have more of it.
func TestEverydayWords(t *testing.T) {
	dir := codebase(t)
	const text = "A failed charge returns an error to its customer."
	for i := range 8 {
		err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("pay/part%d.go", i)),
			[]byte("package pay\n\n// A failed charge returns its error to the customer.\nvar part error\n"), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	load := "package pay\n\n// load returns the error of a charge that failed.\nfunc load() error\n"
	if err := os.WriteFile(filepath.Join(dir, "pay/load.go"), []byte(load), 0o644); err != nil {
		t.Fatal(err)
	}
	for ref, pass := range map[string]bool{"pay/part3.go:3": true, "pay/load.go:3-4": false} {
		ret := good()
		ret.Question = "what happens to a failed charge?"
		ret.DraftReply, ret.SummaryForOrchestrator = text, text
		ret.EvidenceRefs = []draft.Ref{{Kind: draft.KindFile, Ref: ref, SupportsClaim: text}}
		got := judge(t, &Validator{}, Request{Return: ret, Codebase: dir})
		if (got.Verdict == verdict.Pass) != pass || !pass && got.Proved != verdict.Undecided {
			t.Errorf("%s: %s %q %+v", ref, got.Verdict, got.Reasons, got.Sentences)
		}
	}
}

// TestValueOfAName: a name that many files use is no everyday word beside the value that it is given.
func TestValueOfAName(t *testing.T) {
	dir := codebase(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("pay/status.go", "package pay\n\n// Codes of a charge.\nconst (\n\tTempFail = 75 // try it again later\n)\n")
	for i := range 70 {
		write(fmt.Sprintf("pay/use%d.go", i), "package pay\n\nfunc use() error {\n\treturn code(TempFail)\n}\n")
	}
	for text, pass := range map[string]bool{"`TempFail` is 75.": true, "A `TempFail` fails again.": false} {
		ret := good()
		ret.Question = "which code is TempFail?"
		ret.DraftReply, ret.SummaryForOrchestrator = text, text
		ret.EvidenceRefs = []draft.Ref{{Kind: draft.KindFile, Ref: "pay/status.go:5", SupportsClaim: text}}
		got := judge(t, &Validator{}, Request{Return: ret, Codebase: dir})
		if (got.Verdict == verdict.Pass) != pass {
			t.Errorf("%s: %s %q %+v", text, got.Verdict, got.Reasons, got.Sentences)
		}
	}
}
