package faults

import (
	"regexp"
	"slices"
	"strings"
)

// swap is one direction of a pair, as text.
type swap struct {
	re       *regexp.Regexp
	from, to string
}

// swaps reads pairs written as "a | b", both ways; a leading > reads one way only.
func swaps(lines string) []swap {
	var out []swap
	word := func(w string) *regexp.Regexp {
		edge := `\b`
		if w[0] >= 0x80 {
			edge = "" // scripts without spaces
		}
		return regexp.MustCompile(`(?i)` + edge + regexp.QuoteMeta(w) + edge)
	}
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		one := strings.HasPrefix(l, ">")
		a, b, _ := strings.Cut(strings.TrimPrefix(l, ">"), "|")
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		out = append(out, swap{word(a), a, b})
		if !one {
			out = append(out, swap{word(b), b, a})
		}
	}
	// The longer first: "at most" before "most".
	slices.SortStableFunc(out, func(x, y swap) int { return len(y.from) - len(x.from) })
	return out
}

var bounds = swaps(`
at most | at least
up to | at least
no more than | no less than
more than | less than
greater than | smaller than
longer than | shorter than
further than | closer than
or newer | or older
or more | or less
maximum | minimum
largest | smallest
biggest | smallest
highest | lowest
longest | shortest
upper limit | lower limit
> within | only after
exceeds | falls below
> above the | below the
> below the | above the
> at least | at most
paling banyak | paling sedikit
lebih dari | kurang dari
di atas | di bawah
como máximo | como mínimo
más de | menos de
最大 | 最小
以上 | 以下
上限 | 下限
`)

var orders = swaps(`
before | after
first | last
> afterwards | beforehand
earlier | later
previous | next
> until | after
> then waits | but first waits
sebelum | sesudah
> setelah | sebelum
antes de | después de
primeros | últimos
`)

var defaults = swaps(`
enabled | disabled
enables | disables
> turned off | turned on
on by default | off by default
required | optional
requires | ignores
allowed | forbidden
allow | forbid
recursive | non-recursive
recursively | non-recursively
blocking | non-blocking
buffered | unbuffered
synchronously | asynchronously
sensitive | insensitive
true | false
> is closed | is kept open
> are closed | are kept open
> is refused | is accepted
> is lost | is kept
> is removed | is kept
> are removed | are kept
succeeds | fails
> left out | listed first
> is void | stays valid
> is ended | goes on
> disabled | enabled
> desactivada | activada
`)

// among makes a turn of a list of swaps.
func among(list []swap, denies bool, proof func(w swap) func(cited string) bool) turn {
	return func(s *subject, sentence string, made *edit) (string, edit, bool) {
		var fits []swap
		p, low := proseOf(sentence), strings.ToLower(sentence)
		for _, w := range list {
			if !strings.Contains(low, w.from) { // far quicker to see than by the expression
				continue
			}
			if made != nil && !strings.EqualFold(w.from, made.from) {
				continue
			}
			if len(p.find(w.re)) > 0 && !slices.ContainsFunc(fits, func(f swap) bool { return strings.Contains(f.from, w.from) }) {
				fits = append(fits, w)
			}
		}
		if len(fits) == 0 {
			return "", edit{}, false
		}
		w := fits[s.rng.IntN(len(fits))]
		if made != nil { // the same words become the same
			w.to = made.to
		}
		m := p.find(w.re)[0]
		out := sentence[:m[0]] + like(sentence[m[0]:m[1]], w.to) + sentence[m[1]:]
		return out, edit{w.from, w.to, proof(w), denies}, true
	}
}

// saysWord: lines decide between two words when one of the two stands in them.
func saysWord(w swap) func(string) bool {
	words := content(w.from + " " + w.to)
	for _, t := range strings.Fields(w.from + " " + w.to) { // before, after, first: of no subject, but of this one
		if slices.Contains(small, t) {
			words = append(words, t)
		}
	}
	return func(cited string) bool {
		has := strings.ToLower(spaced(cited))
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(has, word) })
	}
}

// limits are what a line that sets a bound has in it.
var limits = regexp.MustCompile(`(?i)\bmax|\bmost\b|\bleast\b|\bmin\b|minimum|limit|\bup to\b|upper|lower|\bonly\b|larg|bigg|smaller|longer|shorter|greater|newer|older|threshold|[<>]=?\s*[\w.(]|timeout|every|within`)

func boundProof(swap) func(string) bool {
	return func(cited string) bool { return limits.MatchString(spaced(cited)) }
}

var (
	turnBound   = among(bounds, false, boundProof)
	turnOrder   = among(orders, false, saysWord)
	turnDefault = among(defaults, true, saysWord)
)

// denial is a way to say the opposite.
type denial struct {
	re *regexp.Regexp
	to string
}

func denials(pairs ...string) []denial {
	var out []denial
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, denial{regexp.MustCompile(`(?i)` + pairs[i]), pairs[i+1]})
	}
	return out
}

// anyNoun stands for one or more of what there was none of.
const anyNoun = "some $1"

// lifted are the sentences that say no, made to say yes; put are those that say
// yes, made to say no. The first that fits is taken, lifted before put.
var (
	lifted = denials(
		`\b(cannot|can't)\b`, "can", `\bwon't\b`, "will", `\b(do|does|did|is|are|was|were|has|have|had|could|should|would)n't\b`, "$1",
		`\bnever has to\b`, "always has to", `\bnever\b`, "always", `\bnobody\b`, "everybody", `\bno longer\b`, "still", `\bneither (\w+) nor\b`, "both $1 and",
		`\bdoes nothing\b`, "does it all again", `\bno error\b`, "an error", `\bno (\w+) (is|are) sent\b`, "a $1 $2 sent", `\bwithout\b`, "with",
		`\bnot unless\b`, "even if you do not", `\bnot until\b`, "before", `\bNot (on|with|in|at)\b`, "Also $1", `\bnot `, "", `\bno (\w+)\b`, anyNoun,
		`\btidak `, "", `\btanpa\b`, "dengan", `ません`, "ます", `\bno se `, "se ",
	)
	put = denials(
		`\balways\b`, "never", `\bhas to\b`, "does not have to", `\bhave to\b`, "do not have to", `\bcan\b`, "cannot", `\b(is|are|was|were|may|must|will|should|could|does|do)\b`, "$1 not",
		`\bonly\b`, "not only", `\bit's\b`, "it isn't", `\bthat's\b`, "that isn't",
		`\b(return|close|wait|need|use|give|take|send|read|write|work|get|keep|allow|require|limit|set|make|hold|check|end|cost|bound|disable|enable|default|go|mean|drop|replace|count|exceed|accept|block)(?:s|es)\b`, "does not $1",
		`\b(You|you|we|they|paths|editors|messages) (get|hit|see|need|have|write|replace)\b`, "$1 do not $2",
		`\b(harus|bisa|dapat|memakai|dikompresi|jalan|sebaiknya)\b`, "tidak $1", `\b(es|está|se|son|mide)\b`, "no $1", `ます`, "ません", `です`, "ではありません", `必要がある`, "必要がない",
	)
)

// quantified is what a "not" behind it says something else of than the opposite.
var quantified = regexp.MustCompile(`(?i)\b(?:only|at most|at least|each|every|both|all|most|any)\b`)

// condition opens a clause that says when something is so: denied, it leaves open
// whether the sentence was right.
var condition = regexp.MustCompile(`(?i)\b(?:that|which|who|whose|if|when|where|while|unless|because|since|until|whether|as|so)\b[^,;:.()]*$`)

// deny makes a sentence say that it is not so: takes one no out of it or, where it
// has none, puts one in.
func deny(s *subject, sentence string, _ *edit) (string, edit, bool) {
	type way struct {
		denial
		m []int
	}
	p := proseOf(sentence)
	for i, list := range [][]denial{lifted, put} {
		var ways []way
		for _, d := range list {
			for _, m := range p.find(d.re) {
				if i == 1 && quantified.MatchString(sentence[:m[0]]) || condition.MatchString(sentence[:m[0]]) {
					continue
				}
				ways = append(ways, way{d, m})
			}
		}
		for _, w := range shuffled(s, ways) {
			was := sentence[w.m[0]:w.m[1]]
			to := like(was, string(w.re.ExpandString(nil, w.to, sentence, w.m)))
			if w.m[0] == 0 && to == "" || senseless(sentence[:w.m[1]], sentence[w.m[1]:]) { // "Not …" at the head of a sentence
				continue
			}
			if noun, ok := strings.CutPrefix(strings.ToLower(was), "no "); ok && w.to == anyNoun {
				if noun == "longer" { // which is a phrase of its own
					continue
				}
				to = like(was, some(was[len("no "):]))
			}
			out := sentence[:w.m[0]] + to + sentence[w.m[1]:]
			return out, edit{strings.TrimSpace(was), strings.TrimSpace(to), heldBy(sentence), true}, true
		}
	}
	return "", edit{}, false
}

// stubborn are words of denial that nothing is made of by taking the "no" or "not"
// away: "no longer", "not yet", "whether or not".
var stubborn = regexp.MustCompile(`(?i)(?:\bno (?:longer|more|less|fewer|other|others|such|one|doubt|matter|sooner|later|further|better|worse|way|idea|need|sense|only|wonder)|\b(?:or|if|whether|why) not )$`)

// softened are words behind a "not" that stand for no denial, or need it.
var softened = regexp.MustCompile(`(?i)^(?:only|just|yet|even|necessarily|merely|so much|at all|unlike|to mention)\b`)

// senseless reports whether a denial, at the end of head, cannot be lifted: what is
// left would say nothing.
func senseless(head, rest string) bool {
	denied := strings.HasSuffix(strings.ToLower(head), "not ")
	return stubborn.MatchString(head) && !strings.HasSuffix(strings.ToLower(head), "no longer") || denied && softened.MatchString(rest)
}

// some is "an error", "a file" or "some files".
func some(noun string) string {
	switch low := strings.ToLower(noun); {
	case strings.HasSuffix(low, "s") && !strings.HasSuffix(low, "ss") && !strings.HasSuffix(low, "us"):
		return "some " + noun
	case strings.ContainsRune("aeio", rune(low[0])):
		return "an " + noun
	}
	return "a " + noun
}

// Enough of a sentence stands in the lines that it speaks of, so that they say
// whether it is so.
const (
	heldShare = 0.5
	heldWords = 3
)

// heldBy: lines decide whether a sentence is so when they hold what it is about.
func heldBy(sentence string) func(string) bool {
	words := content(guardedCitations.ReplaceAllString(sentence, " "))
	return func(cited string) bool {
		n := shared(words, content(cited))
		return n >= heldWords && float64(n) >= heldShare*float64(len(words))
	}
}

var guardedCitations = regexp.MustCompile(`[\w./+-]+\.\w+:\d+(?:-\d+)?`)
