package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"tri/lib/base/stats"
	"tri/lib/record/run"
	"tri/lib/report/history"
	"tri/lib/report/plot"
)

// Chart is a chart of the page and its data.
type Chart struct {
	Title  string
	Says   string
	Series []plot.Series
	steps  []string
	SVG    template.HTML
}

// MarshalJSON writes the values, null for a step without one.
func (c *Chart) MarshalJSON() ([]byte, error) {
	type series struct {
		Name   string     `json:"name"`
		Values []*float64 `json:"values"`
		Low    []*float64 `json:"low,omitempty"`
		High   []*float64 `json:"high,omitempty"`
	}
	var all []series
	for _, s := range c.Series {
		all = append(all, series{s.Name, finite(s.Values), finite(s.Low), finite(s.High)})
	}
	return json.Marshal(struct {
		Title  string   `json:"title"`
		Says   string   `json:"says"`
		Steps  []string `json:"steps"`
		Series []series `json:"series"`
	}{c.Title, c.Says, c.steps, all})
}

func finite(xs []float64) []*float64 {
	var out []*float64
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, nil)
		} else {
			out = append(out, &x)
		}
	}
	return out
}

// span is a step of time: a day, or a week if the page covers more than five.
type span struct {
	from, to time.Time
	name     string
}

func spans(from, to time.Time) []span {
	step := day
	if to.Sub(from) > 35*day {
		step = 7 * day
	}
	var out []span
	for end := to; end.After(from); end = end.Add(-step) {
		begin := end.Add(-step)
		if begin.Before(from) {
			begin = from
		}
		out = append(out, span{begin, end, end.UTC().Format("2 Jan")})
	}
	slices.Reverse(out)
	return out
}

// since returns the first day of which anything is recorded, at least the start of a window.
func (f *facts) since(from time.Time) time.Time {
	first := f.now
	if len(f.talk.Days) > 0 {
		if at, err := time.Parse(time.DateOnly, f.talk.Days[0].Date); err == nil && at.Before(first) {
			first = at
		}
	}
	for _, r := range f.whole.Runs {
		if r.Ended.Before(first) {
			first = r.Ended
		}
	}
	first = first.UTC().Truncate(day)
	if first.Before(from) {
		return from
	}
	return first
}

// charts draws the six charts of a window.
func charts(f *facts, from, now time.Time) []*Chart {
	steps := spans(from, now)
	per := "day"
	if len(steps) > 0 && steps[len(steps)-1].to.Sub(steps[len(steps)-1].from) > day {
		per = "week"
	}
	tallies := make([]Tally, len(steps))
	for i, s := range steps {
		tallies[i] = tally(f.whole, s.from, s.to)
	}
	return []*Chart{
		talked(f.talk, from, now), passing(tallies, steps, per), replying(tallies, steps, per),
		perAnswer(tallies, steps, per), catches(f.whole, steps, per), lagging(f.talk, from, now),
	}
}

func draw(c *plot.Chart, says string) *Chart {
	c.Says = says
	// plot escapes
	return &Chart{Title: c.Title, Says: says, Series: slices.Concat(c.Bars, c.Lines), steps: c.Steps,
		SVG: template.HTML(c.SVG())}
}

func whole(x float64) string { return thousands(int64(math.Round(x))) }

// days returns the days of the talk until now, including those without messages. A message can have any time.
func days(t *history.Talk, from, now time.Time) (list []history.Day, names []string) {
	if len(t.Days) == 0 {
		return nil, nil
	}
	by := map[string]history.Day{}
	for _, d := range t.Days {
		by[d.Date] = d
	}
	last := min(t.Days[len(t.Days)-1].Date, now.UTC().Format(time.DateOnly))
	for at := from.UTC(); at.Format(time.DateOnly) <= last; at = at.Add(day) {
		list = append(list, by[at.Format(time.DateOnly)])
		names = append(names, at.Format("2 Jan"))
	}
	return list, names
}

func talked(t *history.Talk, from, now time.Time) *Chart {
	list, names := days(t, from, now)
	c := &plot.Chart{Title: "Messages by what the filter made of them", Steps: names,
		Unit: whole, Whole: true}
	asks, ambient, ack := make([]float64, len(list)), make([]float64, len(list)), make([]float64, len(list))
	for i, d := range list {
		asks[i], ambient[i], ack[i] = float64(d.Actionable), float64(d.Ambient), float64(d.Ack)
	}
	c.Bars = []plot.Series{{Name: "actionable", Values: asks}, {Name: "acknowledgement", Values: ack},
		{Name: "ambient", Values: ambient}}
	return draw(c, "Each day (UTC). Only what is actionable costs anything.")
}

func series(name string, n int) plot.Series {
	return plot.Series{Name: name, Values: make([]float64, n), Low: make([]float64, n),
		High: make([]float64, n)}
}

func ends(steps []span) (out []string) {
	for _, s := range steps {
		out = append(out, s.name)
	}
	return out
}

func passing(tallies []Tally, steps []span, per string) *Chart {
	s := series("passed in the first round", len(steps))
	for i, t := range tallies {
		s.Values[i], s.Low[i], s.High[i] = math.NaN(), math.NaN(), math.NaN()
		if t.FirstRound.N > 0 {
			low, high := t.FirstRound.Interval()
			s.Values[i], s.Low[i], s.High[i] = 100*t.FirstRound.Value(), 100*low, 100*high
		}
	}
	c := &plot.Chart{Title: "First-round pass rate", Steps: ends(steps), Lines: []plot.Series{s}, Max: 100,
		Band: &[2]float64{60, 90}, Unit: func(x float64) string { return fmt.Sprintf("%.0f%%", x) }}
	return draw(c, fmt.Sprintf("Each %s until the day named, with its 95%% interval. The shaded field is what is wanted: 60 to 90%%. If all pass, the validator may check too little.", per))
}

func replying(tallies []Tally, steps []span, per string) *Chart {
	s := series("median", len(steps))
	for i, t := range tallies {
		s.Values[i], s.Low[i], s.High[i] = minutes(t.Wait.Median), minutes(t.Wait.Low), minutes(t.Wait.High)
	}
	c := &plot.Chart{Title: "Time from message to reply", Steps: ends(steps), Lines: []plot.Series{s},
		Unit: func(x float64) string { return took(time.Duration(x * float64(time.Minute))) }}
	return draw(c, fmt.Sprintf("Median of the answers posted each %s, with its 95%% interval.", per))
}

func minutes(s *float64) float64 {
	if s == nil {
		return math.NaN()
	}
	return *s / 60
}

func perAnswer(tallies []Tally, steps []span, per string) *Chart {
	s := plot.Series{Name: "cost of an answer", Values: make([]float64, len(steps))}
	unknown := 0
	for i, t := range tallies {
		unknown += t.Runs.CostUnknown
		s.Values[i] = math.NaN()
		if t.Answered > 0 {
			s.Values[i] = t.Runs.CostUSD / float64(t.Answered)
		}
	}
	says := fmt.Sprintf("Runs for questions in a %s, those that led nowhere too, by the answers posted in it. Runs by hand are left out.", per)
	if unknown > 0 {
		says += fmt.Sprintf(" At least: %s runs did not report their cost.", count(unknown))
	}
	return draw(&plot.Chart{Title: "Cost of an answer", Steps: ends(steps), Bars: []plot.Series{s},
		Unit: func(x float64) string { return fmt.Sprintf("$%.2f", x) }}, says)
}

// catches charts the drafts that the validator did not pass: in which round, and whether it
// returned the draft to the investigator or passed it on.
func catches(l *history.Ledger, steps []span, per string) *Chart {
	n := len(steps)
	first := plot.Series{Name: "bounced in round 1", Values: make([]float64, n)}
	second := plot.Series{Name: "stopped in round 2", Values: make([]float64, n)}
	on := plot.Series{Name: "escalated to a person", Values: make([]float64, n)}
	for _, r := range l.Runs {
		i := slices.IndexFunc(steps, func(s span) bool {
			return !r.Ended.Before(s.from) && r.Ended.Before(s.to)
		})
		switch {
		case i < 0 || r.Kind != run.Validate || r.Verdict == "" || r.Verdict == stats.Pass:
		case r.Verdict == "escalate":
			on.Values[i]++
		case r.Round == 1:
			first.Values[i]++
		default:
			second.Values[i]++
		}
	}
	return draw(&plot.Chart{Title: "Drafts that the validator stopped", Steps: ends(steps),
		Bars: []plot.Series{first, second, on}, Unit: whole, Whole: true},
		fmt.Sprintf("Each %s until the day named. None for weeks is a bad sign: tri-drill shows whether the validator works.", per))
}

func lagging(t *history.Talk, from, now time.Time) *Chart {
	list, names := days(t, from, now)
	median := plot.Series{Name: "median", Values: make([]float64, len(list))}
	tail := plot.Series{Name: "95 of 100", Values: make([]float64, len(list))}
	for i, d := range list {
		median.Values[i], tail.Values[i] = math.NaN(), math.NaN()
		if len(d.Lags) > 0 {
			median.Values[i], tail.Values[i] = d.Lags.Seconds(50), d.Lags.Seconds(95)
		}
	}
	c := &plot.Chart{Title: "Lag from message to filter", Steps: names, Lines: []plot.Series{median, tail},
		Log: true, Unit: func(x float64) string {
			if x < 1 {
				return fmt.Sprintf("%gs", x)
			}
			return seconds(x)
		}}
	return draw(c, "Of messages read as they came, each day (UTC). The scale is logarithmic.")
}
