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
	name  string
	at    point
	below bool // its words, so that two near marks stay readable
}

// The plot's measures, in pixels; the axes end at 100% and at mostMisses.
const (
	plotWidth, plotHeight = 720, 440
	plotLeft, plotRight   = 64, 24
	plotTop, plotBottom   = 56, 56
	mostMisses            = 40
)

// plotStyle names every colour twice instead of using variables, which not every
// program that draws SVG knows.
const plotStyle = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}text.soft{fill:#59636e}text.title{font-size:16px;font-weight:600}
.paper{fill:#fff}.grid{stroke:#d8dee4}.aim{fill:#1a7f37;fill-opacity:.16;stroke:#1a7f37}
.curve{fill:none;stroke-width:2}.c0{stroke:#0b63c5}.c1{stroke:#9a6700;stroke-dasharray:6 4}
.mark{fill:#fff;stroke:#1f2328;stroke-width:2}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}text.soft{fill:#9198a1}
.paper{fill:#0d1117}.grid{stroke:#30363d}.aim{fill:#3fb950;stroke:#3fb950}
.c0{stroke:#58a6ff}.c1{stroke:#d29922}
.mark{fill:#0d1117;stroke:#e6edf3}
}
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
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`+"\n", plotWidth, plotHeight)
	text(&b, plotLeft, 28, "title", "start", "What is dropped and needed somebody")
	drawAxes(&b)
	fmt.Fprintf(&b, `<rect class="aim" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n",
		plotX(0), plotY(aimMisses), plotX(aimCalled)-plotX(0), plotY(0)-plotY(aimMisses))
	text(&b, plotX(1), plotY(aimMisses)-6, "soft", "start",
		fmt.Sprintf("aim: at most %.0f misses, %.0f%% called", aimMisses, aimCalled))
	for i, c := range curves {
		drawCurve(&b, i, c)
	}
	for _, m := range marks {
		x, y := plotX(m.at.called), plotY(m.at.misses)
		fmt.Fprintf(&b, `<circle class="mark" cx="%.1f" cy="%.1f" r="4.5"/>`+"\n", x, y)
		if m.below {
			y += 26
		}
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
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor,
		html.EscapeString(s))
}
