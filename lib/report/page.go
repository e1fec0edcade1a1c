package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stats"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/report/history"
)

// Page is the report as one HTML file: no scripts, no external resources, and a content security
// policy that enforces both.
type Page struct {
	Title   string
	At      string
	From    string
	Style   template.CSS
	Policy  string
	Figures []Figure
	Charts  []*Chart
	Accept  *Acceptance
	ByType  []Took
	ByAgent []Took
	Broken  int // lines of the history that cannot be parsed
}

// Figure is one of the key figures of the page.
type Figure struct{ Name, Value, Note string }

//go:embed page.css
var pageStyle template.CSS

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"flat": func(s string) string {
		return text.Line(s, 0)
	}, "measured": func(c Criterion) string { return c.measured() },
	"badge": func(result string) string {
		return map[string]string{stats.Pass: "good", stats.Fail: "bad"}[result]
	},
	"count": count, "cost": func(t Took) string {
		return t.cost()
	}, "tokens": func(t Took) string { return t.tokens() },
}).Parse(pageText))

// HTML returns the page of a window.
func HTML(h *durable.Home, cfg *config.Config, now, from time.Time, missed Missed) (*Page, error) {
	f, err := gather(h, decision.PolicyOf(cfg), now, from)
	if err != nil {
		return nil, err
	}
	from = f.since(from)
	p := &Page{
		Title: "tri: " + from.UTC().Format("2 Jan") + " to " + now.UTC().Format("2 Jan 2006"),
		At:    clock(stampJSON(now)), From: clock(stampJSON(from)),
		Style: pageStyle, Policy: pagePolicy(), Broken: f.talk.Broken,
	}
	others, err := others(h, f.whole, from)
	if err != nil {
		return nil, err
	}
	p.Figures = figures(f, others, from, now)
	p.Charts = charts(f, from, now)
	kind, agent := sums{}, sums{}
	for _, r := range slices.Concat(f.whole.Runs, others) {
		kind.of(cmp.Or(cmp.Or(r.Asked, &history.Question{}).Type, "unknown")).add(r)
		agent.of(cmp.Or(r.Agent, "unknown") + ", " + r.Kind).add(r)
	}
	p.ByType, p.ByAgent = kind.list(byCost), agent.list(byCost)
	p.Accept, err = f.accept(missed)
	return p, err
}

// figures returns the key figures; others are runs that moved no thread.
func figures(f *facts, others []*history.Run, from, now time.Time) []Figure {
	t := tally(f.whole, from, now.Add(time.Second))
	for _, r := range others {
		t.Runs.add(r)
	}
	asking, all := f.talk.Totals()
	wait := Figure{"message to reply, median", t.Wait.says(seconds),
		text.Count(t.Wait.N, "answer")}
	if t.Wait.Low != nil {
		wait.Note += fmt.Sprintf(", 95%% interval %s to %s", seconds(*t.Wait.Low), seconds(*t.Wait.High))
	}
	cost := Figure{"cost", strings.ReplaceAll(t.Runs.cost(), " ", "\u00a0"),
		text.Count(t.Runs.Runs, "run")}
	if t.Runs.CostUnknown > 0 {
		cost.Note += fmt.Sprintf("; %s did not report", count(t.Runs.CostUnknown))
	}
	return []Figure{
		{"messages", count(all), fmt.Sprintf("%s ask something", count(asking))},
		{"drafts offered", count(t.Offered),
			fmt.Sprintf("%s approved, %s edited, %s dismissed, %s sent back", count(t.Approved),
				count(t.Edited), count(t.Dismissed), count(t.SentBack))},
		{"answers posted", count(t.Answered), fmt.Sprintf("%s approved and not posted", count(t.NotPosted))},
		wait,
		{"first-round pass rate", share(t.FirstRound), estimateText(t.FirstRound)},
		cost,
	}
}

func share(s stats.Share) string {
	if s.N == 0 {
		return "-"
	}
	return percent(s.Value())
}

// Print writes the page.
func (p *Page) Print(w io.Writer) error {
	return printPage(w, pageTemplate, p)
}

// pagePolicy is the content security policy of a page with pageStyle.
func pagePolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// printPage writes a page, or nothing if its template fails.
func printPage(w io.Writer, page *template.Template, data any) error {
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return sysexit.With(sysexit.Software, fmt.Errorf("write page: %w", err))
	}
	_, err := w.Write(b.Bytes())
	return sysexit.With(sysexit.IO, err)
}

// WriteJSON writes the data of the charts, one record per chart.
func (p *Page) WriteJSON(w io.Writer) error {
	return ndjson.Write(w, p.Charts...)
}
