// Package pattern reads rules over the text of a message: named expressions in sections, one file per
// language. lib/judge/questiontype/rules/README describes their format.
package pattern

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

// Rule is one line of a rules file.
type Rule struct {
	Name   string  // for languages other than English, with the language code as suffix
	Weight float64 // 0 in sections without weights
	re     *lazyregexp.Pattern
	dense  bool     // of a language without spaces: no ASCII text can match
	needs  []string // a text without any of these cannot match; nil: unknown
}

// Match reports whether the rule matches a text that Plain returned.
func (r *Rule) Match(text string) bool {
	return !(r.dense && isASCII(text)) && (r.needs == nil || holdsAny(text, r.needs)) &&
		r.re.MatchString(text)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// Set is the rules of each section: those of English first, then those of the other languages, each in
// the order of its file.
type Set map[string][]Rule

// First returns the first rule of a section that matches, or nil.
func (s Set) First(section, text string) *Rule {
	list := s[section]
	for i := range list {
		if list[i].Match(text) {
			return &list[i]
		}
	}
	return nil
}

// Sections are the sections that a file may have. The value says whether each rule there has a weight.
type Sections map[string]bool

// Load reads all files of a folder, which must be LANGUAGE.txt.
func Load(files fs.FS, folder string, sections Sections) (Set, error) {
	names, err := fs.Glob(files, path.Join(folder, "*.txt"))
	if err != nil {
		return nil, err
	}
	english := path.Join(folder, "en.txt")
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == english:
			return -1
		case b == english:
			return 1
		}
		return strings.Compare(a, b)
	})
	set := Set{}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if err := set.Parse(name, string(b), sections); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// Parse adds the rules of one file, which is named FOLDER/LANGUAGE.txt. The error names file and line.
func (set Set) Parse(name, file string, sections Sections) error {
	lang, section := strings.TrimSuffix(path.Base(name), ".txt"), ""
	for i, line := range strings.Split(file, "\n") {
		where := name + ":" + strconv.Itoa(i+1)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			if _, ok := sections[section]; !ok {
				return fmt.Errorf("%s: no section %q", where, section)
			}
			continue
		}
		r, err := parseRule(lang, sections[section], line)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		set[section] = append(set[section], r)
	}
	return nil
}

func parseRule(lang string, weighted bool, line string) (r Rule, err error) {
	head, body, ok := strings.Cut(line, ": ")
	if !ok {
		return r, fmt.Errorf("rule %q: no colon", line)
	}
	name, weight, graded := strings.Cut(head, " ")
	if graded != weighted {
		return r, fmt.Errorf("rule %q: its section has weights: %v", name, weighted)
	}
	if graded {
		if r.Weight, err = strconv.ParseFloat(weight, 64); err != nil {
			return r, fmt.Errorf("rule %q: %w", name, err)
		}
	}
	if r.Name = name; lang != "en" {
		r.Name += "." + lang
	}
	r.dense = lang == "ja" || lang == "zh"
	text := whole(body, r.dense)
	r.re = lazyregexp.New(text)
	r.needs, err = needs(text)
	return r, err
}

var shorthands = strings.NewReplacer(
	"{ask}", `(?:^|[?!.,:;)] ?|(?:^|[^\pL\pN_])(?:if|whether|hey|hi|hello|hiya|so|and|or|but|also|btw|question|guys|all|folks|everyone|team|please|ok|well|know|ask|wondering) )`,
	"{do}", `(?:^|[.!?:;,)] |[。！] ?|(?:^|[^\pL\pN_])(?:please|pls|plz|(?:can|could|would|will) (?:you|u|someone|somebody)(?: please| pls)?|hey|hi|hello|also|bot|`+
		`tolong|coba|minta|mohon|bisa|bitte|kannst du|könntest du|por favor|puedes|podrías|peux-tu|pourrais-tu|pouvez-vous|s'il te plaît|pode|poderia|favor) )`,
	"{te}", `(?:て|で)(?:おいて|みて)?(?:もらえ|もらい|ください|下さい|くだ|くれ|ほし|欲し|いただ|頂|お願い|ね|よ|[。、！!？?\s]|$)`,
	"{end}", `\s*(?:[?!.,;:)？！。，、]|$)`,
	"{gap}", `(?:[^.?!。？！]|\.[^ ]){0,60}`,
	"{list}", `(?:(?:my|our|the team's|today's)(?: \pL+)? lists?|(?:my|our|the|this|that|a)(?: \pL+)? `+
		`(?:to[- ]?do|task|shopping|grocery|groceries|chores?|errands?|packing|wish|bucket|reminder|reading)s? `+
		`?(?:wish)?list|(?:to[- ]?do|shopping|grocery|chores?|task) list|(?:my|our|the) (?:(?:open|current|remaining|pending|next) )?(?:to[- ]?do'?s|to[- ]?do|`+
		`tasks|backlog|reminders|shopping|list of things to do)|`+
		`(?:the |this |that )?list(?:\s*[?!.,;:)]|\s*$| please| today| for today| again))`,
	"{thing}", `(?:[\pL\pN_./#'’-]+ ){1,4}`,
)

// whole makes an expression match whole words. RE2's \b is ASCII only.
func whole(body string, dense bool) string {
	left, right := `(?:^|[^\pL\pN_])`, `(?:$|[^\pL\pN_])`
	if dense {
		left, right = "", ""
	}
	if strings.HasPrefix(body, "{ask}") || strings.HasPrefix(body, "{do}") {
		left = ""
	}
	if strings.HasSuffix(body, "{end}") || strings.HasSuffix(body, "{gap}") || strings.HasSuffix(body, " ") {
		right = ""
	}
	return left + "(?:" + shorthands.Replace(body) + ")" + right
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

// Plain returns the text of a message in lower case, without quotes, pasted code and links. Text in
// backquotes becomes one word, since it is a name.
func Plain(s string) string {
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
