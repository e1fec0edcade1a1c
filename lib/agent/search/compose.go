package search

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

const (
	maxProofs  = 4  // places that one sentence names
	maxCallers = 8  // functions that an answer lists, each with a reference
	maxProof   = 14 // lines of a quote
	maxAbove   = 5  // of the comment above a declaration

	maxLeftOut = 50 // lines that one line of dots stands for; evidence looks no further than 60
)

// proof is a place that shows what a sentence says.
type proof struct {
	path       string
	start, end int
	lines      []string // of the whole file
	claim      string
	from, to   int   // the lines behind from and before to are left out
	kept       []int // only these lines are quoted, unless nil
	more       bool  // the declaration continues
}

func (p proof) place() string {
	return evidence.Place{Path: p.path, Start: p.start, End: p.end}.String()
}

// composed is an answer in a sentence.
type composed struct {
	say    string
	proofs []proof
	exact  bool // the question has the name as the code writes it
}

// compose answers a question of a common kind in a sentence, if the code proves one; otherwise it returns
// nil. found are the places of a search for the question.
func compose(x *codesearch.Index, question string, found codesearch.Found) *composed {
	if len(several.FindAllString(question, 2)) > 1 {
		return nil
	}
	if c := answerDoes(x, question); c != nil {
		return c
	}
	kind, about, ok := understand(question)
	if all := both.FindStringSubmatch(about); all != nil && written(all[1]) && written(all[2]) {
		return composeBoth(x, kind, all[1:])
	}
	if ok && (language(question) == "en" || kind == asksWhere || kind == asksDefault) {
		if c := composeOf(x, kind, about); c != nil {
			return c
		}
	}
	if !ok || kind == asksError {
		if c := composeTold(x, question); c != nil {
			return c
		}
	}
	if !ok {
		kind, about = gist(question), question
	}
	if kind == asksDefault {
		for w := range strings.FieldsSeq(about) {
			if w = strings.Trim(w, "`\"'“”.,;:!?()"); written(w) && w != about {
				if c := composeOf(x, kind, w); c != nil {
					return c
				}
			}
		}
	}
	if kind == asksWhere {
		if used.MatchString(question) {
			return nil
		}
		return composePlace(x, question, found)
	}
	return composeDescribed(x, kind, about, question)
}

// used matches a question for the uses of a thing.
var used = lazyregexp.New(`(?i)\b(?:used|put to use|called|invoked)\b`)

// both splits a phrase that names two things.
var both = lazyregexp.New("^(?:.* )?`?([\\w.$-]+)`? and `?([\\w.$-]+)`?$")

// composeBoth answers a question that asks the same of two names.
func composeBoth(x *codesearch.Index, kind asks, names []string) *composed {
	c := &composed{exact: true}
	for _, name := range names {
		one := composeOf(x, kind, name)
		if one == nil {
			return nil
		}
		c.say, c.proofs = strings.TrimSpace(c.say+" "+one.say), append(c.proofs, one.proofs...)
		c.exact = c.exact && one.exact
	}
	if len(c.proofs) > maxProofs {
		return nil
	}
	return c
}

// several matches the end of a question.
var several = lazyregexp.New(`\?+`)

// composeTold answers a question that repeats a text of the code, such as the message of an error: in quotes,
// or most of the question, or behind the name of an error.
func composeTold(x *codesearch.Index, question string) *composed {
	text := x.Told(question)
	said := len(strings.Fields(text))
	switch {
	case said == 0, asking.MatchString(question) && !failure.MatchString(question) &&
		3*said < 2*len(strings.Fields(question)):
		return nil
	case said < leastTold && 2*said < len(strings.Fields(question)) && !thrown.MatchString(question) &&
		!strings.Contains(inQuotes.FindString(question), text):
		return nil
	}
	c := answerMessage(x, text)
	if c != nil {
		c.exact = said > 3
	}
	return c
}

const leastTold = 5 // words of a text that a question repeats by more than chance

var (
	thrown   = lazyregexp.New(`(?:[eE]rror|[eE]xception|panic\w*): `)
	inQuotes = lazyregexp.New("[`\"“'].*[`\"”']")
)

// asking matches a text that asks, rather than a message alone.
var asking = lazyregexp.New(`(?i)\b(?:what|which|where|when|why|who|how|is|are|does|do|can)\b`)

// failure matches a question about something that the code says when it fails.
var failure = lazyregexp.New(`(?i)\b(?:\w*errors?|\w*exception|fail(?:s|ed|ure)?|says?|saying|message|warning|logs?|panics?|crash\w*|complain\w*|mean(?:s|ing)?)\b|["“]`)

func isMain(d codesearch.Definition) bool { return !d.Aside }

// composeOf answers a question that asks of a name.
func composeOf(x *codesearch.Index, kind asks, about string) *composed {
	names, owner := subjects(about)
	for _, name := range names {
		if len(name) < 2 {
			continue
		}
		all := x.Definitions(name)
		if owner != "" {
			of := slices.DeleteFunc(slices.Clone(all), func(d codesearch.Definition) bool {
				return !ownedBy(d, owner)
			})
			if len(of) == 0 {
				of = only(all, func(d codesearch.Definition) bool { return begins(d, owner) })
			}
			if len(of) == 0 && name != names[0] && !written(name) && !strings.Contains(name, " ") &&
				kind != asksConfig {
				continue // a word of a description
			}
			if len(of) > 0 || written(owner) && kind != asksConfig {
				all = of
			}
		}
		if c := answers[kind](x, name, merged(only(all, isMain)), written(about)); c != nil {
			c.exact = written(about)
			return c
		}
	}
	for _, name := range names {
		all := only(x.Documented(name), func(d codesearch.Definition) bool {
			return owner == "" || ownedBy(d, owner) || begins(d, owner) || !written(owner)
		})
		if len(all) > 0 && (kind == asksDefault || kind == asksValues || kind == asksConfig) {
			if c := answers[kind](x, name, all, written(about)); c != nil {
				return c
			}
		}
	}
	if kind == asksError {
		return answerMessage(x, strings.Trim(about, "`\"'“”"))
	}
	return nil
}

// merged returns one definition in place of several of a thing in one file, such as overloads: the one with a
// comment, or the last.
func merged(all []codesearch.Definition) (out []codesearch.Definition) {
	for _, d := range all {
		i := slices.IndexFunc(out, func(o codesearch.Definition) bool {
			return declares(d) && declares(o) && o.Path == d.Path && o.Name == d.Name && o.Owner == d.Owner
		})
		if i < 0 {
			out = append(out, d)
		} else if out[i].Doc == "" || d.Doc != "" {
			out[i] = d
		}
	}
	return out
}

// ownedBy reports whether a definition belongs to an owner: its type, function, file or folder.
func ownedBy(d codesearch.Definition, owner string) bool {
	low := strings.ToLower(strings.ReplaceAll(owner, "-", ""))
	return slices.Contains(strings.Split(strings.ToLower(d.Owner), "."), low) ||
		slices.ContainsFunc(strings.Split(strings.ToLower(d.Path), "/"), func(part string) bool {
			return part == low || strings.HasPrefix(part, low+".")
		})
}

// begins reports whether the name of a definition's type or file begins with an owner.
func begins(d codesearch.Definition, owner string) bool {
	low := strings.ToLower(strings.ReplaceAll(owner, "-", ""))
	return len(low) > 3 && (strings.HasPrefix(strings.ToLower(d.Owner), low) ||
		strings.HasPrefix(strings.ToLower(path.Base(d.Path)), low))
}

// answers by kind. A nil answer means that the code does not prove one.
var answers = map[asks]func(x *codesearch.Index, name string, all []codesearch.Definition,
	exact bool) *composed{
	asksWhere: answerWhere, asksDefault: answerDefault, asksValues: answerValues, asksCallers: answerCallers,
	asksError: answerError, asksConfig: answerConfig, asksReturns: answerReturns, asksWhat: answerWhat,
}

func declares(d codesearch.Definition) bool {
	return d.Kind != declaration.Setting && d.Kind != declaration.Parameter
}

// only returns the items that are to be kept.
func only[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}

// answerWhere says where a name is declared.
func answerWhere(_ *codesearch.Index, _ string, all []codesearch.Definition, exact bool) *composed {
	all = only(all, declares)
	if top := only(all, func(d codesearch.Definition) bool {
		return d.Kind != declaration.Field
	}); len(top) > 0 {
		all = top
	}
	if !exact || len(all) > maxProofs {
		all = only(all, func(d codesearch.Definition) bool {
			return d.Kind == declaration.Type || d.Kind == declaration.Function
		})
	}
	all = only(all, func(d codesearch.Definition) bool { return d.Name != d.Owner }) // without constructors
	if len(all) == 0 || len(all) > maxProofs || !exact && len(all) > 1 {
		return nil
	}
	c := &composed{}
	var places []string
	for _, d := range all {
		places = append(places, at(d))
		c.proofs = append(c.proofs, shows(d, here(d)))
	}
	c.say = fmt.Sprintf("`%s` is in %s.", all[0].Name, join(places))
	return c
}

// here is the claim that a line declares something: the line.
func here(d codesearch.Definition) string {
	return "`" + strings.ReplaceAll(strings.TrimSpace(d.Lines[d.Line-1]), "`", "'") + "`"
}

// named returns the name of a definition, with its owner if the lines of the proof name it.
func named(d codesearch.Definition) string {
	p := shows(d, "")
	owner := d.Owner[strings.LastIndexByte(d.Owner, '.')+1:]
	if owner == "" || !strings.Contains(strings.Join(d.Lines[p.start-1:p.end], "\n"), owner) {
		return d.Name
	}
	return d.Full()
}

// at returns the place of a definition's name.
func at(d codesearch.Definition) string {
	return evidence.Place{Path: d.Path, Start: d.Line, End: d.Line}.String()
}

func join(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	if text := strings.Join(all, "; "); strings.Contains(text, "), only if `") ||
		strings.Contains(text, "), unless `") {
		return text
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}

// shows returns the proof of a definition: all of it, or the beginning of its comment and its head.
func shows(d codesearch.Definition, claim string) proof {
	p := proof{path: d.Path, start: d.Start, end: d.End, lines: d.Lines, claim: claim}
	if d.Line-d.Start > maxAbove {
		p.from, p.to = d.Start+1, d.Line
		if strings.TrimSpace(d.Lines[d.Start-1]) == "/**" {
			p.from++
		}
		for p.to > p.from && attribute.MatchString(d.Lines[p.to-2]) {
			p.to--
		}
		if p.to-p.from > maxLeftOut {
			p.start, p.from, p.to = p.to, 0, 0
		}
	}
	if p.end = min(p.end, len(d.Lines)); p.end-d.Line >= maxProof {
		p.end = d.Line
		for p.end < d.End && p.end-d.Line < maxProof && !ends(d.Lines[p.end-1]) {
			p.end++
		}
		p.more = true
	}
	return p
}

var attribute = lazyregexp.New(`^\s*(?:@|#\[)`)

// quote returns the lines of a proof, with a line of dots for those left out.
func (p proof) quote() []string {
	lines := slices.Clone(p.lines[p.start-1 : p.end])
	if p.to > p.from {
		lines = slices.Concat(p.lines[p.start-1:p.from], []string{dots}, p.lines[p.to-1:p.end])
	}
	if p.kept != nil {
		lines = nil
	}
	for i, n := range p.kept {
		if i > 0 && n > p.kept[i-1]+1 {
			lines = append(lines, dots)
		}
		lines = append(lines, p.lines[n-1])
	}
	if p.more {
		lines = append(lines, dots)
	}
	return lines
}

// ends reports whether a line ends the head of a declaration.
func ends(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasSuffix(line, "{") || strings.HasSuffix(line, ":") || strings.HasSuffix(line, ";")
}

// indonesianWords replace the words of the sentences of answerWhere and answerDefault.
var indonesianWords = strings.NewReplacer(" is in ", " ada di ", " is ", " adalah ", " and ", " dan ",
	" of ", " dari ", " defaults to ", " bernilai bawaan ", " sets ", " menetapkan ", " to ", " ke ", " by default", " secara bawaan",
	", says its comment: ", ", menurut komentarnya: ", "Without a value, ", "Tanpa nilai, ")

// spoken returns the sentence in the language of the question. What is in backticks or quotes stays.
func (c *composed) spoken(question string) (say, code string) {
	if code = language(question); code != "id" {
		return c.say, code
	}
	parts := strings.SplitAfter(c.say, "`")
	for i := 0; i < len(parts); i += 2 {
		before, quoted, _ := strings.Cut(parts[i], `"`)
		if now := indonesianWords.Replace(before + `"`); quoted == "" {
			parts[i] = strings.TrimSuffix(now, `"`)
		} else {
			parts[i] = now + quoted
		}
	}
	return strings.Join(parts, ""), code
}

// exactly makes a return of a sentence and its proofs; nil if the lines may not be shown.
func (c *composed) exactly(question string, found codesearch.Found) *draft.Return {
	say, code := c.spoken(question)
	ret := &draft.Return{
		Confidence:             draft.High,
		ConfidenceReason:       "The sentence says what the quoted lines declare, and nothing more.",
		SummaryForOrchestrator: "Composed from the declarations of the code, without a model.",
		DraftReply:             say, DraftLanguage: code, OpenQuestions: []string{}, InvestigatorRound: 1,
		ResearchNotes: notes(found),
	}
	if !c.exact {
		ret.Confidence, ret.ConfidenceReason = draft.Medium,
			"The sentence says what the quoted lines declare; that the question means this name is a guess."
	}
	for _, p := range c.proofs {
		ref := draft.Ref{Kind: draft.KindFile, Ref: p.place(), SupportsClaim: p.claim,
			Quote: unindent(p.quote())}
		if place, err := evidence.Parse(ref.Ref); err != nil || place.Path != p.path ||
			!safe(question, ref) || len(ref.Quote) > draft.MaxQuoteRunes ||
			strings.Contains(ref.Quote, "```") {
			return nil
		}
		ret.EvidenceRefs = append(ret.EvidenceRefs, ref)
		block := "\n\n" + ref.Ref + "\n```\n" + ref.Quote + "\n```"
		if text.Words(ret.DraftReply+block) <= maxWords {
			ret.DraftReply += block
		}
	}
	return ret
}
