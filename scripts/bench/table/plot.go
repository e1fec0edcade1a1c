package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/report/plot"
)

// style names the colours of the series, for light and dark.
const style = `<style>
text{font:12px system-ui,sans-serif;fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d8dee4}
.line{fill:none;stroke-width:2}.paper{fill:#fff}
.l0{stroke:#0b63c5}.s0{fill:#0b63c5}.l1{stroke:#9a6700}.s1{fill:#9a6700}.l2{stroke:#8250df}.s2{fill:#8250df}
.l3{stroke:#1a7f37}.s3{fill:#1a7f37}.l4{stroke:#cf222e}.s4{fill:#cf222e}.l5{stroke:#57606a}.s5{fill:#57606a}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.paper{fill:#0d1117}.grid{stroke:#30363d}}
</style><rect class="paper" y="-24" width="720" height="314"/>`

// drawAll draws each question that was put at several sizes.
func drawAll(dir string, groups []*group) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	done := map[string]bool{}
	for _, g := range groups {
		name := g.part + "-" + strings.ReplaceAll(key(g.what), "_", "-") + ".svg"
		if g.axis == "" || done[name] {
			continue
		}
		done[name] = true
		var same []*group
		for _, other := range groups {
			if other.part == g.part && other.what == g.what {
				same = append(same, other)
			}
		}
		if len(same) < 2 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(draw(same)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// draw is one plot: a line for each program, over the sizes.
func draw(groups []*group) string {
	first := groups[0]
	c := plot.Chart{
		Title: first.part + ": " + first.what, Says: "Cost against size; lower is better.",
		Unit: first.unit.text, Log: true,
	}
	if first.unit == seconds { // a picture's least is a thousandth, ours a nanosecond
		c.Unit = func(us float64) string { return seconds.text(us / 1e6) }
	}
	for _, g := range groups {
		c.Steps = append(c.Steps, count(g.size)+" "+g.axis)
	}
	for _, s := range first.series {
		line := plot.Series{Name: s.who}
		for _, g := range groups {
			v := g.of(s.who).median()
			if g.unit == seconds {
				v *= 1e6
			}
			line.Values = append(line.Values, v)
		}
		if !math.IsNaN(line.Values[0]) || len(first.series) == 1 {
			c.Lines = append(c.Lines, line)
		}
	}
	return standAlone(c.SVG(), c.Title, c.Lines)
}

// standAlone makes a picture that is drawn for a page a file of its own, with its
// title above it and the names of its lines below.
func standAlone(svg, title string, lines []plot.Series) string {
	svg = strings.Replace(svg, `<svg viewBox="0 0 720 260"`,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -24 720 314"`, 1)
	end := strings.Index(svg, "</desc>") + len("</desc>")
	svg = svg[:end] + style + `<text x="8" y="-6">` + title + "</text>" + svg[end:]
	return strings.Replace(svg, "</svg>", legend(lines)+"</svg>", 1)
}

// legend names the lines; what they are called is ours, so nothing is escaped.
func legend(lines []plot.Series) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, `<circle class="s%d" cx="%d" cy="276" r="4"/><text x="%d" y="280">%s</text>`, i,
			70+i*108, 78+i*108, line.Name)
	}
	return b.String()
}
