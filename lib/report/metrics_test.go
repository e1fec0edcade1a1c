package report

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/budget"
	"tri/lib/record/outbox"
)

var sampleLine = regexp.MustCompile(`^([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)$`)

// parsed reads the text format as Prometheus does: the help and the type of a family, once, and then its
// samples, each with labels of its own.
func parsed(t *testing.T, text string) map[string]float64 {
	t.Helper()
	samples, family, seen := map[string]float64{}, "", map[string]bool{}
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("no newline at the end of %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.SplitN(line, " ", 4)
		if strings.HasPrefix(line, "# HELP ") {
			if family = words[2]; seen[family] {
				t.Errorf("two families are called %s", family)
			}
			seen[family] = true
			continue
		}
		if strings.HasPrefix(line, "# TYPE ") {
			if words[2] != family || words[3] != "gauge" && words[3] != "counter" {
				t.Errorf("%q below the help of %s", line, family)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || m[1] != family {
			t.Errorf("%q is not a sample of %s", line, family)
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if _, twice := samples[m[1]+"{"+m[2]+"}"]; err != nil || twice || v < 0 {
			t.Errorf("%q: %v, twice %v", line, err, twice)
		}
		samples[m[1]+"{"+m[2]+"}"] = v
	}
	return samples
}

// TestMetrics: what a home has is counted, in text that Prometheus reads, without names of people.
func TestMetrics(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	cfg := config.Default()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	measure := func() map[string]float64 {
		m, err := Measure(h, cfg, now)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := m.Print(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "mallory") {
			t.Errorf("it names a person: %s", b.String())
		}
		return parsed(t, b.String())
	}
	for name, v := range measure() {
		if v != 0 && !strings.HasPrefix(name, "tri_budget_limit") {
			t.Errorf("an empty home has %s %v", name, v)
		}
	}
	if err := h.MkdirAll(outbox.Dir); err != nil {
		t.Fatal(err)
	}
	e := outbox.Entry{ID: outbox.ID("k", 1, "aa", 1), Key: "k", Cycle: 1, DraftSHA256: "aa",
		State: outbox.Parked, Part: 1, Parts: 1}
	if err := e.Save(h); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace("events.ndjson", []byte("{}\n{}\n")); err != nil {
		t.Fatal(err)
	}
	book, err := budget.Open(h, cfg.Budget)
	if err == nil {
		err = book.Take(budget.Run{ID: "r", Key: "mallory", Person: "mallory", Agent: "claude"}, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := measure()
	for name, want := range map[string]float64{`tri_posts_unfinished{state="parked"}`: 1,
		`tri_posts_unfinished{state="intent"}`: 0, `tri_log_lines_total{log="events"}`: 2,
		`tri_log_bytes{log="events"}`: 6, `tri_budget_used{of="day",unit="investigations"}`: 1,
		`tri_tasks{state="waiting"}`: 0} {
		if v, there := got[name]; !there || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, there, want)
		}
	}
	var b bytes.Buffer
	m := Metrics{{"tri_tasks", [][2]string{{"state", "a\"b\\c\nd\xff"}}, 1}}
	if err := m.Print(&b); err != nil {
		t.Fatal(err)
	}
	if got := parsed(t, b.String()); got[`tri_tasks{state="a\"b\\c\nd?"}`] != 1 {
		t.Errorf("%v", got)
	}
}
