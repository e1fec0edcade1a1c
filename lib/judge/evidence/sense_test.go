package evidence

import (
	"strings"
	"testing"
)

// TestSense holds the ways in which a claim says the opposite of a passage, one by
// one, each beside a true claim in other words.
func TestSense(t *testing.T) {
	for _, c := range []struct{ name, lines, right, wrong string }{
		{"a pair of words that is on two axes turns once", "// Burst is the maximum number of tokens that one call consumes.",
			"The maximum number of tokens that one call consumes is Burst.", "Burst is the minimum number of tokens that one call consumes."},
		{"a form of an irregular verb", "// Undo takes the last yes of a reviewer back.",
			"Undo takes the last yes of the reviewer back.", "Undo does not take the last yes of a reviewer back."},
		{"a condition that holds no more than what is denied", "// Fail early if the file does not exist",
			"It fails early if the file doesn't exist.", "It fails early if the file exists."},
		{"what follows a with is not denied for the rest", "// Entries with no claim, or a line with no claim, are no legal state.",
			"Entries with no claim are no legal state.", "Entries with no claim are a legal state."},
		{"neither nor", "// Shutdown does not attempt to close nor wait for hijacked connections such as WebSockets.",
			"Shutdown does not wait for hijacked connections.", "Shutdown waits for hijacked connections."},
		{"what is like another is not about it", "// Like ReadTimeout, it does not let handlers make decisions on a per-request basis.",
			"WriteTimeout does not let handlers make decisions on a per-request basis.", "WriteTimeout does let handlers make decisions on a per-request basis."},
		{"things that are not", "// Names starting with a dot are special cases that are not matched by a star.",
			"Names starting with a dot are not matched by a star.", "Names starting with a dot are matched by a star."},
		{"a sentence that goes on about the one before", "// New returns the client of a server. It does not reach out.",
			"New returns the client of a server and does not reach out.", "New returns the client of a server and reaches out."},
		{"not the same", "// The same at every try: the name of a run.",
			"The name of a run is the same at every try.", "The name of a run is not the same at every try."},
		{"whatever is so", "// Cookies are only sent if they are explicitly set on the request.",
			"Cookies are sent only if they were explicitly set on the request.", "Cookies are sent even if they are not explicitly set on the request."},
		{"whether or not", "// Headers to include with all requests, unless other headers are given explicitly.",
			"Headers are included with all requests unless other headers are given.", "Headers are included with all requests, whether or not other headers are given explicitly."},
		{"only if, unless", "// The file will be automatically deleted when it is closed unless delete is set to False.",
			"The file is deleted automatically when it is closed, unless delete is False.", "The file is deleted automatically when it is closed only if delete is False."},
		{"the other value of a condition", "// The file will be automatically deleted when it is closed unless delete is set to False.",
			"The file is deleted automatically when it is closed unless delete is False.", "The file is deleted automatically when it is closed unless delete is True."},
		{"there is one", "// SendReliable targets a node. Delivery is guaranteed, and there is no limit on the size of the message.",
			"SendReliable has no limit on the size of the message.", "SendReliable has a limit on the size of the message."},
		{"no default", "// By default, this is 0, so that nodes cannot be reclaimed.",
			"ReclaimTime is 0 by default.", "ReclaimTime is not 0 by default."},
		{"the condition stands beside", "// force: if this keyword is true, existing handlers of the root logger are removed and closed.",
			"With force, existing handlers are removed and closed.", "With force, existing handlers are not removed and closed."},
		{"only if it is, though it is not", "// Transport only retries a request if the request is idempotent.",
			"Transport retries idempotent requests only.", "Transport retries requests that are not idempotent."},
		{"the one for the other", "// A timer starts with the max time, and is driven to the min time.",
			"A timer starts with the max time and is driven to the min.", "A timer starts with the min time and is driven to the max time."},
		{"of two words of an axis one", "// It allows events up to rate r and permits bursts of at most b tokens.",
			"Events are allowed up to rate r, and bursts of at most b tokens.", "It allows events up to rate r and bursts of at least b tokens."},
		{"two things that change places", "// If stream and filename are both present, 'stream' is ignored.",
			"If stream and filename are both present, stream is ignored.", "If stream and filename are both present, filename is ignored."},
		{"another default", "// filemode: the mode (if filemode is unspecified, it defaults to 'a').",
			"filemode is 'a' by default.", "filemode is 'w' by default."},
		{"a name of small words", "// IsSet is case-insensitive for a key.",
			"Keys are lower-cased first, so IsSet is case-insensitive.", "Keys are lower-cased first, so IsSet is case-sensitive."},
		{"need not", "// Upper bound must be positive.",
			"The upper bound must be positive.", "The upper bound need not be positive."},
		{"few words, one of them denied", "// Nothing else is put into a path.",
			"Nothing else is put into a path.", "Nothing else is not put into a path."},
	} {
		e := Take("x.go", strings.Split(c.lines, "\n"), 1)
		if why := Contrary(c.right, e); why != "" {
			t.Errorf("%s: %q is refused: %s", c.name, c.right, why)
		}
		if Contrary(c.wrong, e) == "" {
			t.Errorf("%s: %q passes", c.name, c.wrong)
		}
	}
}

// TestSoundClaims holds what looks like the opposite and is not.
func TestSoundClaims(t *testing.T) {
	for _, c := range []struct{ name, lines, claim string }{
		{"not smaller is larger", "return fmt.Errorf(\"the window must be larger than the frame\")", "The window must not be smaller than the frame."},
		{"a name of code accepts nothing", "if config.AcceptBacklog <= 0 {\n\treturn fmt.Errorf(\"backlog must be positive\")", "VerifyConfig refuses an AcceptBacklog that is not positive."},
		{"true if it was there, false if not", "// The bool is true if the header was successfully parsed.", "The bool is false if the header was not successfully parsed."},
		{"not present is missing", "// Otherwise, the header was either not present, or not parseable.", "The header is missing or not parseable otherwise."},
		{"not allowed is refused", "// Null keys are not allowed.", "Null keys are refused."},
		{"what a call is given is a condition", "def put(self, item, block=True):", "With block false, put raises Full."},
		{"another subject", "// FileHandler closes its stream when the handler is closed.", "StreamHandler leaves its stream open."},
		{"an answer negates nothing", "// Directories are always removed non-recursively.", "No, directories are always removed non-recursively."},
		{"every value, false too", "parser.values.cache_dir = False", "The cache_dir is disabled for every value, false included."},
		{"what is set apart is not said", "// A search, not a reading: two places were found.", "What cannot be read is a finding too."},
		{"no matter what", "// A moved file is reopened only if ReOpen is true. Truncated files are always reopened.", "Truncated files are reopened no matter what ReOpen says."},
	} {
		if why := Contrary(c.claim, Take("x.go", strings.Split(c.lines, "\n"), 1)); why != "" {
			t.Errorf("%s: %q is refused: %s", c.name, c.claim, why)
		}
	}
}

// TestStranger holds which sentence is about something else.
func TestStranger(t *testing.T) {
	about := "MaxRetries is how often Fetch tries again after an error of the server."
	for text, want := range map[string]bool{
		"Fetch tries again three times.":                                      false,
		"The login page also looks outdated to visitors.":                     true,
		"I searched for it, and this seems the best answer of all.":           false,
		"The coffee machine on the second floor leaks again since Monday.":    true,
		"The server gives an error, and the client reads the number of it.":   false,
		"That happens when the server is down, which a person can find out.":  false,
		"The printers of the office lack toner, and the landlord was called.": true,
	} {
		if got := Stranger(text, about); (got != "") != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestTwins: of two conclusions in the same words, a not is enough.
func TestTwins(t *testing.T) {
	for _, c := range [][2]string{
		{"Nothing else is put into a path.", "Nothing else is not put into a path."},
		{"An error that wraps others is a MultiError.", "An error that wraps others is not a MultiError."},
	} {
		for _, d := range [][2]string{c, {c[1], c[0]}} {
			if Contrary(d[0], Said("it", d[1])) == "" {
				t.Errorf("%q beside %q passes", d[0], d[1])
			}
		}
		if why := Contrary(c[0], Said("it", c[0])); why != "" {
			t.Errorf("%q beside itself: %s", c[0], why)
		}
	}
}
