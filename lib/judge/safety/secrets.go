package safety

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// assignment matches key = value where the key's name indicates a secret. Only a value that looks random
// or typed as a password counts. In YAML it may be on a line of its own, after a mark.
var assignment = lazyregexp.New(`(?i)(pass(?:word|wd|phrase|code)?|pwd|sandi|contraseña|passwort|senha|mot de passe|пароль|密码|口令|パスワード|비밀번호|secret|token|(?:api|access|account|auth|client|consumer|encryption|license|master|private|app|application|service|signing|shared|storage|subscription|webhook|deploy)[ _-]?key|[?&]key|key|auth|credentials?|session[_-]?id|sessionid|sid|cookie)[\w-]*["'` + "`" + `]?[*_]{0,2}(?:\s*(?:=>|:=|==|=|:|：|\||\bis\b|\badalah\b|\bes\b|\bist\b|は|是)|\s+[-–—]\s)[*_]{0,2}\s*(?:(?:[|>][-+]?|-)\s+)?(["'` + "`" + `]?)\s*([^\s"'` + "`" + `,;]{6,})`)

// named are words of which one is in whatever assignment or bearer matches.
var named = append([]string{"secret", "token", "key", "credential", "session", "sid", "cookie", "bearer", "basic",
	"auth"}, passwords...)

var bearer = lazyregexp.New(`(?i)\b(?:bearer|basic|authorization:\s*\w+)\s+([a-z0-9+/._~=-]{16,})`)

// secrets returns the kinds of secret in text. It never returns the secret itself, since the result is
// logged and shown.
func secrets(text string, own []string) []string {
	found := shaped(text)
	raw := text
	text = strings.Map(seen, raw)
	for _, m := range assignment.FindAllStringSubmatch(text, -1) {
		if isSecretValue(strings.ToLower(m[1]), m[2] != "", m[3]) {
			found = append(found, "value of "+strings.ToLower(m[1]))
			break
		}
	}
	for _, m := range bearer.FindAllStringSubmatch(text, -1) {
		if random(m[1], 16) {
			found = append(found, "authorization header")
			break
		}
	}
	if containsOwn(text, own) || raw != text && containsOwn(raw, own) { // it may contain these
		found = append(found, "a secret of this installation")
	}
	return found
}

// shaped returns the rules that match text as it is, without invisible characters, joined over line ends,
// or decoded, also twice. Rules recognized by form alone are also tried on it backwards and with spaced
// letters joined.
func shaped(text string) []string {
	var found []string
	meet := func(t string, all bool) {
		in := search(t)
		for i := range rules() {
			if r := &rules()[i]; (all || r.shaped) && !slices.Contains(found, r.name) &&
				r.find(in, func(string) bool { return false }) != "" {
				found = append(found, r.name)
			}
		}
	}
	clean := strings.Map(seen, text)
	texts := []string{text, clean, broken.ReplaceAllString(clean, "$1$2")}
	for _, t := range decoded(clean) {
		texts = append(texts, t)
		if len(t) < 4*draft.MaxDraftRunes { // encoded twice
			texts = append(texts, decoded(t)...)
		}
	}
	for _, t := range slices.Compact(texts) {
		meet(t, true)
	}
	for _, t := range []string{backwards(clean), spaced.ReplaceAllStringFunc(clean, func(m string) string {
		return strings.Map(dense, m)
	})} {
		if t != clean {
			meet(t, false)
		}
	}
	return found
}

// spaced matches a word with its letters set apart.
var spaced = lazyregexp.New(`(?:[^\s][ _.]){11,}[^\s]`)

// broken matches a line end inside a word with digits or signs: a wrapped token.
var broken = lazyregexp.New(`([\w./+=-]{8,})[ \t]*\r?\n[ \t>]*([\w./+=-]{4,})`)

// seen drops invisible characters, and narrows full-width ones.
func seen(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFEE0
	case !unicode.IsGraphic(r) || unicode.Is(text.Blank, r):
		return -1
	}
	return r
}

// passwords are names, or prefixes of names, of values typed by people: shorter and less random than
// generated ones.
var passwords = []string{"pass", "pwd", "sandi", "contraseña", "senha", "mot de passe", "пароль", "密码", "口令",
	"パスワード", "비밀번호"}

// computed matches the beginning of a variable, a call or an index.
var computed = lazyregexp.New(`^(?:[$*(\[]|(?:[a-z_]\w*|\w+(?:\.\w+)+|[A-Z_]+)[(\[])`)

// isSecretValue judges the right-hand side of an assignment.
func isSecretValue(key string, quoted bool, value string) bool {
	value = strings.TrimRight(value, ".)]}>")
	if strings.ContainsAny(value, "<>{}") || strings.Contains(value, "...") || len(value) < 6 ||
		computed.MatchString(value) {
		return false // a placeholder, a variable or a call
	}
	if slices.ContainsFunc(passwords, func(p string) bool { return strings.HasPrefix(key, p) }) {
		digit, other := false, false
		for _, r := range value {
			digit = digit || unicode.IsDigit(r)
			other = other || unicode.IsLetter(r)
		}
		return digit && other || quoted && strings.ContainsAny(value, "!#%^&+?@")
	}
	if key == "key" || key == "auth" {
		return generated(value)
	}
	return random(value, 16)
}

// generated reports whether s looks drawn at random and is neither text in base64 nor a number in
// hexadecimal, which would rather name a commit or a sum.
func generated(s string) bool {
	cases, digits := changes(s)
	if len(s) < 20 || 4*(cases+digits) < len(s) || 8*digits < len(s) || entropy(s) < 3.5 ||
		strings.Trim(strings.ToLower(s), "0123456789abcdef-") == "" {
		return false
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return err != nil || !utf8.Valid(b) || strings.ContainsFunc(string(b), unicode.IsControl)
}

// changes counts where a small letter and a capital are neighbours, and where a letter and a digit are.
func changes(s string) (cases, digits int) {
	for i := 1; i < len(s); i++ {
		a, b := rune(s[i-1]), rune(s[i])
		switch {
		case unicode.IsDigit(a) && unicode.IsLetter(b) || unicode.IsLetter(a) && unicode.IsDigit(b):
			digits++
		case unicode.IsLower(a) && unicode.IsUpper(b) || unicode.IsUpper(a) && unicode.IsLower(b):
			cases++
		}
	}
	return cases, digits
}

// random reports whether s has at least n bytes and looks generated: letters and digits mixed, or capitals
// and small letters more often than in a name of several words, with at least 3 bits of entropy per
// character.
func random(s string, n int) bool {
	if len(s) < n {
		return false
	}
	digits, letters := 0, 0
	for _, r := range s {
		if unicode.IsDigit(r) {
			digits++
		} else if unicode.IsLetter(r) {
			letters++
		}
	}
	cases, _ := changes(s)
	return (digits >= 2 && letters >= 2 || 20*cases > 9*len(s)) && entropy(s) >= 3
}

// minSecret is the minimum length in bytes of an own secret that is searched for: a shorter one would be
// found in any text.
const minSecret = 6

// containsOwn searches for our own secrets in the forms in which they could leak: unchanged, split by
// characters other than letters and digits, backwards, in look-alike letters, percent-encoded, as entities
// or escapes, in hex, and in base64 at each of its three alignments.
func containsOwn(text string, own []string) bool {
	if len(own) == 0 {
		return false
	}
	texts := []string{text}
	for _, t := range decoded(text) {
		texts = append(texts, t)
		if again := decoded(t); len(t) < 4*draft.MaxDraftRunes { // encoded twice
			texts = append(texts, again...)
		}
	}
	texts = append(texts, strings.Map(rot13, text), strings.Map(latin, text))
	for i, n := 0, len(texts); i < n; i++ {
		texts = append(texts, strings.Map(dense, texts[i]), strings.ToLower(strings.Map(dense, texts[i])))
	}
	bare := make([]string, len(texts))
	for i, t := range texts {
		bare[i] = strings.ToLower(strings.Map(alnum, t))
	}
	for _, secret := range own {
		if len(secret) < minSecret {
			continue
		}
		for _, form := range append(forms(secret), strings.Map(dense, secret)) {
			if len(form) >= minSecret && slices.ContainsFunc(texts, func(t string) bool {
				return strings.Contains(t, form)
			}) {
				return true
			}
		}
		if slices.ContainsFunc(texts, func(t string) bool { return inHalves(t, secret) }) {
			return true
		}
		tight := strings.ToLower(strings.Map(alnum, secret))
		for _, form := range []string{tight, backwards(tight)} {
			if len(form) >= minTight && slices.ContainsFunc(bare, func(t string) bool {
				return strings.Contains(t, form)
			}) {
				return true
			}
		}
	}
	return false
}

// inHalves reports whether a text contains a secret in two parts, each long enough not to occur by chance.
func inHalves(text, secret string) bool {
	for i := minTight; i <= len(secret)-minTight; i++ {
		if strings.Contains(text, secret[:i]) && strings.Contains(text, secret[i:]) {
			return true
		}
	}
	return false
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

// latin replaces a Cyrillic or Greek letter by the Latin letter that looks the same.
func latin(r rune) rune {
	if r < 0x370 || r > 0x51d {
		return r
	}
	const looks, like = "аеорсухіјѕԁԛԝһАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν",
		"aeopcyxijsdqwhABEKMHOPCTXIJSABEZHIKMNOPTYXoav"
	at := 0
	for _, l := range looks {
		if l == r {
			return rune(like[at])
		}
		at++
	}
	return r
}

// minTight is the minimum number of letters and digits of an own secret that is searched for with
// everything between them removed.
const minTight = 8

func alnum(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E {
		r -= 0xFEE0 // full-width forms
	}
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return -1
}

var (
	escape = lazyregexp.New(`\\(?:x|u00|u\{)([0-9A-Fa-f]{2})\}?`)
	hexRun = lazyregexp.New(`(?i)(?:[0-9a-f]{2}[\s:,-]?){6,}`)
	b64Run = lazyregexp.New(`[A-Za-z0-9+/_-]{8,}={0,2}`)
	b32Run = lazyregexp.New(`(?i)\b[A-Z2-7]{10,}={0,6}`)
	decRun = lazyregexp.New(`\b(?:\d{2,3}[\s,;:]+){5,}\d{2,3}\b`)
)

// decoded returns the decodings of a text in which letters are written as codes.
func decoded(text string) []string {
	var out []string
	add := func(t string) {
		if t != text && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if strings.Contains(text, "%") {
		add(unpercent(text))
	}
	if strings.Contains(text, "&") {
		add(html.UnescapeString(text))
	}
	if strings.Contains(text, `\`) {
		add(escape.ReplaceAllStringFunc(text, func(m string) string {
			b, err := hex.DecodeString(escape.FindStringSubmatch(m)[1])
			if err != nil {
				return m
			}
			return string(b)
		}))
	}
	for _, m := range hexRun.FindAllString(text, maxRuns) {
		if b, err := hex.DecodeString(strings.Map(alnum, m)[:len(strings.Map(alnum, m))/2*2]); err == nil {
			add(string(b))
		}
	}
	for _, m := range b32Run.FindAllString(text, maxRuns) {
		m = strings.ToUpper(strings.TrimRight(m, "="))
		if b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(m); err == nil {
			add(string(b))
		}
	}
	for _, m := range decRun.FindAllString(text, maxRuns) {
		var b []byte
		for _, n := range strings.FieldsFunc(m, func(r rune) bool { return !unicode.IsDigit(r) }) {
			c, _ := strconv.Atoi(n) // three digits
			b = append(b, byte(c))
		}
		add(string(b))
	}
	for _, m := range b64Run.FindAllString(text, maxRuns) {
		m = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(m, "="))
		if b, err := base64.RawStdEncoding.DecodeString(m[:len(m)-b2i(len(m)%4 == 1)]); err == nil {
			add(string(b))
		}
	}
	return out
}

const maxRuns = 40 // maximum number of coded words decoded

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unpercent decodes every %41 and leaves other text unchanged.
func unpercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func backwards(s string) string {
	back := []rune(s)
	slices.Reverse(back)
	return string(back)
}

// dense drops characters that can be inserted into a secret to break it up.
func dense(r rune) rune {
	if unicode.IsSpace(r) || !unicode.IsGraphic(r) || strings.ContainsRune("`*\"'\\|", r) {
		return -1
	}
	return r
}

func forms(secret string) []string {
	back := []byte(secret)
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	out := []string{
		secret, string(back), hex.EncodeToString([]byte(secret)),
		url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.QueryEscape(secret)),
	}
	for pad := range 3 {
		// Only whole groups of three bytes are independent of their neighbours.
		raw := append(make([]byte, pad), secret...)
		from := (pad + 2) / 3 * 3
		whole := raw[from : from+(len(raw)-from)/3*3]
		if len(whole) >= minSecret {
			out = append(out, base64.RawStdEncoding.EncodeToString(whole),
				base64.RawURLEncoding.EncodeToString(whole))
		}
	}
	return out
}
