package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// wellFormed parses a picture as strict XML.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
}

var number = regexp.MustCompile(`(?: x| y|x1|x2|y1|y2|cx|cy)="([^"]*)"`)

func TestEveryMarkStandsInThePicture(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]*Chart{
		"nothing": {Title: "t"},
		"zeros":   {Steps: []string{"a", "b"}, Bars: []Series{{"n", []float64{0, 0}, nil, nil}}},
		"bars": {Steps: []string{"a", "b", "c"},
			Bars: []Series{{"n", []float64{1, 2000, nan}, nil, nil}, {"m", []float64{5}, nil, nil}}},
		"lines": {Steps: []string{"a", "b", "c"},
			Lines: []Series{{"n", []float64{1, nan, 1e9}, []float64{0, nan, 5},
				[]float64{math.Inf(1), nan, 2e9}}}},
		"log": {Log: true, Steps: []string{"a", "b"},
			Lines: []Series{{"n", []float64{0, 12345}, nil, nil}}},
		"band": {Max: 100, Band: &[2]float64{60, 90}, Steps: []string{"a"},
			Lines: []Series{{"n", []float64{120}, nil, nil}}},
	} {
		svg := c.SVG()
		wellFormed(t, svg)
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: %s", name, svg)
		}
		for _, m := range number.FindAllStringSubmatch(svg, -1) {
			if x, err := strconv.ParseFloat(m[1], 64); err != nil || x < 0 || x > wide {
				t.Errorf("%s: %s", name, m[0])
			}
		}
	}
}

func TestMarksSayTheirFigures(t *testing.T) {
	c := &Chart{
		Title: "T", Says: "S", Steps: []string{"1 Nov"}, Unit: func(x float64) string {
			return fmt.Sprintf("%.0f%%", x)
		},
		Bars:  []Series{{"bar", []float64{40}, nil, nil}},
		Lines: []Series{{"line", []float64{70}, []float64{60}, []float64{80}}},
	}
	svg := c.SVG()
	for _, want := range []string{"<title>T</title>", "<desc>S</desc>", "1 Nov, bar: 40%",
		"1 Nov, line: 70% (95% interval 60% to 80%)", `class="s0"`, `class="line l1"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
}

func TestTextsAreEscaped(t *testing.T) {
	evil := "</title><script>alert(1)</script>\x1b\x00\"'&\xff"
	c := &Chart{Title: evil, Says: evil, Steps: []string{evil},
		Bars: []Series{{evil, []float64{1}, nil, nil}}, Lines: []Series{{evil, []float64{1}, nil, nil}},
		Unit: func(float64) string { return evil }}
	svg := c.SVG()
	wellFormed(t, svg)
	if strings.Contains(svg, "<script") || strings.ContainsAny(svg, "\x1b\x00") {
		t.Error(svg)
	}
}

func TestNice(t *testing.T) {
	for x, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.2: 2, 2.2: 2.5, 3: 5, 7: 10, 130: 200} {
		if got := nice(x); math.Abs(got-want) > 1e-9 {
			t.Errorf("%g: %g, want %g", x, got, want)
		}
	}
}
