package safety

import (
	"bytes"
	"slices"

	"tri/lib/base/lazyregexp"
)

// sure are the rules of secretRules whose matches are hardly ever anything else.
var sure = []string{"AWS access key", "GitHub token", "GitLab token", "Slack token", "Google key", "package registry token"}

// Keys that are told by more than their rule of secretRules asks for.
var (
	keyBlock = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s"\\nr+]*(?:[A-Za-z-]+: [^\n]*\s+)*[A-Za-z0-9+/=]{40}`)
	liveKey  = lazyregexp.New(`\b(?:[sr]k_live_[A-Za-z0-9]{20,}|sk-(?:ant|proj|or|svcacct)-[A-Za-z0-9_-]{24,})`)
)

// HoldsKey reports whether a text holds a private key or a token that gives access
// somewhere, in plain sight. It would rather miss one than take an example for one.
func HoldsKey(text []byte) bool {
	lower := bytes.ToLower(text)
	near := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(lower, []byte(w)) })
	}
	if near("private key") && keyBlock.Match(text) || near("k_live_", "sk-") && liveKey.Match(text) {
		return true
	}
	for _, rule := range secretRules {
		if !slices.Contains(sure, rule.name) || !near(rule.near...) {
			continue
		}
		for _, found := range rule.re.FindAllString(string(text), 100) {
			if !example(found) {
				return true
			}
		}
	}
	return false
}

// example reports whether a token says of itself, or by having hardly any different
// characters, that it is none.
func example(token string) bool {
	lower := bytes.ToLower([]byte(token))
	for _, word := range []string{"example", "xxxx", "your", "dummy", "fake", "test", "redacted", "placeholder", "sample", "1234567890", "abcdefgh"} {
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
