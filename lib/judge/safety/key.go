package safety

import (
	"bytes"
	"slices"

	"tri/lib/base/lazyregexp"
)

// Keys recognized by stricter expressions than their rules.
var (
	keyBlock = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s"\\nr+]*(?:[A-Za-z-]+: [^\n]*\s+)*[A-Za-z0-9+/=]{40}`)
	liveKey  = lazyregexp.New(`\b(?:[sr]k_live_[A-Za-z0-9]{20,}|sk-(?:ant|proj|or|svcacct)-[A-Za-z0-9_-]{24,})`)
)

// vague are rules whose matches are often not keys: examples, public parts, password hashes in tests.
var vague = []string{"private key", "model provider key", "Stripe key", "Twilio key", "mail service key",
	"JSON web token", "jwt", "jwt base64", "password hash", "Azure key"}

// HoldsKey reports whether a text contains, in plain sight, a private key or a token that grants access.
// It prefers missing one over taking an example for one.
func HoldsKey(text []byte) bool {
	lower := bytes.ToLower(text)
	near := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(lower, []byte(w)) })
	}
	if near("private key") && keyBlock.Match(text) || near("k_live_", "sk-") && liveKey.Match(text) {
		return true
	}
	in := search(string(text))
	for i := range rules() {
		r := &rules()[i]
		if !r.shaped || slices.Contains(vague, r.name) {
			continue
		}
		if r.find(in, example) != "" {
			return true
		}
	}
	return false
}

// example reports whether a token is not real: it says so itself, or has very few different characters.
func example(token string) bool {
	lower := bytes.ToLower([]byte(token))
	for _, word := range []string{"example", "xxxx", "your", "dummy", "fake", "test", "redacted",
		"placeholder", "sample", "1234567890", "abcdefgh"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	different := map[byte]bool{}
	for _, c := range lower {
		different[c] = true
	}
	return len(different) < 10
}
