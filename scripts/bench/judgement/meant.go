package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/agent/search"
	"tri/lib/judge/codesearch"
	"tri/lib/judge/declaration"
)

func init() {
	parts = append(parts, part{"meant", "meant: which declaration does a description mean, on codebases left out?",
		meantPart})
}

var meantFile = flag.String("meant", "", "meant: write the weights, fitted on all codebases, to `FILE`")

const (
	meantRidge = 0.005
	meantSteps = 400 // of Adam, at a rate that falls to 0
	meantRate  = 0.15
	longType   = 80 // lines of a type that answers no question by itself
)

// described is a question, and the declarations that it may mean.
type described struct {
	codebase, as string
	all          []codesearch.Meant
	right        []bool
}

func meantPart(out io.Writer, in inputs) error {
	all, err := describedQuestions(in)
	if err != nil {
		return err
	}
	var file strings.Builder
	file.WriteString("# Weights of what is known of a declaration that a description may mean: of options\n" +
		"# (defaults, values, how to set them) and of things (functions, types). Fitted by: judgement -meant FILE meant\n")
	for _, as := range []string{"option", "thing"} {
		of := slices.DeleteFunc(slices.Clone(all), func(d described) bool { return d.as != as })
		leftOut(out, as, of)
		fmt.Fprintf(&file, "\n[%s]\n", as)
		for i, w := range fitMeant(of) {
			fmt.Fprintf(&file, "%s %.2f\n", codesearch.Features[i], w)
		}
	}
	if *meantFile == "" {
		return nil
	}
	return os.WriteFile(*meantFile, []byte(file.String()), 0o666)
}

// describedQuestions reads all questions that may be tuned on.
func describedQuestions(in inputs) (all []described, err error) {
	asked := map[string][]asking{}
	for _, set := range []string{"tuned", "second"} {
		err = eachLine(filepath.Join(in.data, "composed", set+".ndjson"), func(line []byte) error {
			var a asking
			err := json.Unmarshal(line, &a)
			asked[a.Codebase] = append(asked[a.Codebase], a)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, c := range slices.Concat(composedCodebases, codebases) {
		dir, cleanup, err := c.locate()
		defer cleanup()
		if err != nil {
			continue // the tables of the search name those that are not here
		}
		tuned, err := questions(in.data, dir, c.name, "tuned")
		if err != nil {
			return nil, err
		}
		of := asked[c.name]
		for _, q := range tuned {
			of = append(of, asking{Kind: "where", Question: q.Question, Places: q.places()})
		}
		if len(of) == 0 {
			continue
		}
		x, err := codesearch.Open(dir)
		if err != nil {
			return nil, err
		}
		for _, a := range of {
			if _, err := x.Search(context.Background(), a.Question, most); err != nil {
				return nil, err
			}
			if as := search.Fits(a.Kind); as != "" {
				d := described{codebase: c.name, as: as, all: search.Candidates(x, a.Kind, a.Question)}
				for _, m := range d.all {
					d.right = append(d.right, answersWith(m, a.Places))
				}
				all = append(all, d)
			}
		}
		x.Close()
	}
	return all, nil
}

// answersWith reports whether a declaration has a place that answers.
func answersWith(m codesearch.Meant, places []place) bool {
	if m.Kind == declaration.Type && m.End-m.Line > longType && len(m.Members) == 0 {
		return false
	}
	return slices.ContainsFunc(places, func(p place) bool {
		return p.File == m.Path && m.Start <= p.End && p.Start <= m.End
	})
}

// leftOut prints how often the most likely declaration is right, by the least probability, for weights that
// were fitted on other codebases.
func leftOut(out io.Writer, as string, all []described) {
	limits := []float64{0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
	said, right := make([]int, len(limits)), make([]int, len(limits))
	names := map[string]bool{}
	for _, d := range all {
		names[d.codebase] = true
	}
	for name := range maps.Keys(names) {
		w := fitMeant(slices.DeleteFunc(slices.Clone(all), func(d described) bool {
			return d.codebase == name
		}))
		for _, d := range all {
			if d.codebase != name || len(d.all) == 0 {
				continue
			}
			p, _ := d.chances(w)
			best := slices.Index(p, slices.Max(p))
			for i, least := range limits {
				if p[best] >= least {
					if said[i]++; d.right[best] {
						right[i]++
					}
				}
			}
		}
	}
	for i, least := range limits {
		fmt.Fprintf(out, "%-8s %4d  probability >= %.1f: %4d, right %s\n", as, len(all), least, said[i],
			percent(right[i], said[i]))
	}
}

// chances returns the probabilities of the declarations, and that of each among those that are right.
func (d described) chances(w []float64) (p, want []float64) {
	p, want = make([]float64, len(d.all)), make([]float64, len(d.all))
	sum, rightly := 1.0, 0.0
	for i, m := range d.all {
		for k, f := range m.Features {
			p[i] += w[k] * f
		}
		p[i] = math.Exp(p[i])
		if sum += p[i]; d.right[i] {
			rightly += p[i]
		}
	}
	for i := range p {
		if d.right[i] {
			want[i] = p[i] / rightly
		}
		p[i] /= sum
	}
	return p, want
}

// fitMeant fits a conditional logit: of all declarations of a question, or none, one is meant.
func fitMeant(all []described) []float64 {
	n := len(codesearch.Features)
	w, mean, square := make([]float64, n), make([]float64, n), make([]float64, n)
	for t := 1.0; t <= meantSteps; t++ {
		slope := make([]float64, n)
		for _, d := range all {
			p, want := d.chances(w)
			for i, m := range d.all {
				for k, f := range m.Features {
					slope[k] += (want[i] - p[i]) * f / float64(len(all))
				}
			}
		}
		for k := range w {
			g := slope[k] - meantRidge*w[k]
			mean[k] = 0.9*mean[k] + 0.1*g
			square[k] = 0.999*square[k] + 0.001*g*g
			w[k] += meantRate * (1 - t/meantSteps) * mean[k] / (1 - math.Pow(0.9, t)) /
				(math.Sqrt(square[k]/(1-math.Pow(0.999, t))) + 1e-8)
		}
	}
	return w
}
