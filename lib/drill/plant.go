package drill

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"

	"tri/lib/draft"
	"tri/lib/evidence"
)

func split(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// plant puts a fault into one reference, and makes the draft agree with it: the
// lie must be found by looking, not by an odd seam.
func (d *Drill) plant(ret *draft.Return, t target, fault string, rng *rand.Rand) {
	ref := &ret.EvidenceRefs[t.index]
	was := ref.Ref
	switch fault {
	case BadPath:
		p := t.place
		p.Path = d.nearPath(p.Path, rng)
		ref.Ref = p.String()
	case BadLine:
		ref.Ref = wrongLine(t, ref.Quote, rng).String()
	case BadContent:
		alter(ret, ref, t, rng)
		return
	}
	ret.DraftReply = strings.ReplaceAll(ret.DraftReply, was, ref.Ref)
}

// nearPath is the path of no file, close to that of a real one.
func (d *Drill) nearPath(name string, rng *rand.Rand) string {
	dir, base := path.Split(name)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	near := []string{
		dir + stem + "s" + ext, dir + stem + "_handler" + ext, dir + stem + "_config" + ext, "internal/" + name,
		dir + stem + "/" + base, "src/" + name, dir + "common/" + base, dir + "new_" + base,
	}
	rng.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
	for _, n := range append(near, dir+stem+strconv.Itoa(10+rng.IntN(90))+ext) {
		if _, err := d.Root.Lstat(n); err != nil {
			return n
		}
	}
	return dir + stem + "_not_there" + ext
}

// clear is how many lines around a wrong place must be free of the quote: more
// than a validator may tolerate as drift.
const clear = 2 * evidence.MaxDrift

// wrongLine is a place beyond the end of the file, or inside it and far from
// where the quote stands.
func wrongLine(t target, quote string, rng *rand.Rand) evidence.Place {
	p, n := t.place, len(t.lines)
	size := p.End - p.Start
	if quote != "" && rng.IntN(2) == 0 {
		for range 20 {
			start := 1 + rng.IntN(n)
			from, to := max(start-1-clear, 0), min(start+size+clear, n)
			if start+size <= n && !strings.Contains(strings.Join(t.lines[from:to], "\n"), firstLine(quote)) {
				return evidence.Place{Path: p.Path, Start: start, End: start + size}
			}
		}
	}
	start := n + 1 + rng.IntN(40)
	return evidence.Place{Path: p.Path, Start: start, End: start + size}
}

func firstLine(quote string) string {
	for _, l := range strings.Split(quote, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			return l
		}
	}
	return quote
}

var (
	amount = regexp.MustCompile(`\b\d+\b`)
	name   = regexp.MustCompile(`\b[A-Za-z_]\w{3,}\b`)
)

// alter changes a number or a name in the quote to another, and in the claim and
// the draft too. Where nothing is quoted it is the claim that is changed.
func alter(ret *draft.Return, ref *evidence.Ref, t target, rng *rand.Rand) {
	file := strings.Join(t.lines, "\n")
	from := ref.Quote
	if from == "" {
		from = ref.SupportsClaim
	}
	var old, repl string
	if all := amount.FindAllString(from, -1); len(all) > 0 && rng.IntN(2) == 0 {
		old = all[rng.IntN(len(all))]
		repl = other(old, file, rng)
	} else if all := name.FindAllString(from, -1); len(all) > 0 {
		old = all[rng.IntN(len(all))]
		repl = rename(old, file, rng)
	} else {
		// Nothing to alter: the quote of a line that nobody wrote.
		ref.Quote = fmt.Sprintf("return errLimit%d", 100+rng.IntN(900))
		return
	}
	whole := regexp.MustCompile(`\b` + regexp.QuoteMeta(old) + `\b`)
	if ref.Quote != "" {
		ref.Quote = replaceOnce(whole, ref.Quote, repl)
	} else {
		ref.Quote = repl // said to stand there, to the letter
	}
	ref.SupportsClaim = whole.ReplaceAllLiteralString(ref.SupportsClaim, repl)
	ret.DraftReply = whole.ReplaceAllLiteralString(ret.DraftReply, repl)
	ret.SummaryForOrchestrator = whole.ReplaceAllLiteralString(ret.SummaryForOrchestrator, repl)
}

func replaceOnce(re *regexp.Regexp, s, repl string) string {
	at := re.FindStringIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + repl + s[at[1]:]
}

// other is a number near old that does not stand in the file.
func other(old, file string, rng *rand.Rand) string {
	n, err := strconv.Atoi(old)
	if err != nil {
		n = 1000
	}
	for i := 1 + rng.IntN(5); ; i++ {
		s := strconv.Itoa(n + i)
		if !strings.Contains(file, s) {
			return s
		}
	}
}

// rename is a name like old that does not stand in the file.
func rename(old, file string, rng *rand.Rand) string {
	endings := []string{"Limit", "Count", "Default", "Internal", "Policy", "Legacy"}
	if strings.ToLower(old) == old {
		endings = []string{"_limit", "_count", "_default", "_internal", "_policy", "_legacy"}
	}
	rng.Shuffle(len(endings), func(i, j int) { endings[i], endings[j] = endings[j], endings[i] })
	for _, e := range append(endings, strconv.Itoa(1000+rng.IntN(9000))) {
		if !strings.Contains(file, old+e) {
			return old + e
		}
	}
	return old + "Unheard"
}
