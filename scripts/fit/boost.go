package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tri/lib/judge/classify"
)

// at says what calling a share comes to.
func (s *sums) at(share float64) string {
	idx := make([]int, len(s.scores))
	for i := range idx {
		idx[i] = i
	}
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(s.scores[b], s.scores[a]) })
	called := int(share * float64(len(idx)))
	tp, all := 0, 0
	for i, k := range idx {
		if s.wants[k] {
			all++
			if i < called {
				tp++
			}
		}
	}
	return fmt.Sprintf("| %.0f%%: misses %.1f F1 %.3f", 100*share, 100*float64(all-tp)/float64(max(1, len(idx)-called)), 2*float64(tp)/float64(max(1, called+all)))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// fitGrams fits the weights of words, by stochastic gradient on labels that cost nothing.
func fitGrams(rooms []*room, held string, m *classify.Decider) {
	for target := range 2 {
		w := make([]float64, len(m.Grams))
		g2 := make([]float64, len(m.Grams))
		type ex struct {
			grams []uint32
			scale float64
			y     float64
			much  float64
		}
		var all []ex
		for _, r := range rooms {
			if r.community == held || r.variant != 0 {
				continue
			}
			for i := range r.rows {
				o := &r.rows[i]
				if o.words == 0 || o.lab != nil || r.judged[o.id] != nil {
					continue
				}
				e := ex{grams: o.grams, scale: 1 / math.Sqrt(float64(min(o.words, 96)+1)), much: 1}
				if target == 0 {
					if o.mark {
						e.y = 1
					}
				} else {
					switch {
					case o.opener >= 0:
						e.y, e.much = float64(o.opener), 0.7
					default:
						y := weak(o)
						if y < 0 {
							continue
						}
						e.y, e.much = float64(y), 0.7
					}
				}
				all = append(all, e)
			}
		}
		bias := 0.0
		for epoch := range 6 {
			_ = epoch
			for k := range all {
				// a fixed order that mixes the rooms
				e := &all[(k*7919+epoch*131)%len(all)]
				z := bias
				for _, n := range e.grams {
					z += w[n] * e.scale
				}
				d := e.much * (e.y - sigmoid(z))
				bias += 0.01 * d
				for _, n := range e.grams {
					g := d*e.scale - 2e-4*w[n]
					g2[n] += g * g
					w[n] += 0.25 * g / math.Sqrt(1e-2+g2[n])
				}
			}
		}
		for n := range w {
			v := int8(max(-127, min(127, math.Round(w[n]*32))))
			if target == 0 {
				m.Grams[n].Asks = v
			} else {
				m.Grams[n].Voice = v
			}
		}
	}
}

// weak tells from the conversation alone whether a writer is being helped: 1, 0, or -1 unknown.
var fOpeningAge, fOtherAge, fOrder = classify.Feature("opening-age"), classify.Feature("other-age"), classify.Feature("order")

func weak(o *row) int {
	x := &o.x
	switch {
	case x[fOrder] == 2 && x[fOpeningAge] <= 4:
		return 1
	case x[fOrder] == 1 && x[fOtherAge] <= 4:
		return 0
	}
	return -1
}

type example struct {
	x    *[classify.Features]uint8
	y, w float64
	z    float64
}

// fitHead boosts tables of one feature, of the words alone or of all.
func fitHead(rooms []*room, held string, text bool) *classify.Table {
	var ex []example
	for _, r := range rooms {
		if r.community == held || text && r.variant != 0 {
			continue
		}
		for i := range r.rows {
			o := &r.rows[i]
			if o.lab == nil || o.bound && !text {
				continue
			}
			e := example{x: &o.x, w: 1}
			if len(r.opener) == 0 {
				e.w = *slackWeight
			}
			if !text {
				e.w *= []float64{0.45, 0.4, 0.15}[r.variant]
				if len(r.opener) == 0 {
					e.w *= 1.15
				}
				if o.lab.open {
					e.w *= *openWeight
				}
			}
			if o.lab.a {
				e.y = 1
			}
			ex = append(ex, e)
		}
	}
	sw, sy := 0.0, 0.0
	for _, e := range ex {
		sw += e.w
		sy += e.w * e.y
	}
	base := math.Log(sy / (sw - sy))
	for i := range ex {
		ex[i].z = base
	}
	var points [classify.Features][classify.Bins]float64
	most := len(points)
	if text {
		most = classify.TextFeatures
	}
	g, h := make([]float64, len(ex)), make([]float64, len(ex))
	for range *rounds {
		for i := range ex {
			p := sigmoid(ex[i].z)
			g[i], h[i] = ex[i].w*(ex[i].y-p), ex[i].w*p*(1-p)
		}
		best, bestGain := -1, 0.5
		var bG, bH [classify.Bins]float64
		for f := range most {
			var G, H [classify.Bins]float64
			for i := range ex {
				b := ex[i].x[f] % classify.Bins
				G[b] += g[i]
				H[b] += h[i]
			}
			gain := 0.0
			for b := range G {
				gain += G[b] * G[b] / (H[b] + *lambda)
			}
			if gain > bestGain {
				best, bestGain, bG, bH = f, gain, G, H
			}
		}
		if best < 0 {
			break
		}
		for b := range bG {
			bG[b] = *rate * bG[b] / (bH[b] + *lambda)
			points[best][b] += bG[b]
		}
		for i := range ex {
			ex[i].z += bG[ex[i].x[best]%classify.Bins]
		}
	}
	t := new(classify.Table)
	t.Base = int16(math.Round(100 * base))
	for f := range points {
		for b, v := range points[f] {
			t.Points[f][b] = int16(math.Round(100 * v))
		}
	}
	return t
}
