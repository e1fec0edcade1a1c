package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// judged returns a verdict of a drill as a line.
func judged(of, fault, verdict string, decidable bool) string {
	line, err := json.Marshal(Marked{verdict, "code",
		&draft.Drill{Fault: fault, Of: of, Decidable: decidable, Seed: 3}})
	if err != nil {
		panic(err)
	}
	return string(line) + "\n"
}

func read(t testing.TB, in string) (*Score, error) {
	t.Helper()
	return Read(context.Background(), stream.Input{Stdin: strings.NewReader(in), After: -1, Say: t.Logf})
}

func TestScore(t *testing.T) {
	type counts = map[string][4]int // planted, caught, missed, void
	one := judged("a", None, "pass", false) + judged("a", BadPath, "bounce", true) +
		judged("a", Secret, "escalate", true)
	for _, c := range []struct {
		name, in string
		ok       bool
		want     counts
		doubled  int
	}{
		{"all caught", one, true, counts{BadPath: {1, 1, 0, 0}, Secret: {1, 1, 0, 0}}, 0},
		{"in another order", judged("a", BadPath, "bounce", true) + judged("a", None, "pass", false), true,
			counts{BadPath: {1, 1, 0, 0}}, 0},
		{"one missed", one + judged("b", None, "pass", false) + judged("b", Secret, "pass", true), false,
			counts{BadPath: {1, 1, 0, 0}, Secret: {2, 1, 1, 0}}, 0},
		{"one missed that nothing decides", one + judged("a", InvertedNumber, "pass", false), true,
			counts{BadPath: {1, 1, 0, 0}, Secret: {1, 1, 0, 0}, InvertedNumber: {1, 0, 1, 0}}, 0},
		{"everything refused proves nothing",
			judged("c", None, "bounce", false) + judged("c", BadPath, "bounce", true), false,
			counts{BadPath: {1, 0, 0, 1}}, 0},
		{"no good one proves nothing", judged("c", BadPath, "bounce", true), false,
			counts{BadPath: {1, 0, 0, 1}}, 0},
		{"doubled", one + one, true, counts{BadPath: {1, 1, 0, 0}, Secret: {1, 1, 0, 0}}, 3},
		{"doubled, and once missed", one + judged("a", BadPath, "pass", true) +
			judged("a", BadPath, "bounce", true), false,
			counts{BadPath: {1, 0, 1, 0}, Secret: {1, 1, 0, 0}}, 2},
		{"doubled, and once a false alarm",
			one + judged("a", None, "bounce", false) + judged("a", None, "pass", false), false,
			counts{BadPath: {1, 0, 0, 1}, Secret: {1, 0, 0, 1}}, 2},
	} {
		s, err := read(t, c.in)
		if err != nil {
			t.Fatal(err)
		}
		got := counts{}
		for _, f := range s.Faults {
			got[f.Fault] = [4]int{f.Planted, f.Caught, f.Missed, f.Void}
		}
		if s.Ok() != c.ok || !reflect.DeepEqual(got, c.want) || s.Doubled != c.doubled ||
			!slices.Equal(s.Seeds, []int64{3}) || !slices.Equal(s.Validators, []string{"code"}) {
			t.Errorf("%s: ok %v, %+v", c.name, s.Ok(), s)
		}
	}
}

func TestNothingToScore(t *testing.T) {
	if _, err := read(t, ""); err == nil {
		t.Error("no verdicts at all score well")
	}
	for _, foreign := range []string{`{"verdict":"pass"}`,
		`{"verdict":"pass","drill":{"fault":"bad_hair","of":"a"}}`, `{"drill":{"fault":"none","of":"a"}}`,
		`{"verdict":"pass","drill":{"fault":"none","of":""}}`} {
		_, err := read(t, foreign+"\n")
		if status, _ := sysexit.Of(err); status != sysexit.Data {
			t.Errorf("%s: %v", foreign, err)
		}
	}
}

// TestLost: a missing verdict is reported.
func TestLost(t *testing.T) {
	mark, err := json.Marshal(Marked{"pass", "code", &draft.Drill{Fault: None, Of: "a", Seed: 3, Planted: 3}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := read(t, string(mark)+"\n"+judged("a", BadPath, "bounce", true))
	if err != nil || s.Lost != 2 {
		t.Errorf("lost %d, %v", s.Lost, err)
	}
}

func TestTable(t *testing.T) {
	s, err := read(t, judged("a", None, "pass", false)+judged("a", BadPath, "bounce", true)+
		judged("a\x1b[2J", InvertedNumber, "pass", false))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := s.Table(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bad_path                1      1      0    0  100.0% (20.7 to 100.0)",
		"of which the cited lines say nothing:\ninverted_number         1      0      1    0    0.0%",
		"good returns: 1, of which 1 passed; false alarms   0.0%",
		"missed: inverted_number in a<U+001B>[2J"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestKeep: the log has one line per score, and no home is created for it.
func TestKeep(t *testing.T) {
	s, err := read(t, judged("a", None, "pass", false)+judged("a", BadPath, "bounce", true))
	if err != nil {
		t.Fatal(err)
	}
	s.Stamp("v1", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("TRI_HOME", home)
	if err := s.Keep(""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("a home was made")
	}
	for range 2 {
		if err := s.Keep(home); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(filepath.Join(home, File))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	var back Score
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &back); err != nil || len(lines) != 2 ||
		!reflect.DeepEqual(&back, s) {
		t.Errorf("%d lines, %v, %+v", len(lines), err, back)
	}
}

// FuzzScore: repeated, missing or foreign verdicts never make the count wrong: each fault is
// counted once, as caught, missed or void, and nothing is proved unless one was caught.
func FuzzScore(f *testing.F) {
	one := judged("a", None, "pass", false) + judged("a", BadPath, "bounce", true)
	f.Add(one)
	f.Add(one + one)
	f.Add(judged("a", BadPath, "pass", true) + "{\"verdict\":\"pass\"}\n")
	f.Add(`{"verdict":"pass","drill":{"fault":"none","of":"a","planted":-9,"seed":9223372036854775807}}` +
		"\n")
	f.Add("[]\nnull\n{\"drill\":null}\n")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := read(t, in)
		if s == nil {
			t.Fatal("no score", err)
		}
		caught := 0
		for _, c := range s.Faults {
			if c.Caught+c.Missed+c.Void != c.Planted || c.Planted < 1 || c.Low < 0 || c.High > 1 ||
				c.Low > c.High {
				t.Errorf("%+v", c)
			}
			caught += c.Caught
		}
		if s.Good.Passed > s.Good.Total || s.Lost < 0 || s.Doubled < 0 || s.Ok() && caught == 0 ||
			caught > 0 && s.Good.Passed == 0 {
			t.Errorf("%+v", s)
		}
	})
}
