package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sample() []*group {
	small := &group{part: "classify", what: "time", axis: "events", size: 1000, unit: seconds}
	small.add("ours", 0.002, 0.001, 0.003)
	small.add("theirs", 0.004, 0.003, 0.009)
	small.lacks("other", "not on this machine")
	large := &group{part: "classify", what: "time", axis: "events", size: 100_000, unit: seconds}
	large.add("ours", 0.1)
	large.add("theirs", 0.05, 0.07)
	large.add("cat", 0.0004)
	few := &group{part: "memory", what: "ours", axis: "events", size: 10, unit: bytesOf}
	few.add("ours", 2e6)
	many := &group{part: "memory", what: "ours", axis: "events", size: 10_000, unit: bytesOf}
	many.add("ours", 3e6)
	return []*group{small, large, few, many}
}

// TestTable: each is a ratio of the first of its group, in turns where it can be;
// the first alone, of itself at the smallest size.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := writeTable(&out, sample()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"part what size who median ± n ratio to",
		"classify time 1,000 events ours 2.00 ms 3 1.00",
		"theirs 4.00 ms 3 3.00 ours",
		"other - 0 - not on this machine",
		"classify time 100,000 events ours 100 ms 1 1.00",
		"theirs 50.0 ms 2 0.50 ours",
		"cat 400 µs 1 0.004 ours",
		"memory ours 10 events ours 2.00 MB 1 1.00",
		"memory ours 10,000 events ours 3.00 MB 1 1.50 at 10",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestBenchstat: every sample is a line that benchstat reads: name, count, value, unit.
func TestBenchstat(t *testing.T) {
	var out bytes.Buffer
	if err := writeBenchstat(&out, sample()); err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		lines++
		if f := strings.Fields(line); len(f) != 4 || f[1] != "1" || f[3] != "ns/op" && f[3] != "B" {
			t.Errorf("%q", line)
		}
	}
	if lines != 12 || !strings.Contains(out.String(), "BenchmarkClassify/time/events=1000/who=theirs-") ||
		!strings.Contains(out.String(), "\t9000000 ns/op\n") {
		t.Errorf("%d lines:\n%s", lines, &out)
	}
}

// TestPlots: a picture for each question that was put at more than one size, with a
// line for each who was there.
func TestPlots(t *testing.T) {
	dir := t.TempDir()
	if err := drawAll(dir, sample()); err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string]int{"classify-time.svg": 2, "memory-ours.svg": 1} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(svg, []byte(`class="line `)); n != lines ||
			!bytes.HasPrefix(svg, []byte(`<svg xmlns=`)) || bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%s has %d lines: %.300s", name, n, svg)
		}
	}
}

// TestRepeated: as many whole records as asked for, no id of which comes twice.
func TestRepeated(t *testing.T) {
	lines := [][]byte{
		[]byte(`{"message_id": "a", "thread_id": null}` + "\n"),
		[]byte(`{"message_id": "b", "thread_id": "a"}` + "\n"),
	}
	text, err := io.ReadAll(&repeated{lines: lines, left: 5})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for line := range bytes.Lines(text) {
		var e struct {
			ID     string  `json:"message_id"`
			Thread *string `json:"thread_id"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Thread != nil && !ids[*e.Thread] {
			t.Errorf("%q continues what was not said", line)
		}
		ids[e.ID] = true
	}
	if len(ids) != 5 {
		t.Errorf("%d ids: %q", len(ids), text)
	}
}
