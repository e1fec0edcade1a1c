package evidence

import (
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/lazyregexp"
)

var (
	cited = lazyregexp.New(`(?:[\w@+/.-]*[A-Za-z][\w@+/-]*\.\d|(?:(?:\./)?\.?[\w@+-][\w.@+/-]*)?(?:\.[A-Za-z]\w*|/[\w-]+|\b(?:\w+file|README|LICENSE)))(?::\d{1,9}(?:[-–]\d{1,9}|:\d{1,9})?\b|#L\d{1,9}(?:-L?\d{1,9})?\b)`)
	// linesOf matches "line 12", "lines 3 to 9", "baris ke-12", " L99", "12行目".
	linesOf = lazyregexp.New(`(?i)\b(?:lines?|ln\.?|l\.|baris(?:\s+ke)?|líneas?|linhas?|zeilen?|lignes?|строк[аиеу]?|dòng)[\s-]*#?\s*` + lineNumber + `(?:\s*(?:-|–|to|and|through|until|sampai|hingga|dan|a|e|y|bis|und|à|et|,|&)\s*` + lineNumber + `)*\b` +
		`|(?:^|[\s(\[])L\d{1,9}(?:\s*[-–]\s*L?\d{1,9})?\b|第?\s*\d{1,9}(?:\s*[-–~〜から到至]\s*\d{1,9})?\s*(?:行目?|줄|번째 줄)`)
	// nthLine matches "the 120th line", "the third line".
	nthLine = lazyregexp.New(`(?i)\b(\d{1,9}(?:st|nd|rd|th)|` + strings.Join(nths, "|") +
		`)\s+line\b|\bline\s+number\s+(\d{1,9})\b`)
)

const lineNumber = `(?:\d{1,9}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?|` +
	`(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)(?:\s+hundred(?:\s+(?:and\s+)?\w+(?:[\s-]\w+)?)?)?)`

var nths = []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
	"tenth", "eleventh", "twelfth"}

// Citations lists the places that text cites in the form of references. A place without a path is a line
// of an unnamed file.
func Citations(text string) []Place {
	text = Fold(text)
	var out []Place
	add := func(p Place) {
		if p.Start > 0 && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	text = cited.ReplaceAllStringFunc(address.ReplaceAllString(text, " "), func(m string) string {
		if p, err := Parse(m); err == nil {
			add(p)
		}
		return " "
	})
	for _, m := range linesOf.FindAllString(text, -1) {
		for _, n := range lineNumbers(m) {
			add(Place{"", n, n})
		}
	}
	for _, m := range nthLine.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(strings.TrimRight(strings.ToLower(m[1]+m[2]), "stndrh"))
		if i := slices.Index(nths, strings.ToLower(m[1])); i >= 0 && err != nil {
			n = i + 1
		}
		add(Place{"", n, n})
	}
	return out
}

// lineNumbers returns the numbers in a phrase that names lines, in digits or words.
func lineNumbers(phrase string) []int {
	var out []int
	for _, d := range plainDigits.FindAllString(phrase, -1) {
		if n, err := strconv.Atoi(d); err == nil {
			out = append(out, n)
		}
	}
	for _, q := range spelled(phrase) {
		if len(q.values) == 1 && q.values[0] >= 1 && q.values[0] < 1e9 {
			out = append(out, int(q.values[0]))
		}
	}
	return out
}

var plainDigits = lazyregexp.New(`\d{1,9}`)
