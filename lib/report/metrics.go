package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/report/task"
)

// Metric is one sample. No label names a person, a chat or a thread.
type Metric struct {
	Name   string      `json:"name"`
	Labels [][2]string `json:"labels,omitempty"`
	Value  float64     `json:"value"`
}

// Metrics are samples, those of a name together.
type Metrics []Metric

// families are the metrics: their type and what they are.
var families = []struct{ name, kind, help string }{
	{"tri_tasks", "gauge", "Open items by state."},
	{"tri_task_oldest_seconds", "gauge", "Age of the oldest open item in a state."},
	{"tri_posts_unfinished", "gauge", "Posts in the outbox by state; parked ones wait for a person."},
	{"tri_log_bytes", "gauge", "Size of a log."},
	{"tri_log_lines_total", "counter", "Messages received, and posts that ended."},
	{"tri_budget_used", "gauge", "What is used today (UTC) of a limit."},
	{"tri_budget_limit", "gauge", "A limit per day."},
}

// Measure counts what a home has now.
func Measure(h *durable.Home, cfg *config.Config, now time.Time) (Metrics, error) {
	m := Metrics{}
	for _, part := range []func(*Metrics, *durable.Home, *config.Config, time.Time) error{
		(*Metrics).tasks, (*Metrics).posts, (*Metrics).logs, (*Metrics).budgets} {
		if err := part(&m, h, cfg, now); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) add(name string, value float64, labels ...[2]string) {
	*m = append(*m, Metric{name, labels, value})
}

func (m *Metrics) tasks(h *durable.Home, cfg *config.Config, now time.Time) error {
	view := &task.View{Home: h, Policy: decision.PolicyOf(cfg), Now: func() time.Time { return now }}
	all, err := view.All(false)
	if err != nil {
		return err
	}
	count, oldest := map[string]int{}, map[string]float64{}
	for _, t := range all {
		count[t.State]++
		oldest[t.State] = max(oldest[t.State], now.Sub(text.ParseTime(t.StartedAt)).Seconds())
	}
	for _, s := range []string{task.Pending, task.Running, task.Paused, task.Waiting, task.Failed} {
		m.add("tri_tasks", float64(count[s]), [2]string{"state", s})
		m.add("tri_task_oldest_seconds", oldest[s], [2]string{"state", s})
	}
	return nil
}

func (m *Metrics) posts(h *durable.Home, _ *config.Config, _ time.Time) error {
	count := map[string]int{}
	entries, err := outbox.Readable(h, func(string, error) { count["damaged"]++ })
	if err != nil {
		return err
	}
	for _, e := range entries {
		count[e.State]++
	}
	for _, s := range []string{outbox.Intent, outbox.Posted, outbox.Parked, outbox.Refused, outbox.Dropped,
		"damaged"} {
		m.add("tri_posts_unfinished", float64(count[s]), [2]string{"state", s})
	}
	return nil
}

func (m *Metrics) logs(h *durable.Home, _ *config.Config, _ time.Time) error {
	for _, name := range []string{eventsLog, classifiedLog, dispatchLog, decision.LogName, repliesLog,
		spendLog} {
		info, err := h.Root().Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sysexit.With(sysexit.IO, err)
		}
		size := int64(0)
		if err == nil {
			size = info.Size()
		}
		m.add("tri_log_bytes", float64(size), [2]string{"log", strings.TrimSuffix(name, ".ndjson")})
	}
	for _, name := range []string{eventsLog, repliesLog} {
		n := 0
		if err := h.Lines(name, 0, func([]byte) error { n++; return nil }); err != nil {
			return err
		}
		m.add("tri_log_lines_total", float64(n), [2]string{"log", strings.TrimSuffix(name, ".ndjson")})
	}
	return nil
}

func (m *Metrics) budgets(h *durable.Home, cfg *config.Config, now time.Time) error {
	today, err := budget.Today(h, now)
	if err != nil {
		return err
	}
	left := today.Left(&cfg.Budget)
	for _, l := range left {
		if l.Of != budget.Day && l.Of != budget.Agent {
			continue // a person's or a thread's
		}
		of, unit := [2]string{"of", cmp.Or(l.Who, l.Of)}, [2]string{"unit", l.Unit}
		if m.add("tri_budget_used", l.Taken, of, unit); l.Limit > 0 {
			m.add("tri_budget_limit", l.Limit, of, unit)
		}
	}
	return nil
}

// Print writes the text format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
func (m Metrics) Print(w io.Writer) error {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for _, f := range families {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", f.name, f.help, f.kind)
		for _, s := range m {
			if s.Name != f.name {
				continue
			}
			labels := make([]string, len(s.Labels))
			for i, l := range s.Labels {
				labels[i] = l[0] + `="` + escape.Replace(strings.ToValidUTF8(l[1], "?")) + `"`
			}
			fmt.Fprintf(&b, "%s{%s} %s\n", s.Name, strings.Join(labels, ","),
				strconv.FormatFloat(s.Value, 'g', -1, 64))
		}
	}
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

// WriteJSON writes one record for each sample.
func (m Metrics) WriteJSON(w io.Writer) error {
	for _, s := range m {
		labels := map[string]string{}
		for _, l := range s.Labels {
			labels[l[0]] = l[1]
		}
		err := ndjson.Write(w, map[string]any{"name": s.Name, "labels": labels, "value": s.Value})
		if err != nil {
			return err
		}
	}
	return nil
}
