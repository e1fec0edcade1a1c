package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"tri/lib/base/prompt"
	"tri/lib/flow/validate"
	"tri/lib/record/discussion"
	"tri/lib/record/draft"
	"tri/lib/record/persona"
	"tri/lib/record/verdict"
	"tri/lib/report/faults"
	"tri/lib/report/plot"
)

func init() {
	const about = "Do lenses help? Scripted reviewers of drafts that code passes, joined in ten ways"
	parts = append(parts, part{"panel", about, panel})
}

// prices are tokens of one question and its answer.
type prices struct{ generic, lens, lead float64 }

const answerTokens = 60

// panel judges every draft once by code, and simulates the reviewers of those that pass.
func panel(out io.Writer, in inputs) error {
	all, shown, err := passed(out, in)
	if err != nil {
		return err
	}
	p, err := pricesOf(shown)
	if err != nil {
		return err
	}
	faulty, sound := split(all)
	fmt.Fprintf(out, `%d faults that were written into true drafts, and %d true drafts; code passes all of them.
The reviewers are scripts and their probabilities are put in: the figures show what follows from these
numbers and say nothing about real models. Caught: generic %.2f; lens %.2f of its own kinds of fault, %.2f of
others. False alarms: generic %.2f, lens %.2f. Tokens of a question: generic %.0f, lens %.0f, lead of a debate %.0f:
characters of the real prompt about a draft of median length / 4, and %d for the answer. Between two models %.1f
of the correlation of errors is left.
`, len(faulty), len(sound), genericCatch, ownCatch, otherCatch, genericAlarm, lensAlarm,
		p.generic, p.lens, p.lead, answerTokens, otherModel)
	tellArms(out, all, p, 0)
	tellArms(out, all, p, usualCommon)
	return tellCommon(out, faulty, p)
}

// passed returns the drafts that code passes and, for the length of prompts, the true one of median length.
func passed(out io.Writer, in inputs) ([]item, *draft.Return, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(draftCodebases)) {
		if draftCodebases[name].fetch == "" { // no network is needed
			names = append(names, name)
		}
	}
	written, remove, err := pairsOf(out, in, names)
	defer remove()
	if err != nil {
		return nil, nil, err
	}
	var trials []*trial
	add := func(p pair, kind string, ret *draft.Return) {
		trials = append(trials, &trial{Record: faults.Record{Key: kind, Return: ret}, dir: p.dir})
	}
	for _, p := range written {
		add(p, "", asReturn(p.Question, p.True, p.Refs))
		add(p, p.Kind, asReturn(p.Question, p.False, p.FalseRefs))
	}
	dirs, removeAll, err := locateAll()
	if err != nil {
		return nil, nil, err
	}
	defer removeAll()
	err = opposites(in, dirs, func(p pair, good, bad *draft.Return) {
		add(p, "", good)
		add(p, "opposite", bad)
	})
	if err != nil {
		return nil, nil, err
	}
	if err := judgeAll(trials); err != nil {
		return nil, nil, err
	}
	var all []item
	var sound []*draft.Return
	for _, t := range trials {
		if t.verdict.Verdict != verdict.Pass {
			continue
		}
		all = append(all, item{t.Key, identity(t.Record), *t.verdict})
		if t.Key == "" {
			sound = append(sound, t.Return)
		}
	}
	if len(sound) == 0 || len(sound) == len(all) {
		return nil, nil, fmt.Errorf("of %d drafts code passes %d, of them %d true ones", len(trials),
			len(all), len(sound))
	}
	slices.SortFunc(sound, func(a, b *draft.Return) int { return len(a.DraftReply) - len(b.DraftReply) })
	return all, sound[len(sound)/2], nil
}

// pricesOf renders the three prompts about a draft.
func pricesOf(ret *draft.Return) (p prices, err error) {
	set, err := prompt.Load("")
	if err != nil {
		return p, err
	}
	rubric, err := set.Rubric("technical_qa")
	if err != nil {
		return p, err
	}
	subject, err := validate.Subject(ret, ret.Question, "")
	if err != nil {
		return p, err
	}
	all := persona.Defaults()
	for i := range all {
		all[i].Active = true // as a team makes them
	}
	judge, of, err := persona.FindLens(all, "polarity")
	if err != nil {
		return p, err
	}
	brief := persona.Brief(judge, "validate")
	for _, q := range []struct {
		price    *float64
		template string
		data     map[string]any
	}{
		{&p.generic, "validate.md", map[string]any{
			"Return": subject.Parts[1], "Rubric": rubric, "Question": subject.Parts[0], "Others": nil}},
		{&p.lens, "lens.md", map[string]any{
			"Persona": brief, "Ask": of.Ask, "Parts": subject.Parts, "Before": nil}},
		{&p.lead, "panel-lead.md", map[string]any{
			"Persona": brief, "Parts": subject.Parts, "Before": nil, "Round": 1,
			"Decisions": []string{discussion.Approve, discussion.Changes, discussion.Human}}},
	} {
		text, err := set.Render(q.template, q.data)
		if err != nil {
			return p, err
		}
		*q.price = float64(len([]rune(text)))/4 + answerTokens
	}
	return p, nil
}

// draws is how often each draft is looked at for a point of the plot.
const draws = 5

// tellCommon prints the share caught by the correlation of errors, and draws it into the file $PANEL_PLOT.
func tellCommon(out io.Writer, faulty []item, p prices) error {
	chart := plot.Chart{
		Title: "When a second look pays: share caught by correlation (probabilities are put in)", Max: 100,
		Says: "Share of faults caught, by the correlation of the reviewers' errors; it says nothing about real models.",
		Unit: func(v float64) string { return fmt.Sprintf("%.0f%%", v) },
	}
	fmt.Fprintf(out, "\nshare caught, by correlation\n%-26s", "arm")
	for common := 0.0; common < 1.1; common += 0.2 {
		chart.Steps = append(chart.Steps, fmt.Sprintf("%.1f", common))
		fmt.Fprintf(out, " %6.1f", common)
	}
	fmt.Fprintln(out)
	for n := 1; n < len(arms); n++ {
		line := plot.Series{Name: arms[n].name}
		fmt.Fprintf(out, "%-26s", line.Name)
		for i := range chart.Steps {
			caught := 0
			for draw := range uint64(draws) {
				refused, _ := ask(&arms[n], faulty, p, float64(i)/5, draw)
				caught += trues(refused)
			}
			share := 100 * float64(caught) / float64(draws*len(faulty))
			line.Values = append(line.Values, share)
			fmt.Fprintf(out, " %5.1f%%", share)
		}
		fmt.Fprintln(out)
		chart.Lines = append(chart.Lines, line)
	}
	if file := os.Getenv("PANEL_PLOT"); file != "" {
		return os.WriteFile(file, []byte(alone(&chart)), 0o644)
	}
	return nil
}

// alone returns a chart as a file of its own: with colours, title and the names of the lines.
func alone(c *plot.Chart) string {
	colours := []string{"#0b63c5", "#9a6700", "#8250df", "#1a7f37", "#cf222e", "#57606a", "#bf3989", "#0a7ea4", "#6e4b1f"}
	var b strings.Builder
	b.WriteString(`<style>text{font:12px sans-serif}.line{fill:none;stroke-width:2}.grid{stroke:#d8dee4}.paper{fill:#fff}`)
	for i := range c.Lines {
		fmt.Fprintf(&b, ".l%d{stroke:%s}.s%d{fill:%s}", i, colours[i], i, colours[i])
	}
	b.WriteString(`</style><rect class="paper" y="-24" width="720" height="360"/>`)
	fmt.Fprintf(&b, `<text x="8" y="-6">%s</text>`, c.Title)
	for i, line := range c.Lines {
		fmt.Fprintf(&b, `<text class="s%d" x="%d" y="%d">%s</text>`, i, 64+i%4*160, 280+i/4*20, line.Name)
	}
	svg := strings.Replace(c.SVG(), `<svg viewBox="0 0 720 260"`,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -24 720 360"`, 1)
	return strings.Replace(svg, "</desc>", "</desc>"+b.String(), 1)
}
