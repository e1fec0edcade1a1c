package evidence

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/lazyregexp"
)

// quantity is a number with its unit, as written in prose or code: 30s, thirty seconds, 30 * time.Second,
// half a minute, 1<<20, 0o600, 5%.
type quantity struct {
	text    string
	at, end int
	next    []float64 // the last value below, or the first above, one that code compares with
	values  []float64 // all readings of the digits: 0o600 is 600 and 384; for a product also its factors
	total   float64   // of a product
	exact   bool      // 64K: the prefix is explicit, so no other unit fits
	unit    unit      // of values; none if not given
	version string    // 1.2.3, 127.0.0.1: not a number
	soft    bool      // "a day", "three": often not meant as a figure
}

var (
	numeral  = lazyregexp.New(`0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d[\d_]*(?:\.\d+)*(?:[eE][+-]?\d+)?`)
	goUnit   = lazyregexp.New(`^(?:[\w]+[.:]+)?(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour|NANOSECONDS|MICROSECONDS|MILLISECONDS|SECONDS|MINUTES|HOURS|DAYS|[KMG]i?B)s?\b`)
	loneUnit = lazyregexp.New(`\b(?:time|Duration|TimeUnit|ChronoUnit|units|humanize)[.:]+(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour|SECONDS|MINUTES|HOURS|DAYS|[KMG]i?B)\b`)
	// unitBefore matches time.Second * before its number.
	unitBefore = lazyregexp.New(`\b(Nanosecond|Microsecond|Millisecond|Second|Minute|Hour)\s*\*\s*$`)
	times      = lazyregexp.New(`^\s*(\*\*?|<<)\s*`)
	// keyed matches the name to which a value is assigned, before the value.
	keyed  = lazyregexp.New(`([A-Za-z_][\w-]*)["'\])]*\s*(?:[A-Za-z][\w.\[\]]*\s*)?(?::=|[=:(<>]|[=!<>]=)\s*["']?$|["']([\w-]+)["'],\s*["']?$`)
	remark = lazyregexp.New(`(?://|#|--)\s*(.*)$`)
	called = lazyregexp.New(`^\s*,\s*(?:TimeUnit|ChronoUnit)?\.?(SECONDS|MINUTES|HOURS|MILLISECONDS|DAYS)\b`)
)

// quantities lists the numbers of a text. In prose, number words and "a minute" count too; in code, the
// unit is taken from the names around the digits.
func quantities(text string, code bool) []quantity {
	var out []quantity
	for from := 0; from < len(text); {
		at := numeral.FindStringIndex(text[from:])
		if at == nil {
			break
		}
		i, j := from+at[0], from+at[1]
		if partOfName(text, i, j) {
			from = j
			continue
		}
		q := readQuantity(text, i, j)
		if code && q.unit.dim == noDim && q.version == "" {
			q.unit = hinted(text, i, q.end)
			q.next = beside(text[:i], q.values)
		}
		if j = q.end; j == i {
			j++
		}
		q.text = strings.TrimSpace(text[i:q.end])
		out = append(out, q)
		from = j
	}
	if code {
		out = append(append(out, lone(text, out)...), lengths(text)...)
	} else {
		out = append(out, spelled(text)...)
	}
	return out
}

// compared matches a comparison before its number.
var compared = lazyregexp.New(`[^<>=-](?:(<|>=)|>|<=)\s*$`)

// beside returns the other reading of a number that code compares with: < 300 is up to 299.
func beside(before string, values []float64) []float64 {
	m := compared.FindStringSubmatch(tail(before))
	if m == nil || len(values) == 0 {
		return nil
	}
	if m[1] != "" {
		return []float64{values[0] - 1}
	}
	return []float64{values[0] + 1}
}

// partOfName reports whether digits belong to a name, as in sha256, utf-8, x86_64 and 5xx.
func partOfName(text string, i, j int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:i])
	if class := strings.HasPrefix(text[j:], "xx"); class || i == 0 {
		return class
	}
	if before == 'v' || before == 'V' {
		prior, _ := utf8.DecodeLastRuneInString(text[:i-1])
		return i > 1 && isWord(prior) || !strings.Contains(text[i:j], ".")
	}
	if before == '_' || unicode.IsLetter(before) && before < 0x2E80 {
		return true // other scripts write numbers directly after words
	}
	if before == '-' || before == '/' {
		prior, _ := utf8.DecodeLastRuneInString(text[:i-size])
		return unicode.IsLetter(prior) && prior < 0x2E80
	}
	return false
}

// readQuantity reads the quantity with the digits text[i:j].
func readQuantity(text string, i, j int) quantity {
	q := quantity{at: i, end: j}
	digits := text[i:j]
	if strings.Count(digits, ".") > 1 || i > 0 && (text[i-1] == 'v' || text[i-1] == 'V') {
		q.version = strings.TrimSuffix(digits, ".0")
		return q
	}
	q.values = readings(digits)
	if len(q.values) == 0 {
		return q
	}
	if u, n := suffix(text[j:]); n > 0 {
		q.unit, q.end = u, j+n
		q.compose(text)
		return q
	}
	if k := strings.IndexAny(text[j:min(j+1, len(text))], "kKM"); k == 0 &&
		(j+1 == len(text) || !isWord(rune(text[j+1]))) {
		f := map[byte]float64{'k': 1e3, 'K': 1e3, 'M': 1e6}[text[j]]
		q.values, q.end, q.exact = []float64{q.values[0] * f, math.Pow(1024, math.Log10(f)/3) * q.values[0]},
			j+1, true
		return q
	}
	product := q.multiply(text)
	if len(q.values) > 1 && q.end > j {
		q.total = product
	}
	if !slices.Contains(q.values, product) {
		q.values = append(q.values, product)
	}
	if q.unit.dim != noDim {
		q.values = []float64{product}
	}
	return q
}

// multiply reads the factors after a number, as in 5 * time.Minute and 64 << 10, and returns the product.
func (q *quantity) multiply(text string) float64 {
	product := q.values[len(q.values)-1]
	for {
		m := times.FindStringSubmatchIndex(text[q.end:])
		if m == nil {
			return product
		}
		op, rest := text[q.end+m[2]:q.end+m[3]], q.end+m[1]
		if u := goUnit.FindStringSubmatch(text[rest:]); u != nil {
			q.unit, _ = unitOf(strings.ToLower(u[1]))
			q.end = rest + len(u[0])
			return product
		}
		k := numeral.FindStringIndex(text[rest:])
		if k == nil || k[0] != 0 {
			return product
		}
		more := readings(text[rest : rest+k[1]])
		if len(more) == 0 {
			return product
		}
		switch factor := more[len(more)-1]; op {
		case "<<":
			product *= math.Pow(2, math.Min(factor, 80))
			if factor >= 10 {
				q.unit = units["B"]
			}
		case "**":
			product = math.Pow(product, math.Min(factor, 80))
		default:
			product *= factor
			if factor == 1024 {
				q.unit = units["B"] // only sizes are counted this way
			}
		}
		q.values, q.end = append(q.values, more...), rest+k[1]
	}
}

// compose reads the remainder of a quantity such as 1h30m.
func (q *quantity) compose(text string) {
	total, composed := q.values[0]*q.unit.scale, false
	for q.unit.dim == duration {
		k := numeral.FindStringIndex(text[q.end:])
		if k == nil || k[0] != 0 {
			break
		}
		u, n := suffix(text[q.end+k[1]:])
		more := readings(text[q.end : q.end+k[1]])
		if n == 0 || u.dim != duration || len(more) == 0 {
			break
		}
		total, composed = total+more[0]*u.scale, true
		q.end += k[1] + n
	}
	if composed {
		q.values, q.unit = []float64{total}, unit{duration, 1}
	}
}

// readings returns the values that digits may mean: octal and hexadecimal numbers are written both ways.
func readings(digits string) []float64 {
	plain := strings.ReplaceAll(strings.ReplaceAll(digits, ",", ""), "_", "")
	var out []float64
	add := func(v float64, err error) {
		if err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	based := func(s string, base int) {
		n, err := strconv.ParseUint(s, base, 64)
		add(float64(n), err)
	}
	switch lower := strings.ToLower(plain); {
	case strings.HasPrefix(lower, "0x"):
		add(strconv.ParseFloat(lower[2:], 64)) // 0x10 is also read as 10
		based(lower[2:], 16)
	case strings.HasPrefix(lower, "0o"):
		based(lower[2:], 10)
		based(lower[2:], 8)
	case strings.HasPrefix(lower, "0b"):
		based(lower[2:], 2)
	default:
		add(strconv.ParseFloat(plain, 64))
		if len(plain) > 2 && plain[0] == '0' {
			based(plain[1:], 8)
		}
	}
	return out
}

var afterDigits = lazyregexp.New(`^([-\s ]?)([\p{L}µμ%]+)`)

// tight are letters that are units only directly after the digits.
const tight = " d m w b ki mi gi ti "

// suffix returns the unit after digits and its length in bytes.
func suffix(rest string) (unit, int) {
	if strings.HasPrefix(rest, " %") {
		return units["%"], 2
	}
	m := afterDigits.FindStringSubmatchIndex(rest)
	if m == nil {
		return unit{}, 0
	}
	w := rest[m[4]:m[5]]
	if m[2] != m[3] && strings.Contains(tight, " "+strings.ToLower(w)+" ") && w != "B" {
		return unit{}, 0
	}
	if u, ok := unitOf(w); ok && !(m[5] < len(rest) && rest[m[5]] == '_') {
		return u, m[5]
	}
	// 30秒待つ: scripts without spaces
	for k := range w {
		if k > 0 && k <= 12 && w[0] >= 0x80 {
			if u, ok := units[w[:k]]; ok {
				best, n := u, k
				for l := range w[k:] {
					if v, ok := units[w[:k+l]]; ok {
						best, n = v, k+l
					}
				}
				return best, m[4] + n
			}
		}
	}
	return unit{}, 0
}

const maxAround = 200 // bytes around a number in which its name and its comment are searched

func tail(s string) string { return s[max(0, len(s)-maxAround):] }

// key returns the end of a line in which the name of a value can be: a name before another number of a
// list belongs to that number.
func key(line string) string {
	line = line[max(0, len(line)-maxKey):]
	if i := strings.LastIndexAny(strings.TrimRight(line, "=:(<>, \t\"'"), ",;"); i >= 0 {
		return line[i+1:]
	}
	return line
}

const maxKey = 100 // bytes of a name, its type and the operator

// hinted returns the unit that the code around a number gives: by its key, the function that receives it,
// or the comment after it.
func hinted(text string, i, end int) unit {
	line := tail(text[strings.LastIndexByte(text[:i], '\n')+1 : i])
	before := strings.TrimRight(line, " \t")
	if strings.HasSuffix(before, "*") {
		if m := unitBefore.FindStringSubmatch(line); m != nil {
			u, _ := unitOf(m[1])
			return u
		}
	}
	// The expression is tried only after a character that can end it: a text may consist of numbers.
	if before = strings.TrimRight(strings.TrimRight(before, `"'`), " \t"); before != "" &&
		strings.IndexByte("=:(<>,", before[len(before)-1]) >= 0 {
		if m := keyed.FindStringSubmatch(key(line)); m != nil {
			if u, ok := hintOf(m[1] + m[2]); ok {
				return u
			}
		}
	}
	rest, _, _ := strings.Cut(text[end:min(len(text), end+maxAround)], "\n")
	if strings.HasPrefix(strings.TrimLeft(rest, " \t"), ",") {
		if m := called.FindStringSubmatch(rest); m != nil {
			u, _ := unitOf(m[1])
			return u
		}
	}
	if !strings.Contains(rest, "//") && !strings.Contains(rest, "#") && !strings.Contains(rest, "--") {
		return unit{}
	}
	if m := remark.FindStringSubmatch(rest); m != nil {
		for _, w := range identifierWords(m[1]) {
			if u, ok := units[w]; ok && len(w) > 3 && len(quantities(m[1], false)) == 0 {
				return u
			}
		}
	}
	return unit{}
}

// lone returns units that stand for one of themselves: time.Minute.
func lone(text string, seen []quantity) []quantity {
	var out []quantity
	for _, m := range loneUnit.FindAllStringSubmatchIndex(text, -1) {
		if slices.ContainsFunc(seen, func(q quantity) bool {
			return m[0] >= q.at && m[0] < q.end
		}) || strings.HasPrefix(strings.TrimSpace(text[m[1]:]), "*") {
			continue
		}
		u, _ := unitOf(text[m[2]:m[3]])
		out = append(out, quantity{text: text[m[0]:m[1]], at: m[0], end: m[1], values: []float64{1},
			unit: u, soft: true})
	}
	return out
}

// listed matches a list of literals, as of texts or numbers; lengths returns how many each list has.
var (
	literal = `(?:"[^"\n]*"|'[^'\n]*'|` + "`[^`\n]*`" + `|\d[\w.]*,)`
	listed  = lazyregexp.New(literal + `(?:(?:,|\||\s|\bor\b|\band\b)*` + literal + `){2,}`)
	element = lazyregexp.New(literal)
)

func lengths(text string) (out []quantity) {
	for _, m := range listed.FindAllStringIndex(text+",", -1) {
		n := len(element.FindAllString((text + ",")[m[0]:m[1]], -1))
		out = append(out, quantity{text: strconv.Itoa(n), at: m[0], end: m[0] + 1,
			values: []float64{float64(n)}, soft: true})
	}
	return out
}

const tolerance = 1e-6 // relative; fractions with few digits are rounded

func almostEqual(a, b float64) bool {
	return a == b || (a != math.Trunc(a) || b != math.Trunc(b)) &&
		math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}
