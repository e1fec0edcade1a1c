package faults

import (
	"regexp"
	"slices"
	"strings"

	"tri/lib/judge/evidence"
)

// evidenceAround is how many lines on each side of a cited one a validator takes into account.
const evidenceAround = evidence.Around

// families are groups of units of the same quantity, each in one form.
var families = [][]string{
	{"millisecond", "second", "minute", "hour", "day"},
	{"milliseconds", "seconds", "minutes", "hours", "days", "weeks"}, {"ms", "s", "min", "h"},
	{"byte", "kilobyte", "megabyte"}, {"bytes", "kilobytes", "megabytes"}, {"KB", "MB", "GB"},
	{"KiB", "MiB", "GiB"}, {"K", "M"},
	{"words", "characters", "lines"}, {"detik", "menit", "jam", "hari"}, {"kata", "karakter", "baris"},
	{"segundos", "minutos", "horas"}, {"秒", "分", "時間"}, {"バイト", "キロバイト", "メガバイト"},
}

// unitSigns are patterns by which a line shows the unit of a number.
var unitSigns = []struct{ unit, sign *regexp.Regexp }{
	{regexp.MustCompile(`(?i)^(s|sec|second|seg|detik|秒)`),
		regexp.MustCompile(`(?i)second|\ds\b|\bsec|detik`)},
	{regexp.MustCompile(`(?i)^(min|menit|分)`), regexp.MustCompile(`(?i)minute|\bmin\b|_min\b`)},
	{regexp.MustCompile(`(?i)^(h|jam)`), regexp.MustCompile(`(?i)hour|_h\b`)},
	{regexp.MustCompile(`(?i)^(day|hari)`), regexp.MustCompile(`(?i)\bdays?\b|hour`)},
	{regexp.MustCompile(`(?i)^(milli|ms)`), regexp.MustCompile(`(?i)millisecond|\dms\b`)},
	{regexp.MustCompile(`(?i)^(byte|kilob|[KMG]i?B$|K$|バイト)`),
		regexp.MustCompile(`(?i)byte|<<\s*[123]0|\d\s?[KMG]i?B?\b|[KMG]B\b`)},
	{regexp.MustCompile(`(?i)^(word|kata)`), regexp.MustCompile(`(?i)word`)},
	{regexp.MustCompile(`(?i)^(char|karakter)`), regexp.MustCompile(`(?i)character|rune`)},
	{regexp.MustCompile(`(?i)^(line|baris)`), regexp.MustCompile(`(?i)line`)},
}

// measured matches a number followed by a unit.
var measured = regexp.MustCompile(`(?i)(?:\d[\d.,_]*|\b[a-záé]{3,8})[- ]?(` + unitWords +
	`)(?:\b|$|[^a-zA-Z])`)

// turnUnit replaces the unit of a number.
func turnUnit(s *subject, sentence string, made *edit) (string, edit, bool) {
	for _, m := range proseOf(sentence).find(measured) {
		head, unit := sentence[m[0]:m[2]], sentence[m[2]:m[3]]
		if fs := numbers(head); len(fs) == 0 || made != nil && !strings.EqualFold(unit, made.from) {
			continue
		}
		to := ""
		if made != nil {
			to = made.to
		} else if all := families[max(slices.IndexFunc(families, func(f []string) bool {
			return slices.Contains(f, unit)
		}), 0)]; slices.Contains(all, unit) {
			for _, u := range shuffled(s, all) {
				if u != unit {
					to = u
					break
				}
			}
		}
		if to == "" {
			continue
		}
		return sentence[:m[2]] + to + sentence[m[3]:],
			edit{from: unit, to: to, proof: func(cited string) bool {
				return slices.ContainsFunc(unitSigns, func(u struct{ unit, sign *regexp.Regexp }) bool {
					return u.unit.MatchString(unit) && u.sign.MatchString(spaced(cited))
				})
			}}, true
	}
	return "", edit{}, false
}
