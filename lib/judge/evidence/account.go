package evidence

import (
	"slices"
	"strings"

	"tri/lib/base/lazyregexp"
)

// Part is one sentence of a text, and its coverage.
type Part struct {
	Text string
	Coverage
	English  bool   // so a missing word is significant
	Contrary string // why the lines contradict it, as far as code can show
	Ref      int    // index of the reference that covers it best; -1 for all together or none
	Negates  bool   // contains a negation, which code can seldom decide
	Denied   bool   // contains none, though the lines that cover it do
	Bound    bool   // states a condition or an exception, which code does not decide
	Altered  bool   // is a block of code that is not verbatim in a cited file
}

var spoken = lazyregexp.New(`[\p{L}\p{N}]`)

// Account measures each sentence of a text against each reference, and, if none suffices, against all
// together. After the sentences come the fenced blocks of code: one is covered if it is verbatim in a cited
// file, and not compared otherwise.
func (t *Text) Account(found []Finding) []Part {
	var out []Part
	var cited, around, exact, heads []*Text
	for _, f := range found {
		if f.backs() {
			cited, around = append(cited, f.Places...), append(around, f.Around...)
			exact, heads = append(exact, f.Exact...), append(heads, f.heads()...)
		}
	}
	for i := range t.sentences {
		s, tokens := &t.sentences[i], t.tokensIn(i)
		p := Part{Text: s.raw, Ref: -1, Negates: len(s.negations()) > 0, Bound: !s.plainly()}
		p.English = slices.ContainsFunc(s.terms, func(w term) bool { return anglo[w.text] })
		against := func(k int, own, near []*Text) {
			if c := cover(s, tokens, own, near); c.About && !p.About ||
				c.About == p.About && c.Share > p.Share {
				p.Coverage, p.Ref = c, k
			}
		}
		p.Coverage = cover(s, tokens, nil, nil)
		for k, f := range found {
			if f.backs() {
				against(k, f.Places, f.Around)
			}
		}
		if !p.About {
			against(-1, cited, around)
		}
		covering := cited
		if p.Ref >= 0 {
			covering = found[p.Ref].Places
		}
		p.Denied = !p.Negates && p.About && slices.ContainsFunc(covering, (*Text).negates)
		p.Contrary = s.contrary(t.nums, cited)
		if p.Apart = nil; len(cited) > 0 {
			p.Apart = apart(t.sentences[i:i+1], tokens, exact, heads)
		}
		out = append(out, p)
	}
	return append(out, t.fences(found)...)
}

// fences measures the fenced blocks of a text.
func (t *Text) fences(found []Finding) (out []Part) {
	for _, b := range t.blocks {
		words := strings.Join(strings.Fields(b), " ")
		if !spoken.MatchString(words) {
			continue
		}
		p := Part{Text: words, Ref: slices.IndexFunc(found, func(f Finding) bool {
			return f.backs() && (find(strings.Split(f.Text, "\n"), b) != nil ||
				!says(b) && strings.Contains(strings.Join(strings.Fields(f.Text), " "), words))
		}), Altered: true}
		if p.Ref >= 0 {
			p.Share, p.About, p.Altered = 1, true, false
		}
		out = append(out, p)
	}
	return out
}

// tokensIn returns the tokens of t in its sentence i.
func (t *Text) tokensIn(i int) []Token {
	return slices.DeleteFunc(slices.Clone(t.tokens), func(tok Token) bool {
		return !strings.Contains(t.sentences[i].text, tok.Text)
	})
}

// Restates reports whether a sentence of t and a claim say the same in part: the lines cover one of them,
// and together with its words the other.
func (t *Text) Restates(found []Finding) bool {
	for _, f := range found {
		if !f.backs() || f.Claim == nil {
			continue
		}
		for i, s := range t.sentences {
			says := func(own ...*Text) bool {
				return cover(&t.sentences[i], t.tokensIn(i), append(own, f.Places...), f.Around).About
			}
			if f.Result == Supports && says(f.Claim) ||
				f.Result != Supports && f.Claim.negates() == (len(s.negations()) > 0) && says() &&
					f.Claim.Cover(append(f.Places, FromText("the draft", s.raw)), f.Around).About {
				return true
			}
		}
	}
	return false
}
