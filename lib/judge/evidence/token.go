package evidence

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
)

// Kinds of Token.
const (
	Name   = "name"   // an identifier, or anything in backticks
	Path   = "path"   // a file's path
	Flag   = "flag"   // an option of a program, or $VARIABLE
	Number = "number" // 3, 1.5, 30s, 1_000, v1.2, 30 seconds
)

// Token is something in a sentence that is either in the evidence or invented, not a matter of style.
type Token struct{ Kind, Text string }

var (
	fenced  = lazyregexp.New("(?s)```[a-zA-Z0-9_+-]*\n?(.*?)(?:```|$)")
	ticked  = lazyregexp.New("`([^`\n]{1,200})`")
	marker  = lazyregexp.New(`(?m)^[ \t>*-]*\d{1,2}[.)][ \t]`)
	counted = lazyregexp.New(`(?i)\b\d+\s+(?:places?|match(?:es)?|hits?|occurrences?|tempat)\b|\b(?:1st|2nd|3rd)\b`)
	address = lazyregexp.New(`\b[a-zA-Z][a-zA-Z0-9+.-]*://\S+`)

	word   = lazyregexp.New(`(?:\$\{?|--?)?[\p{L}\p{N}_](?:[\p{L}\p{N}_]|(?:[-./@+]+|::|->)[\p{L}\p{N}_])*(?:\(\))?|[./~]+(?:[\w-]+[./]?)+`)
	option = lazyregexp.New(`^(?:--?[a-zA-Z][\w-]*|\$\{?[A-Za-z_]\w*)$`)
	isPath = lazyregexp.New(`^[~.]{0,2}/?(?:[\w@+-][\w.@+-]*/)+[\w.@+-]+$|^[\w@+-]+\.(?:go|js|ts|tsx|jsx|py|rb|rs|java|kt|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|sql|ya?ml|toml|json|ndjson|md|txt|xml|html|css|proto|mod|sum|cfg|conf|ini|env|lock|mk|tf|ex|exs|lua|pl|csv|txtar|rst|adoc|vue|svelte|zig|nim|hs|ml|clj|erl|dart|m|mm|gradle|properties|service)$`)
	humps  = lazyregexp.New(`\p{Ll}\p{Lu}|^\p{Lu}+_|[\p{L}\p{N}]_[\p{L}\p{N}]|::|\(\)$`)
	// header matches a name such as Retry-After, quoted a word in quotes that is no plain one.
	header = lazyregexp.New(`^[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)+$`)
	quoted = lazyregexp.New(`["']([\w-]+(?:[-_./:][\w-]+)+)["']`)
	dotted = lazyregexp.New(`^[\p{L}_][\p{L}\p{N}_]+(?:\.[\p{L}_][\p{L}\p{N}_]+)+$`)
	// standard matches a method or encoding named with a number: SHA-512.
	standard = lazyregexp.New(`^(?i)(?:sha|utf|base|rs|hs|es|aes|crc|md|tls|rfc|iso)-?\d{1,5}$`)
	commit   = lazyregexp.New(`^[0-9a-f]{7,40}$`)
)

// products are names written like identifiers that are not identifiers.
var products = text.Set(`github gitlab javascript typescript postgresql mysql nosql sqlite openai
	openapi linkedin youtube mongodb dynamodb graphql websocket websockets oauth ios macos paypal
	rabbitmq devops nodejs powershell bigquery whatsapp clickhouse influxdb mariadb bitbucket vscode
	webassembly autocomplete deepl mbit gbit mhz ghz kbps mbps json yaml opentelemetry
	symlinks pytest numpy e.g i.e a.k.a`)

// keywords are not specific to a codebase, even in backticks.
var keywords = text.Set(`nil null none true false undefined err error string int bool boolean float
	void return if else for while func def class struct const var let get post put patch delete head
	stdin stdout stderr`)

// Tokens lists what can be checked in text: everything in backticks and fences, and in prose everything
// shaped like code, a path, an option or a number. Citations (path:12, line 12), list markers, counts of
// places and addresses are excluded: other checks cover them.
func Tokens(text string) []Token {
	var out []Token
	add := func(kind, s string) {
		if t := (Token{kind, s}); s != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	code := func(span string) string {
		span = cited.ReplaceAllString(address.ReplaceAllString(span, " "), " ")
		for _, q := range figures(span, true) {
			add(Number, q)
		}
		for _, w := range word.FindAllString(span, -1) {
			if kind := kindOf(w, true); kind != "" &&
				(!keywords[strings.ToLower(w)] || isMethod(w)) {
				add(kind, trim(w))
			}
		}
		return " "
	}
	text = Fold(text)
	text = fenced.ReplaceAllStringFunc(text, func(m string) string {
		return code(fenced.FindStringSubmatch(m)[1])
	})
	text = ticked.ReplaceAllStringFunc(text, func(m string) string { return code(strings.Trim(m, "`")) })
	for _, re := range []*lazyregexp.Pattern{address, marker, cited, linesOf, nthLine, counted} {
		text = re.ReplaceAllString(text, " ")
	}
	for _, w := range word.FindAllString(text, -1) {
		add(kindOf(w, false), trim(w))
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if kind := kindOf(m[1], true); kind != "" {
			add(kind, m[1])
		}
	}
	for _, q := range figures(text, false) {
		add(Number, q)
	}
	return slices.DeleteFunc(out, func(t Token) bool { return t.Kind == "" })
}

// isMethod reports whether a word is an HTTP method rather than a verb.
func isMethod(w string) bool {
	return slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, w)
}

// Version reports whether t is a version or address such as 1.2.3: a name made of digits, which may be as
// far from a claim as a name.
func (t Token) Version() bool { return t.Kind == Number && strings.Count(t.Text, ".") > 1 }

// trim removes the notation around a name.
func trim(w string) string {
	w = strings.TrimSuffix(w, "()")
	if strings.HasPrefix(w, "$") {
		return "$" + strings.Trim(w, "${}")
	}
	return w
}

// figures returns the numbers of text that must occur in the evidence: not "a day", and not the digits of
// an identifier.
func figures(text string, code bool) []string {
	var out []string
	for _, q := range quantities(text, code) {
		if q.soft && q.unit.dim == noDim && !bounds.MatchString(text[q.end:]) ||
			len(q.values) == 0 && q.version == "" || slices.Contains(everywhere, q.text) {
			continue // "three of them"; but a minute is a figure
		}
		start, end := q.at, q.at+len(q.text)
		for start > 0 && isHex(text[start-1]) {
			start--
		}
		for end < len(text) && isWord(rune(text[end])) && text[end] < 0x80 {
			end++
		}
		w := text[start:end]
		if end > q.at+len(q.text) && (commit.MatchString(w) ||
			!shortTail(text[q.at+len(q.text):end])) {
			continue
		}
		out = append(out, q.text)
	}
	return out
}

// bounds matches what makes a number word a bound: zero or less.
var bounds = lazyregexp.New(`^\s+or\s+(?:less|fewer|more|below|above|lower|higher|smaller|greater|larger)\b`)

// shortTail reports whether letters directly after digits still leave a number: 10x, 5k.
func shortTail(s string) bool { return len(s) < 3 && !strings.ContainsAny(s, "0123456789_") }

func isHex(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' }

// kindOf classifies a word that is not a number; in prose "" is a plain word.
func kindOf(w string, code bool) string {
	r, _ := utf8.DecodeRuneInString(w)
	switch {
	case commit.MatchString(w) && strings.ContainsAny(w, "0123456789") && strings.ContainsAny(w, "abcdef"):
		return Name
	case mixed(w):
		return Name
	case isPath.MatchString(w) && (code || strings.Contains(w, ".") || strings.Count(w, "/") > 1) &&
		!ratioOf(w):
		return Path
	case unicode.IsDigit(r):
		return ""
	case option.MatchString(w) && (code || !strings.HasPrefix(w, "-") || len(w) > 3):
		return Flag
	case code:
		return Name
	case units[strings.ToLower(w)].dim == size, products[strings.ToLower(w)]:
		return ""
	case standard.MatchString(w) && w != "utf-8" && !strings.EqualFold(w, "utf8"):
		return Name
	case humps.MatchString(w), header.MatchString(w), dotted.MatchString(w) && utf8.RuneCountInString(w) > 4:
		return Name
	}
	return ""
}

// ratioOf reports whether a word with slashes consists of figures: 10/20/30.
func ratioOf(w string) bool { return strings.Trim(w, "0123456789/.") == "" }

// alphabets contain letters that look like Latin ones.
var alphabets = []*unicode.RangeTable{unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee,
	{R16: []unicode.Range16{{Lo: 0xFF21, Hi: 0xFF5A, Stride: 1}}}}

// mixed reports whether a word mixes Latin letters with others that look Latin: a deceptive name. Words
// joined by hyphens may use different alphabets.
func mixed(w string) bool {
	if isASCII(w) {
		return false
	}
	for _, part := range strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
		latin, other := false, false
		for _, r := range part {
			latin = latin || unicode.Is(unicode.Latin, r) && !unicode.Is(alphabets[4], r)
			other = other || r != 'μ' && r != 'µ' && unicode.In(r, alphabets...)
		}
		if latin && other {
			return true
		}
	}
	return strings.ContainsFunc(w, func(r rune) bool { return unicode.Is(alphabets[4], r) }) ||
		strings.ContainsAny(w, "._/") && unicode.In([]rune(strings.TrimLeft(w, "./~$-_"))[0], alphabets...) &&
			isASCII(w[strings.LastIndexAny(w, "._/"):])
}

// In reports whether t occurs in text as a whole, not within a longer word or number. A dotted name also
// counts if all its parts occur, since code in a package does not repeat the package's name; a plural if
// its singular occurs.
func (t Token) In(text string) bool {
	switch t.Kind {
	case Number:
		e := Text{place: "text", terms: terms(text), nums: slices.Concat(quantities(text, true), spelled(text))}
		return e.Where(t) != ""
	case Path:
		return hasPath(text, strings.TrimLeft(t.Text, "./~"))
	case Flag:
		return flagIn(text, t.Text)
	}
	if hasWord(text, t.Text) || commit.MatchString(t.Text) && strings.Contains(text, t.Text) ||
		hasWord(text, "New"+t.Text) { // Go's name of what makes one
		return true
	}
	if standard.MatchString(t.Text) || header.MatchString(t.Text) {
		return hasJoined(text, t.Text)
	}
	if one := strings.TrimSuffix(strings.TrimSuffix(t.Text, "s"), "'"); len(one) > 3 &&
		len(one) < len(t.Text) && hasWord(text, one) {
		return true
	}
	parts := strings.FieldsFunc(t.Text, func(r rune) bool { return strings.ContainsRune(".:/@->", r) })
	if len(parts) < 2 {
		return false
	}
	for _, p := range parts {
		if !hasWord(text, p) {
			return false
		}
	}
	return true
}

// hasPath finds a path or the end of one: retry.go is in lib/retry.go but not in lib/noretry.go.
func hasPath(text, p string) bool {
	for from := 0; p != ""; {
		i := strings.Index(text[from:], p)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(p):])
		if (i == 0 || !isWord(before) && before != '-') &&
			(i+len(p) == len(text) || !isWord(after) && after != '-') {
			return true
		}
		from = i + 1
	}
	return false
}

// flagIn finds an option as written, as declared by a program ("dry-run" in quotes, Fl dry-run in a manual
// page) or, if it has several words, as the corresponding name (dry_run, dryRun).
func flagIn(text, flag string) bool {
	if hasOption(text, flag) {
		return true
	}
	bare := strings.TrimLeft(flag, "-${")
	if strings.HasPrefix(flag, "$") {
		return hasWord(text, bare)
	}
	for _, form := range []string{`"` + bare + `"`, "'" + bare + "'", "`" + bare + "`", "Fl " + bare,
		"Fl -" + bare, `"` + bare + `,`, `"` + bare + `=`, "-" + bare} {
		if hasOption(text, form) {
			return true
		}
	}
	return strings.ContainsAny(bare, "-_") && hasJoined(text, bare)
}

// hasOption is hasWord with hyphens as part of words: --dry is not in --dry-run.
func hasOption(text, w string) bool {
	return hasWord(strings.ReplaceAll(text, "-", "_"), strings.ReplaceAll(w, "-", "_"))
}

// hasJoined finds a whole name however its words are joined: Retry-After, retry_after, retryAfter.
func hasJoined(text, name string) bool {
	join := strings.NewReplacer("-", "", "_", "")
	return hasWord(strings.ToLower(join.Replace(text)), strings.ToLower(join.Replace(name)))
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// hasWord finds w in text as a whole word.
func hasWord(text, w string) bool {
	for from := 0; w != ""; {
		i := strings.Index(text[from:], w)
		if i < 0 {
			return false
		}
		i += from
		if whole(text, i, i+len(w)) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
	return false
}

// whole reports whether text[i:j] is not part of a longer word or number.
func whole(text string, i, j int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	first, _ := utf8.DecodeRuneInString(text[i:j])
	last, _ := utf8.DecodeLastRuneInString(text[i:j])
	after, size := utf8.DecodeRuneInString(text[j:])
	if isWord(before) && isWord(first) && i > 0 || isWord(after) && isWord(last) && j < len(text) {
		return false
	}
	if unicode.IsDigit(last) && (after == '.' || after == ',') {
		next, _ := utf8.DecodeRuneInString(text[j+size:])
		return !unicode.IsDigit(next)
	}
	return true
}
