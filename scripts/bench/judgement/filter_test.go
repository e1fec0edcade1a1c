package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestMeasure(t *testing.T) {
	all := []said{
		{actionable: true, want: label{actionable: true}},
		{actionable: true},
		{want: label{actionable: true}},
		{question: true, want: label{question: true}},
	}
	f := measure(all)
	if f.called != 2 || f.missed != 1 || f.actionable.f1() != 0.5 || f.question.f1() != 1 {
		t.Errorf("%+v", f)
	}
	if !math.IsNaN(f.ack.precision()) {
		t.Errorf("precision of nothing said is %v", f.ack.precision())
	}
}

func TestSweep(t *testing.T) {
	all := []said{
		{score: 0.9, want: label{actionable: true}},
		{score: 0.9},
		{score: 0.5, want: label{actionable: true}},
		{score: 0.1},
	}
	want := []point{{0, 50}, {50, 50}, {75, 0}}
	got := sweep(all)
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestBareRules(t *testing.T) {
	for content, want := range map[string]said{
		"does it work?":        {question: true, actionable: true},
		"how one does it":      {question: true, actionable: true},
		"show me":              {},
		"ok":                   {ack: true},
		"LGTM!":                {ack: true},
		"👍":                    {ack: true},
		"ok, it says error 42": {},
		"!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!": {},
	} {
		if got := bareRules(content); got != want {
			t.Errorf("%q: %+v", content, got)
		}
	}
}

// TestPlot: well-formed, for both colour schemes, with the aim and every curve.
func TestPlot(t *testing.T) {
	svg := drawPlot([]curve{{"one half", []point{{0, 30}, {40, 2}}}},
		[]mark{{"as <shipped>", point{35, 3}, true}})
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"prefers-color-scheme:dark", `class="aim"`, "one half",
		"as &lt;shipped&gt;", "share of messages called actionable"} {
		if !strings.Contains(svg, part) {
			t.Errorf("the plot lacks %q", part)
		}
	}
}
