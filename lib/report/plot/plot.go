// Package plot draws stacked bars and lines with intervals as SVG. Colours are defined by the page:
// the classes s0, s1, … of a series, grid, axis, band and soft. Every text is escaped, and each
// mark has its value as a tooltip.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Chart is one picture. Steps are the labels on the x axis, in order.
type Chart struct {
	Title, Says string // alternative text: what the chart shows
	Steps       []string
	Bars        []Series // stacked, the first at the bottom
	Lines       []Series
	Unit        func(float64) string // formats a value; nil means %g
	Min, Max    float64              // of the y axis; Max 0 means that of the data
	Whole       bool                 // values are counts: the y axis has whole numbers only
	Log         bool                 // logarithmic y axis; values of 0 are not drawn
	Band        *[2]float64          // the target range, shaded
}

// Series has one value per step; NaN means none.
type Series struct {
	Name   string
	Values []float64
	// Low and High are the bounds of the interval of each value, or nil.
	Low, High []float64
}

// Dimensions of the picture, in SVG units.
const (
	wide, high  = 720, 260
	left, right = 64, 12
	top, bottom = 12, 30
)

// SVG draws the chart.
func (c *Chart) SVG() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, `<svg viewBox="0 0 %d %d" role="img"><title>%s</title><desc>%s</desc>`, wide, high,
		esc(c.Title), esc(c.Says))
	a := c.axis()
	c.frame(b, a)
	if len(c.Steps) > 0 {
		c.bars(b, a)
		for i, s := range c.Lines {
			c.line(b, a, s, len(c.Bars)+i)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// axis maps values to coordinates.
type axis struct {
	min, max float64
	log      bool
	ticks    []float64
}

func (c *Chart) axis() axis {
	a := axis{min: c.Min, max: c.Max, log: c.Log}
	if a.max == 0 {
		a.max = c.most()
	}
	if a.log {
		a.min = math.Pow(10, math.Floor(math.Log10(max(c.least(), 1e-3))))
		a.max = math.Pow(10, math.Ceil(math.Log10(max(a.max, a.min*10))))
		for v := a.min; v <= a.max*1.001; v *= 10 {
			a.ticks = append(a.ticks, v)
		}
		return a
	}
	step := nice((a.max - a.min) / 4)
	if c.Whole {
		step = max(1, math.Ceil(step))
	}
	if c.Max == 0 {
		a.max = math.Ceil(a.max/step) * step
	}
	for v := a.min; v <= a.max+step/1000; v += step {
		a.ticks = append(a.ticks, v)
	}
	return a
}

// nice rounds up to 1, 2, 2.5 or 5 times a power of ten.
func nice(x float64) float64 {
	if x <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if x <= m*p*1.0001 {
			return m * p
		}
	}
	return 10 * p
}

func (c *Chart) most() float64 {
	m := 0.0
	for i := range c.Steps {
		sum := 0.0
		for _, s := range c.Bars {
			if v := at(s.Values, i); !math.IsNaN(v) {
				sum += v
			}
		}
		m = max(m, sum)
		for _, s := range c.Lines {
			for _, list := range [][]float64{s.Values, s.High} {
				if v := at(list, i); !math.IsNaN(v) && !math.IsInf(v, 0) {
					m = max(m, v)
				}
			}
		}
	}
	if m == 0 {
		return 1
	}
	return m
}

func (c *Chart) least() float64 {
	m := math.Inf(1)
	for _, s := range c.Lines {
		for _, v := range s.Values {
			if v > 0 {
				m = min(m, v)
			}
		}
	}
	if math.IsInf(m, 1) {
		return 1
	}
	return m
}

func at(list []float64, i int) float64 {
	if i >= len(list) {
		return math.NaN()
	}
	return list[i]
}

func (a axis) y(v float64) float64 {
	v = min(max(v, a.min), a.max)
	share := (v - a.min) / (a.max - a.min)
	if a.log {
		share = (math.Log10(v) - math.Log10(a.min)) / (math.Log10(a.max) - math.Log10(a.min))
	}
	return high - bottom - share*(high-top-bottom)
}

// slot returns the width of a step on the x axis.
func (c *Chart) slot() float64 { return float64(wide-left-right) / float64(max(len(c.Steps), 1)) }

func (c *Chart) x(i int) float64 { return left + (float64(i)+0.5)*c.slot() }

func (c *Chart) unit(v float64) string {
	if c.Unit == nil {
		return fmt.Sprintf("%g", v)
	}
	return c.Unit(v)
}

func (c *Chart) frame(b *strings.Builder, a axis) {
	if c.Band != nil {
		y := a.y(c.Band[1])
		fmt.Fprintf(b, `<rect class="band" x="%d" y="%.1f" width="%d" height="%.1f"/>`, left, y,
			wide-left-right, a.y(c.Band[0])-y)
	}
	for _, t := range a.ticks {
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="soft" x="%d" y="%.1f" text-anchor="end">%s</text>`, left, wide-right, a.y(t), a.y(t), left-8, a.y(t)+4, esc(c.unit(t)))
	}
	every := max(1, int(math.Ceil(74/c.slot())))
	for i := 0; i < len(c.Steps); i += every {
		fmt.Fprintf(b, `<text class="soft" x="%.1f" y="%d" text-anchor="middle">%s</text>`, c.x(i), high-8,
			esc(c.Steps[i]))
	}
}

func (c *Chart) bars(b *strings.Builder, a axis) {
	w := max(1, c.slot()*0.78)
	for i, step := range c.Steps {
		sum := 0.0
		for k, s := range c.Bars {
			v := at(s.Values, i)
			if math.IsNaN(v) || v <= 0 {
				continue
			}
			from := a.y(sum)
			sum += v
			fmt.Fprintf(b,
				`<rect class="s%d" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, k,
				c.x(i)-w/2, a.y(sum), w, max(0.5, from-a.y(sum)),
				esc(fmt.Sprintf("%s, %s: %s", step, s.Name, c.unit(v))))
		}
	}
}

// interval returns the interval of a value, if both bounds exist.
func (s *Series) interval(i int) (low, top float64, ok bool) {
	low, top = at(s.Low, i), at(s.High, i)
	return low, top, !math.IsNaN(low+top) && !math.IsInf(low+top, 0)
}

// line draws a series, interrupted where a step has no value.
func (c *Chart) line(b *strings.Builder, a axis, s Series, class int) {
	var path strings.Builder
	pen := "M"
	for i := range c.Steps {
		v := at(s.Values, i)
		if math.IsNaN(v) || a.log && v <= 0 {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", pen, c.x(i), a.y(v))
		pen = "L"
	}
	for i := range c.Steps {
		if low, top, ok := s.interval(i); ok {
			fmt.Fprintf(b, `<line class="whisker l%d" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, class,
				c.x(i), c.x(i), a.y(low), a.y(top))
		}
	}
	fmt.Fprintf(b, `<path class="line l%d" d="%s"/>`, class, path.String())
	for i, step := range c.Steps {
		v := at(s.Values, i)
		if math.IsNaN(v) || a.log && v <= 0 {
			continue
		}
		says := fmt.Sprintf("%s, %s: %s", step, s.Name, c.unit(v))
		if low, top, ok := s.interval(i); ok {
			says += fmt.Sprintf(" (95%% interval %s to %s)", c.unit(low), c.unit(top))
		}
		fmt.Fprintf(b, `<circle class="s%d" cx="%.1f" cy="%.1f" r="3"><title>%s</title></circle>`, class,
			c.x(i), a.y(v), esc(says))
	}
}

// esc escapes a text for the inside of an element.
func esc(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}
