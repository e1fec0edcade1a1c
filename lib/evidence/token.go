package evidence

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kinds of Token.
const (
	Name   = "name"   // an identifier, or anything in backticks
	Path   = "path"   // a file's path
	Flag   = "flag"   // an option of a program, or $VARIABLE
	Number = "number" // 3, 1.5, 30s, 1_000
)

// Token is something in a sentence that either stands in the evidence or is made
// up: no matter of style.
type Token struct{ Kind, Text string }

var (
	fenced  = regexp.MustCompile("(?s)```[a-zA-Z0-9_+-]*\n?(.*?)(?:```|$)")
	ticked  = regexp.MustCompile("`([^`\n]{1,200})`")
	cited   = regexp.MustCompile(`(?:[\w@+/.-]*[A-Za-z][\w@+/-]*\.\d|(?:(?:\./)?\.?[\w@+-][\w.@+/-]*)?(?:\.[A-Za-z]\w*|/[\w-]+|\b(?:\w+file|README|LICENSE)))(?::\d{1,9}(?:[-–]\d{1,9}|:\d{1,9})?\b|#L\d{1,9}(?:-L?\d{1,9})?\b)`)
	linesOf = regexp.MustCompile(`(?i)\b(?:lines?|baris|l\.)\s+\d+(?:\s*(?:-|–|to|and|sampai|dan|,)\s*\d+)*`)
	marker  = regexp.MustCompile(`(?m)^[ \t>*-]*\d{1,2}[.)][ \t]`)
	counted = regexp.MustCompile(`(?i)\b\d+\s+(?:lines?|places?|match(?:es)?|hits?|references?|results?|occurrences?|steps?|baris|tempat|hasil|langkah)\b|\b\d+(?:st|nd|rd|th)\b`)
	address = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://\S+`)

	word   = regexp.MustCompile(`\d{1,3}(?:,\d{3})+\b|(?:\$|--?)?[\p{L}\p{N}_](?:[\p{L}\p{N}_]|(?:[-./@+]+|::|->)[\p{L}\p{N}_])*(?:\(\))?|[./~]+(?:[\w-]+[./]?)+`)
	number = regexp.MustCompile(`^\d+(?:[.,_]\d+)*(?:%|[a-zA-Z]{1,3})?$`)
	digits = regexp.MustCompile(`\d+(?:[.,_]\d+)*`)
	// statusClass is 5xx and the like: no number of its own.
	statusClass = regexp.MustCompile(`^\dxx(?:/\dxx)*$`)

	option = regexp.MustCompile(`^(?:--[a-zA-Z][\w-]*|\$[A-Za-z_]\w*)$`)
	isPath = regexp.MustCompile(`^[~.]{0,2}/?(?:[\w@+-][\w.@+-]*/)+[\w.@+-]+$|^[\w@+-]+\.(?:go|js|ts|tsx|jsx|py|rb|rs|java|kt|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|sql|ya?ml|toml|json|ndjson|md|txt|xml|html|css|proto|mod|sum|cfg|conf|ini|env|lock|mk|tf|ex|exs|lua|pl|csv|txtar)$`)
	humps  = regexp.MustCompile(`\p{Ll}\p{Lu}|^\p{Lu}+_|[\p{L}\p{N}]_[\p{L}\p{N}]|::|\(\)$`)
	dotted = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]+(?:\.[\p{L}_][\p{L}\p{N}_]+)+$`)
)

// products are names that are written like identifiers and are none.
var products = []string{
	"github", "gitlab", "javascript", "typescript", "postgresql", "mysql", "nosql", "sqlite", "openai", "openapi", "linkedin", "youtube",
	"mongodb", "dynamodb", "graphql", "websocket", "oauth", "ios", "macos", "paypal", "rabbitmq", "devops", "nodejs", "powershell",
	"bigquery", "whatsapp", "clickhouse", "influxdb", "mariadb", "bitbucket", "vscode", "webassembly", "autocomplete", "deepl",
}

// Tokens lists what is checkable in text: everything in backticks and fences,
// and in the prose whatever is shaped like code, a path, an option or a number.
// Citations (path:12, line 12), list markers, counts of places and addresses are
// left out: others check those.
func Tokens(text string) []Token {
	var out []Token
	add := func(kind, s string) {
		if t := (Token{kind, s}); s != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	code := func(span string) string {
		span = cited.ReplaceAllString(address.ReplaceAllString(span, " "), " ")
		for _, w := range word.FindAllString(span, -1) {
			add(kindOf(w, true), strings.TrimSuffix(w, "()"))
		}
		return " "
	}
	text = fenced.ReplaceAllStringFunc(text, func(m string) string { return code(fenced.FindStringSubmatch(m)[1]) })
	text = ticked.ReplaceAllStringFunc(text, func(m string) string { return code(strings.Trim(m, "`")) })
	for _, re := range []*regexp.Regexp{address, marker, cited, linesOf, counted} {
		text = re.ReplaceAllString(text, " ")
	}
	for _, w := range word.FindAllString(text, -1) {
		switch kind := kindOf(w, false); {
		case kind != "":
			add(kind, strings.TrimSuffix(w, "()"))
		case w[0] >= '0' && w[0] <= '9' && !statusClass.MatchString(w): // 30-second, 12-20
			for _, n := range digits.FindAllString(w, -1) {
				add(Number, n)
			}
		}
	}
	return out
}

// Citations lists the places that text names in the way of references.
func Citations(text string) []Place {
	var out []Place
	for _, m := range cited.FindAllString(address.ReplaceAllString(text, " "), -1) {
		if p, err := Parse(m); err == nil && p.Start > 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, m := range linesOf.FindAllString(text, -1) {
		for _, n := range digits.FindAllString(m, -1) {
			if line, err := strconv.Atoi(n); err == nil && line > 0 && !slices.Contains(out, Place{"", line, line}) {
				out = append(out, Place{"", line, line})
			}
		}
	}
	return out
}

// kindOf classifies a word; in prose "" is a plain word.
func kindOf(w string, code bool) string {
	switch {
	case number.MatchString(w) && !statusClass.MatchString(w):
		return Number
	case option.MatchString(w):
		return Flag
	case isPath.MatchString(w) && (code || strings.Contains(w, ".") || strings.Count(w, "/") > 1):
		return Path
	case code:
		return Name
	case slices.Contains(products, strings.ToLower(w)):
		return ""
	case humps.MatchString(w), dotted.MatchString(w) && utf8.RuneCountInString(w) > 4:
		return Name
	}
	return ""
}

// In reports whether t stands in text as a whole, not as a part of a longer word
// or number. A dotted name counts when all its parts do, since code inside a
// package does not repeat the package's name.
func (t Token) In(text string) bool {
	switch t.Kind {
	case Number:
		return hasNumber(text, digits.FindString(t.Text))
	case Path:
		return strings.Contains(text, strings.TrimLeft(t.Text, "./~"))
	case Flag:
		return hasWord(strings.ReplaceAll(text, "-", "_"), strings.ReplaceAll(t.Text, "-", "_"))
	}
	if hasWord(text, t.Text) {
		return true
	}
	parts := strings.FieldsFunc(t.Text, func(r rune) bool { return strings.ContainsRune(".:/@+", r) })
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

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// hasWord finds w in text where no letter or digit continues it.
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

// whole reports whether text[i:j] is not cut out of a longer word or number.
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

var numberWords = map[string][]string{
	"0": {"zero", "nol"}, "1": {"one", "once", "single", "satu", "sekali"}, "2": {"two", "twice", "dua"},
	"3": {"three", "thrice", "tiga"}, "4": {"four", "empat"}, "5": {"five", "lima"}, "6": {"six", "enam"},
	"7": {"seven", "tujuh"}, "8": {"eight", "delapan"}, "9": {"nine", "sembilan"}, "10": {"ten", "sepuluh"}, "12": {"twelve", "dozen"},
}

var separators = strings.NewReplacer(",", "", "_", "")

// hasNumber finds the number n in text, whatever its thousands are parted by,
// with or without a unit behind it, or as a word.
func hasNumber(text, n string) bool {
	want := separators.Replace(n)
	for _, at := range digits.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		if at[0] > 0 && unicode.IsLetter(before) && !hexPrefix(text[:at[0]]) {
			continue // sha256 is no 256
		}
		got := text[at[0]:at[1]]
		if separators.Replace(got) == want || slices.Contains(strings.FieldsFunc(got, func(r rune) bool { return r == ',' || r == '_' }), want) {
			return true
		}
	}
	lower := strings.ToLower(text)
	for _, w := range numberWords[want] {
		if hasWord(lower, w) {
			return true
		}
	}
	return false
}

func hexPrefix(s string) bool { return strings.HasSuffix(s, "0x") || strings.HasSuffix(s, "0X") }
