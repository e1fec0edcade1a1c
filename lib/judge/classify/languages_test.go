package classify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sample is one message of testdata/languages, whose README says what its kind
// means.
type sample struct{ kind, text string }

func (s sample) asks() bool {
	return s.kind == "mark" || s.kind == "bare" || s.kind == "request" || s.kind == "mixed"
}

func (s sample) acks() bool { return s.kind == "ack" || s.kind == "thanks" }

func samples(t *testing.T, file string) []sample {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		kind, text, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("%s: %q has no tab", file, line)
		}
		all = append(all, sample{kind, text})
	}
	return all
}

// score counts how often the result is right.
type score struct{ right, wrong, missed int }

func (s *score) add(want, got bool) {
	switch {
	case want && got:
		s.right++
	case got:
		s.wrong++
	case want:
		s.missed++
	}
}

func (s score) f1() float64 {
	return float64(2*s.right) / float64(2*s.right+s.wrong+s.missed)
}

// TestLanguages bounds how right the packs are on messages that their writer
// made up. The tuned half shows its errors; the untouched half only its figures.
func TestLanguages(t *testing.T) {
	c := classifier(t, Options{})
	for _, half := range []struct {
		name         string
		least        float64
		leastOverall float64
	}{{"tuned", 0.85, 0.97}, {"untouched", 0.85, 0.95}} {
		files, err := filepath.Glob("testdata/languages/*." + half.name + ".tsv")
		if err != nil || len(files) < 14 {
			t.Fatalf("%d files: %v", len(files), err)
		}
		var allAsks, allAcks score
		for _, file := range files {
			lang, _, _ := strings.Cut(filepath.Base(file), ".")
			var asks, acks score
			langs, n := 0, 0
			for _, s := range samples(t, file) {
				e := run(t, c, says(s.text))[0]
				n++
				if e.Lang == lang {
					langs++
				} else if half.name == "tuned" {
					t.Logf("%s %s %q: language %q", lang, s.kind, s.text, e.Lang)
				}
				if s.kind == "problem" {
					continue
				}
				for _, sum := range []*score{&asks, &allAsks} {
					sum.add(s.asks(), e.IsQuestion && !e.IsAckOrEmoji)
				}
				for _, sum := range []*score{&acks, &allAcks} {
					sum.add(s.acks(), e.IsAckOrEmoji)
				}
				if half.name == "tuned" && (s.asks() != (e.IsQuestion && !e.IsAckOrEmoji) ||
					s.acks() != e.IsAckOrEmoji) {
					t.Logf("%s %s %q: %v", lang, s.kind, s.text, e.Reasons)
				}
			}
			t.Logf("%-9s %-3s question %.2f  ack %.2f  language %d of %d", half.name, lang, asks.f1(),
				acks.f1(), langs, n)
			if asks.f1() < half.least || acks.f1() < half.least {
				t.Errorf("%s, %s: F1 of questions %.2f, of acks %.2f, want %.2f", lang, half.name, asks.f1(),
					acks.f1(), half.least)
			}
		}
		t.Logf("%-9s all question %.3f  ack %.3f", half.name, allAsks.f1(), allAcks.f1())
		if allAsks.f1() < half.leastOverall || allAcks.f1() < half.leastOverall {
			t.Errorf("%s: F1 of questions %.2f, of acks %.2f, want %.2f", half.name, allAsks.f1(),
				allAcks.f1(), half.leastOverall)
		}
	}
}
