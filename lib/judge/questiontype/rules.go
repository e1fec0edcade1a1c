package questiontype

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

//go:embed rules/*.txt
var files embed.FS

// rule is one line of a rules file.
type rule struct {
	name    string // for languages other than English, with the language code as suffix
	minutes float64
	re      *lazyregexp.Pattern
	dense   bool     // of a language without spaces: no ASCII text can match
	needs   []string // a text without any of these cannot match; nil: unknown
}

func (r *rule) match(text string) bool {
	return !(r.dense && isASCII(text)) && (r.needs == nil || holdsAny(text, r.needs)) && r.re.MatchString(text)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// rules are the rules of each section, in the order in which they are tried.
var rules = sync.OnceValue(func() map[string][]rule {
	list, err := files.ReadDir("rules")
	if err != nil {
		panic(err) // embedded
	}
	langs := []string{"en"}
	for _, f := range list {
		if lang := strings.TrimSuffix(f.Name(), ".txt"); lang != "en" {
			langs = append(langs, lang)
		}
	}
	sections := map[string][]rule{}
	for _, lang := range langs {
		b, err := files.ReadFile("rules/" + lang + ".txt")
		if err != nil {
			panic(err)
		}
		if err := parse(lang, string(b), sections); err != nil {
			panic(err) // the files are embedded, and a test reads them
		}
	}
	return sections
})

var sectionNames = []string{"why", "status_check", "api_contract", "data_lookup", "other", "problem", "minutes"}

func parse(lang, file string, sections map[string][]rule) error {
	section := ""
	for i, line := range strings.Split(file, "\n") {
		where := path.Join("rules", lang+".txt") + ":" + strconv.Itoa(i+1)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			if !slices.Contains(sectionNames, section) {
				return fmt.Errorf("%s: no section %q", where, section)
			}
			continue
		}
		r, err := parseRule(lang, section, line)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		sections[section] = append(sections[section], r)
	}
	return nil
}

func parseRule(lang, section, line string) (r rule, err error) {
	head, body, ok := strings.Cut(line, ": ")
	if !ok {
		return r, fmt.Errorf("rule %q: no colon", line)
	}
	name, minutes, graded := strings.Cut(head, " ")
	if graded != (section == "minutes") {
		return r, fmt.Errorf("rule %q: minutes stand in [minutes], and there alone", name)
	}
	if graded {
		if r.minutes, err = strconv.ParseFloat(minutes, 64); err != nil {
			return r, fmt.Errorf("rule %q: %w", name, err)
		}
	}
	if r.name = name; lang != "en" {
		r.name += "." + lang
	}
	r.dense = lang == "ja" || lang == "zh"
	text := whole(body, r.dense)
	r.re = lazyregexp.New(text)
	r.needs, err = needs(text)
	return r, err
}

var shorthands = strings.NewReplacer(
	"{ask}", `(?:^|[?!.,:;)] ?|(?:^|[^\pL\pN_])(?:if|whether|hey|hi|hello|hiya|so|and|or|but|also|btw|question|guys|all|folks|everyone|team|please|ok|well|know|ask|wondering) )`,
	"{end}", `\s*(?:[?!.,;:)？！。，、]|$)`,
	"{gap}", `(?:[^.?!。？！]|\.[^ ]){0,60}`,
	"{thing}", `(?:[\pL\pN_./#'’-]+ ){1,4}`,
)

// whole makes an expression match whole words. RE2's \b is ASCII only.
func whole(body string, dense bool) string {
	left, right := `(?:^|[^\pL\pN_])`, `(?:$|[^\pL\pN_])`
	if dense {
		left, right = "", ""
	}
	if strings.HasPrefix(body, "{ask}") {
		left = ""
	}
	if strings.HasSuffix(body, "{end}") || strings.HasSuffix(body, "{gap}") {
		right = ""
	}
	return left + "(?:" + shorthands.Replace(body) + ")" + right
}

// first returns the first rule of a section that matches.
func first(section, text string) *rule {
	list := rules()[section]
	if i := slices.IndexFunc(list, func(r rule) bool { return r.match(text) }); i >= 0 {
		return &list[i]
	}
	return nil
}

// maxText is how much of a message is read, in bytes, half of it from the end: people ask before or after
// the text that they paste, and matching takes time.
const maxText = 1 << 10

var (
	fence  = lazyregexp.New("(?s)```.*?(?:```|$)")
	inline = lazyregexp.New("`[^`\n]*`")
	quoted = lazyregexp.New(`(?m)^\s*>.*$`)
	link   = lazyregexp.New(`https?://\S+`)
	curly  = strings.NewReplacer("’", "'", "‘", "'", "`", "'")
)

// plain returns the text of a message in lower case, without quotes, pasted code and links. Text in
// backquotes becomes one word, since it is a name.
func plain(s string) string {
	if len(s) > 64*maxText {
		s = s[:32*maxText] + "\n" + s[len(s)-32*maxText:]
	}
	s = quoted.ReplaceAllString(fence.ReplaceAllString(s, " "), " ")
	s = link.ReplaceAllString(inline.ReplaceAllString(s, " code "), " link ")
	s = strings.Join(strings.Fields(strings.ToLower(curly.Replace(strings.ToValidUTF8(s, "")))), " ")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText/2]+" . "+s[len(s)-maxText/2:], "")
	}
	return s
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func signed(f float64) string {
	if f < 0 {
		return number(f)
	}
	return "+" + number(f)
}
