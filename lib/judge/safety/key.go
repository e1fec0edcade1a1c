package safety

import (
	"bytes"
	"slices"
	"strings"

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

// HoldsSecret reports whether a line of a settings file contains, in plain sight, a key, token or password:
// by its form, or by the name before it. Examples and placeholders are none.
func HoldsSecret(text []byte) bool {
	in := search(string(text))
	words, lower := strings.Split(in.text, "\n"), strings.Split(in.lower, "\n")
	if len(words) != len(lower) { // lower case of broken UTF-8
		words = lower
	}
	for i := range rules() {
		r := &rules()[i]
		near := slices.DeleteFunc(slices.Clone(r.near), func(w string) bool { return !in.has(w) })
		for n, line := range lower {
			if slices.ContainsFunc(near, func(w string) bool { return strings.Contains(line, w) }) &&
				r.first(words[n], example) != "" {
				return true
			}
		}
	}
	for n, line := range lower {
		if !slices.ContainsFunc(named, func(w string) bool { return strings.Contains(line, w) }) {
			continue
		}
		if n+1 < len(words) && slices.ContainsFunc(opens, func(end string) bool {
			return strings.HasSuffix(strings.TrimRight(line, " \t\r"), end)
		}) {
			words[n] += "\n" + words[n+1] // the value is on the next line
		}
		for _, m := range assignment.FindAllStringSubmatch(words[n], -1) {
			if isSecretValue(strings.ToLower(m[1]), m[2] != "", m[3]) && !namedExample(m[3]) {
				return true
			}
		}
		for _, m := range bearer.FindAllStringSubmatch(words[n], -1) {
			if random(m[1], 16) && !example(m[1]) {
				return true
			}
		}
	}
	return false
}

// opens are the ends of a line whose value is on the next.
var opens = []string{":", "=", "|", ">", "|-", ">-", "|+", ">+"}

// example reports whether a token is not real: it says so itself, or has very few different characters.
func example(token string) bool {
	different := map[rune]bool{}
	for _, c := range strings.ToLower(token) {
		different[c] = true
	}
	return len(different) < 10 || namedExample(token)
}

func namedExample(token string) bool {
	return slices.ContainsFunc([]string{"example", "xxxx", "your", "dummy", "fake", "test", "redacted",
		"placeholder", "sample", "change", "1234567890", "abcdefgh"}, func(word string) bool {
		return strings.Contains(strings.ToLower(token), word)
	})
}
