package safety

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"math"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/record/draft"
)

// secretRules are the tokens that are recognised by their shape alone. near are
// literals of which one must stand in the text (in lower case) before the
// expression is tried. Shapes as the issuers document them and as gitleaks'
// rules (v8) collect them.
var secretRules = []struct {
	name string
	near []string
	re   *lazyregexp.Pattern
}{
	{"private key", []string{"private key"}, lazyregexp.New(`(?i)-----\s*BEGIN[A-Z0-9 ]*PRIVATE KEY`)},
	{"AWS access key", []string{"akia", "asia", "abia", "acca"}, lazyregexp.New(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`)},
	{"GitHub token", []string{"gh", "github_pat_"}, lazyregexp.New(`\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})`)},
	{"GitLab token", []string{"gl", "gr1348941"}, lazyregexp.New(`\b(?:gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas)-[\w-]{16,}|GR1348941[\w-]{20})`)},
	{"Slack token", []string{"xox", "xapp-"}, lazyregexp.New(`(?i)\b(?:xox[abeoprs]-[a-z0-9-]{10,}|xapp-\d-[a-z0-9-]{10,})`)},
	{"Slack webhook", []string{"hooks.slack.com"}, lazyregexp.New(`(?i)hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}`)},
	{"Google key", []string{"aiza", "ya29.", "gocspx-"}, lazyregexp.New(`\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}`)},
	{"Stripe key", []string{"k_live_", "k_test_", "whsec_"}, lazyregexp.New(`\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{20,}`)},
	{"model provider key", []string{"sk-", "hf_"}, lazyregexp.New(`\bsk-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}`)},
	{"package registry token", []string{"npm_", "pypi-"}, lazyregexp.New(`\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[\w-]{50,}`)},
	{"mail service key", []string{"sg.", "key-"}, lazyregexp.New(`\bSG\.[\w-]{16,}\.[\w-]{16,}|\bkey-[0-9a-f]{32}\b`)},
	{"chat bot token", []string{":aa", "."}, lazyregexp.New(`\b\d{8,10}:AA[\w-]{33}|\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}`)},
	{"JSON web token", []string{"eyj"}, lazyregexp.New(`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*`)},
	{"Shopify token", []string{"shp"}, lazyregexp.New(`\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{16,}`)},
	{"Discord webhook", []string{"/webhooks/"}, lazyregexp.New(`(?i)discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{5,}/[\w-]{10,}`)},
	{"platform token", []string{"dop_v1_", "glsa_", "hvs.", "dckr_pat_", "rubygems_", "lin_api_", "ntn_", "gsk_", "xai-", "pmak-", "figd_", "sq0", "age-secret-key", "do1_", "atatt", "eaa", "secret_"},
		lazyregexp.New(`\b(?:do[opr]_v1_[a-f0-9]{32,}|glsa_\w{20,}|hvs\.[\w-]{20,}|dckr_pat_[\w-]{20,}|rubygems_[a-f0-9]{32,}|lin_api_\w{20,}|(?:ntn|gsk|secret)_[A-Za-z0-9]{30,}|xai-\w{20,}|PMAK-[\w-]{20,}|figd_[\w-]{20,}|sq0[a-z]{3}-[\w-]{20,}|AGE-SECRET-KEY-1\w{20,}|ATATT[\w-]{20,}|EAA[A-Za-z0-9]{40,})`)},
	{"platform token", []string{"dapi", "nrak-", "syt_", "tskey-", "shippo_", "pscale_", "sntrys_", "sntryu_", "phc_", "phx_", "eyjr", "sl.", "apify_api_", "r8_", "pplx-", "lsv2_", "tfp_", "doppler", "dp.", "atlasv1", "vercel_", "nfp_", "rnd_", "cio", "crates", "oy2", "glc_", "t-", "u-", "heroku", "hrku-", "pat-", "sbp_", "cfut_", "fio-u-", "bb_", "hvb.", "sk."},
		lazyregexp.New(`\b(?:dapi[a-f0-9]{32}(?:-\d)?|NRAK-[A-Z0-9]{27}|syt_[A-Za-z0-9]{2,}_[A-Za-z]{10,}_\w{4,8}|tskey-[a-z]+-[\w-]{16,}|shippo_(?:live|test)_[a-f0-9]{40}|pscale_(?:tkn|pw|oauth)_[\w.=-]{20,}|sntry[su]_[\w+/=]{30,}|ph[cx]_[A-Za-z0-9]{30,}|sl\.[\w-]{100,}|apify_api_[A-Za-z0-9]{30,}|r8_[A-Za-z0-9]{37}|pplx-[A-Za-z0-9]{40,}|lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}|dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{30,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}|nfp_[A-Za-z0-9]{36}|cio[A-Za-z0-9]{32}|oy2[a-z0-9]{43}|glc_[A-Za-z0-9+/]{32,}={0,2}|HRKU-[\w-]{30,}|pat-(?:na|eu)\d-[a-f0-9-]{36}|sbp_[a-f0-9]{40}|fio-u-[\w=-]{60,}|hvb\.[\w-]{100,}|[tu]-[a-z0-9]\d{2,}[A-Za-z0-9]{20,}|sk\.eyJ[\w-]{20,}\.[\w-]{20,})`)},
	{"Azure key", []string{"accountkey=", "sharedaccesskey=", "sig=", "q~"}, lazyregexp.New(`(?i)\b(?:Account|SharedAccess)Key\s*=\s*[A-Za-z0-9+/]{40,}|[?&]sig=[A-Za-z0-9%+/]{40,}|\b[\w~.-]{3}\dQ~[\w~.-]{31,34}`)},
	{"chat webhook", []string{"webhook", "/hook", "hooks/"}, lazyregexp.New(`(?i)(?:webhook\.office\.com/webhookb2/[\w@-]{36,}|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v\d+/hook/[\w-]{16,}|chat\.googleapis\.com/v1/spaces/\w+/messages\?key=[\w%-]{20,}|oapi\.dingtalk\.com/robot/send\?access_token=[a-f0-9]{40,}|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[a-f0-9-]{36}|/hooks/[a-z0-9]{26}\b)`)},
	{"password of a command", []string{" -u", "--user", "login"}, lazyregexp.New(`(?i)\bcurl\b[^\n]*\s(?:-u|--user)[ =]?["']?[^\s:$<>{}]+:[^\s$<>{}]{6,}|\blogin\s+\S+\s+password\s+[^\s$<>{}]{6,}`)},
	{"Twilio key", []string{"sk", "ac"}, lazyregexp.New(`\b(?:SK|AC)[0-9a-f]{32}\b`)},
	{"password in an address", []string{"://"}, lazyregexp.New(`://[^/\s:@]*:[^/\s:@<>{}$*]{3,}@[\w.-]`)},
}

// assignment finds key = value where the key's name says that the value is
// secret; only a value that looks drawn at random or typed as a password counts.
var assignment = lazyregexp.New(`(?i)(pass(?:word|wd|phrase|code)?|pwd|sandi|contraseña|passwort|senha|mot de passe|пароль|密码|口令|パスワード|비밀번호|secret|token|(?:api|access|account|auth|client|consumer|encryption|license|master|private|app|application|service|signing|shared|storage|subscription|webhook|deploy)[ _-]?key|credentials?|session[_-]?id|sessionid|sid|cookie)[\w-]*["'` + "`" + `]?[*_]{0,2}\s*(?:=>|:=|==|=|:|：|\bis\b|\badalah\b|\bes\b|\bist\b|は|是)[*_]{0,2}\s*(["'` + "`" + `]?)([^\s"'` + "`" + `,;]{6,})`)

var bearer = lazyregexp.New(`(?i)\b(?:bearer|basic|authorization:\s*\w+)\s+([a-z0-9+/._~=-]{16,})`)

// secrets names the kinds of secret that stand in text. It never returns the
// secret itself, since what it returns is logged and shown.
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
	if containsOwn(text, own) || raw != text && containsOwn(raw, own) { // a secret may hold what is not seen
		found = append(found, "a secret of this installation")
	}
	return found
}

// shaped names the rules that text meets as it is, without what nobody sees in it,
// joined over its lines, or decoded.
func shaped(text string) []string {
	var found []string
	clean := strings.Map(seen, text)
	texts := []string{text, clean, broken.ReplaceAllString(clean, "$1$2")}
	for _, t := range slices.Compact(append(texts, decoded(clean)...)) {
		lower := strings.ToLower(t)
		for _, rule := range secretRules {
			if containsAny(lower, rule.near) && !slices.Contains(found, rule.name) && rule.re.MatchString(t) {
				found = append(found, rule.name)
			}
		}
	}
	return found
}

// broken is a line's end inside a word that holds figures or signs: a token that
// was wrapped.
var broken = lazyregexp.New(`([\w./+=-]{8,})[ \t]*\r?\n[ \t>]*([\w./+=-]{4,})`)

// seen drops what is not to be seen, and narrows full-width letters.
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

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// passwords are the names, or how they begin, of what a person types: shorter
// and less random than what a machine draws.
var passwords = []string{"pass", "pwd", "sandi", "contraseña", "senha", "mot de passe", "пароль", "密码", "口令", "パスワード", "비밀번호"}

// isSecretValue judges the right-hand side of an assignment.
func isSecretValue(key string, quoted bool, value string) bool {
	value = strings.TrimRight(value, ".)]}>")
	if strings.ContainsAny(value, "<>{}$*()[]") || strings.Contains(value, "...") || len(value) < 6 {
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
	return random(value, 16)
}

// random reports that s is at least n long and looks drawn by a machine: letters
// and digits mixed, at least 3 bits of entropy a character.
func random(s string, n int) bool {
	if len(s) < n {
		return false
	}
	counts := map[rune]int{}
	digits, letters := 0, 0
	for _, r := range s {
		counts[r]++
		if unicode.IsDigit(r) {
			digits++
		} else if unicode.IsLetter(r) {
			letters++
		}
	}
	bits := 0.0
	for _, c := range counts {
		p := float64(c) / float64(len(s))
		bits -= p * math.Log2(p)
	}
	return digits >= 2 && letters >= 2 && bits >= 3
}

// minSecret is the fewest bytes of an own secret that is looked for: a shorter
// one would be found in any text.
const minSecret = 6

// containsOwn looks for our own secrets in the forms in which they could leave:
// as they are, split by anything that is no letter or digit, backwards, in other
// letters that look the same, percent-encoded, as entities or escapes, in hex, and
// in base64 at each of its three alignments.
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
			if len(form) >= minSecret && slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, form) }) {
				return true
			}
		}
		tight := strings.ToLower(strings.Map(alnum, secret))
		for _, form := range []string{tight, backwards(tight)} {
			if len(form) >= minTight && slices.ContainsFunc(bare, func(t string) bool { return strings.Contains(t, form) }) {
				return true
			}
		}
	}
	return false
}

// minTight is the fewest letters and digits of an own secret that is looked for
// with whatever stands between them left out.
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
)

// decoded are readings of a text whose letters are written as codes.
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
	for _, m := range b64Run.FindAllString(text, maxRuns) {
		m = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(m, "="))
		if b, err := base64.RawStdEncoding.DecodeString(m[:len(m)-b2i(len(m)%4 == 1)]); err == nil {
			add(string(b))
		}
	}
	return out
}

const maxRuns = 40 // coded words that are read

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unpercent reads every %41 and leaves what is none.
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

// dense drops what can be put between the letters of a secret to break it up.
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
		// Whole groups of three bytes are what does not depend on the neighbours.
		raw := append(make([]byte, pad), secret...)
		from := (pad + 2) / 3 * 3
		whole := raw[from : from+(len(raw)-from)/3*3]
		if len(whole) >= minSecret {
			out = append(out, base64.RawStdEncoding.EncodeToString(whole), base64.RawURLEncoding.EncodeToString(whole))
		}
	}
	return out
}
