package main

import (
	"fmt"
	"html"
	"strings"
)

// curve is a line of the plot, mark a single place in it.
type curve struct {
	name   string
	points []point
}

type mark struct {
	name string
	at   point
}

// The plot's measures, in pixels; the axes end at 100% and at mostMisses.
const (
	plotWidth, plotHeight = 720, 440
	plotLeft, plotRight   = 64, 24
	plotTop, plotBottom   = 56, 56
	mostMisses            = 40
)

const plotStyle = `<style>
svg{--ink:#1f2328;--soft:#59636e;--grid:#d8dee4;--paper:#fff;--a:#0b63c5;--b:#9a6700;--aim:#1a7f37}
@media (prefers-color-scheme:dark){svg{--ink:#e6edf3;--soft:#9198a1;--grid:#30363d;--paper:#0d1117;--a:#58a6ff;--b:#d29922;--aim:#3fb950}}
text{font:13px system-ui,sans-serif;fill:var(--ink)}.soft{fill:var(--soft)}.title{font-size:16px;font-weight:600}
.grid{stroke:var(--grid)}.aim{fill:var(--aim);fill-opacity:.16;stroke:var(--aim)}
.curve{fill:none;stroke-width:2}.c0{stroke:var(--a)}.c1{stroke:var(--b);stroke-dasharray:6 4}
.mark{fill:var(--paper);stroke:var(--ink);stroke-width:2}
</style>
`

func plotX(called float64) float64 {
	return plotLeft + called/100*(plotWidth-plotLeft-plotRight)
}

func plotY(misses float64) float64 {
	return plotHeight - plotBottom - min(misses, mostMisses)/mostMisses*(plotHeight-plotTop-plotBottom)
}

// drawPlot returns the SVG: misses upwards, the share called actionable to the
// right, the aim as a field in the corner.
func drawPlot(curves []curve, marks []mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t d">
<title id="t">Misses against the share called actionable</title>
<desc id="d">Each line is the filter on one half of the labels while its threshold moves; lower and further left is better.</desc>
`, plotWidth, plotHeight)
	b.WriteString(plotStyle)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="var(--paper)"/>`+"\n", plotWidth, plotHeight)
	text(&b, plotLeft, 28, "title", "start", "What is dropped and needed somebody")
	drawAxes(&b)
	fmt.Fprintf(&b, `<rect class="aim" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n",
		plotX(0), plotY(aimMisses), plotX(aimCalled)-plotX(0), plotY(0)-plotY(aimMisses))
	text(&b, plotX(1), plotY(aimMisses)-6, "soft", "start", fmt.Sprintf("aim: at most %.0f misses, %.0f%% called", aimMisses, aimCalled))
	for i, c := range curves {
		drawCurve(&b, i, c)
	}
	for _, m := range marks {
		x, y := plotX(m.at.called), plotY(m.at.misses)
		fmt.Fprintf(&b, `<circle class="mark" cx="%.1f" cy="%.1f" r="4.5"/>`+"\n", x, y)
		text(&b, x+9, y-7, "", "start", fmt.Sprintf("%s: %.1f at %.0f%%", m.name, m.at.misses, m.at.called))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawAxes(b *strings.Builder) {
	for called := 0.0; called <= 100; called += 20 {
		x := plotX(called)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fV%.1f"/>`+"\n", x, plotY(0), plotY(mostMisses))
		text(b, x, plotY(0)+20, "soft", "middle", fmt.Sprintf("%.0f%%", called))
	}
	for misses := 0.0; misses <= mostMisses; misses += 10 {
		y := plotY(misses)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/>`+"\n", plotX(0), y, plotX(100))
		text(b, plotX(0)-8, y+4, "soft", "end", fmt.Sprintf("%.0f", misses))
	}
	text(b, plotX(50), plotHeight-14, "", "middle", "share of messages called actionable")
	text(b, plotLeft, plotTop-8, "soft", "start", "misses per 100 messages dropped")
}

func drawCurve(b *strings.Builder, i int, c curve) {
	if len(c.points) == 0 {
		return
	}
	var path strings.Builder
	for j, p := range c.points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], plotX(p.called), plotY(p.misses))
	}
	fmt.Fprintf(b, `<path class="curve c%d" d="%s"/>`+"\n", i%2, path.String())
	y := float64(plotTop + 12 + 20*i)
	fmt.Fprintf(b, `<path class="curve c%d" d="M%.1f %.1fh28"/>`+"\n", i%2, plotX(100)-150, y)
	text(b, plotX(100)-114, y+4, "", "start", c.name)
}

func text(b *strings.Builder, x, y float64, class, anchor, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(s))
}
