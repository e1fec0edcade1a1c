package evidence

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// same reports whether e, from the evidence, may be the quantity q of a claim.
func (q quantity) same(e quantity) bool {
	if q.version != "" || e.version != "" {
		return q.version != "" && (q.version == e.version ||
			strings.HasPrefix(e.version, q.version+".") && strings.Count(q.version, ".") > 0) ||
			q.version == "" && len(q.values) > 0 &&
				e.version == strconv.FormatFloat(q.values[0], 'g', -1, 64) ||
			e.version == "" && len(e.values) > 0 && q.version == strconv.FormatFloat(e.values[0], 'g', -1, 64)
	}
	for _, a := range q.values {
		for _, b := range slices.Concat(e.values, e.next) {
			if e.total != 0 && b != e.total {
				continue // the factors of 10 * 1024 * 1024 are no values
			}
			if sameValue(a, q.unit, b, e.unit) &&
				!(e.exact && q.unit.dim != noDim && !almostEqual(a*q.unit.scale, b)) {
				return true
			}
		}
	}
	return false
}

func sameValue(a float64, u unit, b float64, v unit) bool {
	switch {
	case u.dim == noDim && v.dim == noDim:
		return almostEqual(a, b)
	case u.dim == noDim:
		return almostEqual(a, b) || almostEqual(a, b*v.scale) // 0.05 for 5%, 1048576 for 1 MiB
	case v.dim == noDim:
		return almostEqual(a, b) || (b >= a || b >= leastBare || u.dim == ratio) && converts(a*u.scale, u, b)
	case u.dim != v.dim:
		return false
	}
	x, y := a*u.scale, b*v.scale
	return almostEqual(x, y) || u.dim == size && decimal(x, y) ||
		// months vary
		u.dim == duration && (u.scale == 30*day || u.scale == 365*day) && math.Abs(x-y) <= 0.04*x
}

// decimal reports whether two sizes are equal if one counts by 1000 and the other by 1024.
func decimal(x, y float64) bool {
	for f := 1.024; f < 1.11; f *= 1.024 {
		if almostEqual(x, y*f) || almostEqual(y, x*f) {
			return true
		}
	}
	return false
}

// leastBare is the least bare number in code that may stand for more of a smaller unit: a 1 is everywhere,
// and is not 1024 MiB.
const leastBare = 10

// converts reports whether the bare number b in code equals base in a unit of u's dimension: 5000 is 5
// seconds. Code counts bytes, and milliseconds or seconds.
func converts(base float64, u unit, b float64) bool {
	return almostEqual(base, b) || u.dim == duration && almostEqual(base, b*1e-3) ||
		u.dim == size && decimal(base, b)
}

// bare reports whether e, a number without a unit, can only be q: bytes, or another unit in other digits.
func (q quantity) bare(e quantity) bool {
	return e.unit.dim == noDim && slices.ContainsFunc(q.values, func(a float64) bool {
		return slices.ContainsFunc(e.values, func(b float64) bool {
			return b >= leastBare && converts(a*q.unit.scale, q.unit, b) && (a != b || q.unit == units["B"])
		})
	})
}

// inOtherUnit reports whether e has the digits of q with another unit of the same dimension. If the lines
// name a unit, their bare numbers do not stand for another.
func (q quantity) inOtherUnit(e quantity) bool {
	return q.unit.dim != noDim && e.unit.dim == q.unit.dim && e.unit.scale != q.unit.scale &&
		len(q.values) > 0 && slices.Contains(e.values, q.values[0])
}

// in reports whether all contains q.
func (q quantity) in(all []quantity) bool { return slices.ContainsFunc(all, q.same) }
