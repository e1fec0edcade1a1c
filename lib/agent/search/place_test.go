package search

import (
	"strings"
	"testing"

	"tri/lib/record/draft"
)

var placed = map[string]string{
	"slot/slot.go": `package slot

// Slot returns the number of the slot that a key of the cluster belongs to.
func Slot(key string) int {
	return int(crc(key)) % 16384
}

func crc(key string) uint16 { return uint16(len(key)) }
`,
	"slot/no.go": "package slot\n\n// NoSlot is no slot.\ntype NoSlot struct{}\n",
	"stable.go":  "package stable\n\n// Giraffe is the giraffe of the stable.\nfunc Giraffe() {}\n",
	"url/url.rs": "pub fn scheme() -> Result<(), Error> {\n    Err(Error::new(\"scheme is not allowed\"))\n}\n\n" +
		"#[cfg(test)]\nmod tests {\n    fn file() {\n        assert_eq!(err, \"scheme is not allowed\");\n    }\n}\n",
	"slot/other.go": "package slot\n\n// Other does nothing.\nfunc Other() {}\n",
	"config/agent.go": "package config\n\ntype Agent struct{}\n\n// Key returns the secret of the agent.\n" +
		"func (Agent) Key() string { return \"\" }\n",
	"event/key.go": "package event\n\n// Key encodes platform and chat as one name.\nfunc Key(platform, chat string) string { return platform + chat }\n",
	"proto/proto.py": `class LostError(Exception):
    """The peer is gone."""


class Proto:
    def connection_lost(self, clean):
        if clean:
            reason = LostError("gone")
            self.fail(reason)


def read(proto):
    try:
        proto.read()
    except LostError:
        pass
`,
	"src/policy.rs": `pub struct Same;

impl Policy for Same {
    fn redirect(&mut self) -> bool {
        eq_origin(self)
    }
}

pub fn eq_origin(a: &Same) -> bool {
    true
}
`,
	"parse/error.rs": "pub enum Parse {\n    Method,\n    Version,\n    Header,\n}\n",
	"docs/server.md": "# Server\n\n## Options\n\n* **lineTimeout** `number` - Default: `300e3` - How long the server waits for a line, in milliseconds.\n" +
		"* **idleTimeout** `number` - Default: `4e3` - After how many milliseconds the server closes an unused socket.\n" +
		"* **allowTwo** `boolean` - Default: `false` - Enables the second protocol.\n" +
		"* **mode** `'fast' | 'safe'` - How the server works.\n",
	"docs/CHANGELOG.md": "* **lineTimeout** `number` - Default: `1` - It was so.\n",
}

// TestPlaces: a question that describes a place gets the declaration that is found there, if others are far
// behind; documents give the options that no code declares.
func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, placed)
	c := New()
	for _, tt := range []struct{ question, say, confidence string }{
		{"where is the slot number of a cluster key calculated?",
			"That is `Slot` in slot/slot.go:4: \"Slot returns the number of the slot that a key of the cluster belongs to\".", draft.Medium},
		{"which bit of code returns the slot of a cluster key?",
			"That is `Slot` in slot/slot.go:4: \"Slot returns the number of the slot that a key of the cluster belongs to\".", draft.Medium},
		{"where are zebras painted?", "", ""},
		{"where do we make the NoSlot?", "", ""},
		{"where is the giraffe of the stable put to use?", "", ""},
		{"BadScheme: scheme is not allowed", "\"scheme is not allowed\" comes from `scheme` (url/url.rs:2).", draft.High},
		{"what does the function Key encode?", "`Key`: \"Key encodes platform and chat as one name\" (event/key.go:4).", draft.High},
		{"when do I get LostError?",
			"`LostError` is in proto/proto.py:1: \"The peer is gone\". It is given by `Proto.connection_lost` (proto/proto.py:8), only if `clean`.", draft.High},
		{"what uses eq_origin?", "`eq_origin` is called in `Same.redirect` (src/policy.rs:5).", draft.High},
		{"which parse errors are there?", "The values of `Parse` are `Method`, `Version`, `Header` (parse/error.rs:2-4).", draft.Medium},
		{"what is the default lineTimeout?",
			"`lineTimeout` is `300e3` by default (docs/server.md:5): \"How long the server waits for a line, in milliseconds\".", draft.Medium},
		{"default of lineTimeout and idleTimeout?",
			"`lineTimeout` is `300e3` by default (docs/server.md:5): \"How long the server waits for a line, in milliseconds\". `idleTimeout` is `4e3` by default (docs/server.md:6): \"After how many milliseconds the server closes an unused socket\".", draft.Medium},
		{"how long does an unused socket of the server stay open before it is closed?",
			"`idleTimeout` is `4e3` by default (docs/server.md:6): \"After how many milliseconds the server closes an unused socket\".", draft.Medium},
		{"how do I set allowTwo?", "By the option `allowTwo`: \"Enables the second protocol\", by default `false` (docs/server.md:7).", draft.Medium},
		{"what can mode be?", "The values of `mode` are `fast`, `safe` (docs/server.md:8).", draft.Medium},
	} {
		ret, err := ask(t, c, dir, tt.question)
		say, confidence := "", ""
		if err == nil && strings.HasPrefix(ret.SummaryForOrchestrator, "Composed") {
			say, _, _ = strings.Cut(ret.DraftReply, "\n")
			confidence = ret.Confidence
			proved(t, dir, tt.question, ret)
		}
		if say != tt.say || confidence != tt.confidence {
			t.Errorf("%q (%s):\n%s\nwant\n%s", tt.question, confidence, say, tt.say)
		}
	}
}

// TestShownLines: the numbers above an excerpt are those of the lines that it shows.
func TestShownLines(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "package a\n\nfunc stripes() {\n" + strings.Repeat("\tother()\n", 25) +
		"\t// the zebra distance begins here\n\tdistance := zebra(17)\n\tuse(distance)\n" + strings.Repeat("\tother()\n", 25) + "}\n"})
	ret, err := ask(t, New(), dir, "why has the zebra a distance that begins here")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(ret.DraftReply, "a.go:29-30\n```\n// the zebra distance begins here\ndistance := zebra(17)\n...\n```") {
		t.Errorf("%s", ret.DraftReply)
	}
}

// TestFewWords: three words of a question that a text of the code has by chance are no message.
func TestFewWords(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.py": "def make(cache):\n    if cache is None:\n        raise ValueError(\"a config without a cache, and it is on the same\")\n"})
	for question, composes := range map[string]bool{
		"does it fail when I create any sort of new config without a roof?":        false,
		"does it fail when it says \"config without a\" to me and to others here?": true,
		"ValueError: config without a cache":                                       true,
		"I get this error: it dies, it is on the same and so on, why":              false,
	} {
		ret, err := ask(t, New(), dir, question)
		if got := err == nil && strings.HasPrefix(ret.SummaryForOrchestrator, "Composed"); got != composes {
			t.Errorf("%q: %t, %v", question, got, err)
		}
	}
}
