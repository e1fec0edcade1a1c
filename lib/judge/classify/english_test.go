package classify

import "testing"

// TestEnglish bounds how right the filter is on short English messages by
// themselves, in testdata/english. The tuned half shows its errors. The untouched
// half, which was written before the rules were tuned, shows only its figures.
func TestEnglish(t *testing.T) {
	c := classifier(t, Options{})
	for _, half := range []struct {
		name  string
		least float64
	}{{"tuned", 0.94}, {"untouched", 0.92}} {
		var asks, acks score
		all := samples(t, "testdata/english/"+half.name+".tsv")
		for _, s := range all {
			e := run(t, c, says(s.text))[0]
			asks.add(s.kind == "question", e.IsQuestion && !e.IsAckOrEmoji)
			acks.add(s.kind == "ack", e.IsAckOrEmoji)
			if half.name == "tuned" && (s.kind == "question" != e.IsQuestion ||
				s.kind == "ack" != e.IsAckOrEmoji) {
				t.Logf("%s %q: %v", s.kind, s.text, e.Reasons)
			}
		}
		t.Logf("%-9s question %.3f %+v  ack %.3f %+v", half.name, asks.f1(), asks, acks.f1(), acks)
		if len(all) < 300 || asks.f1() < half.least || acks.f1() < half.least {
			t.Errorf("%s: F1 of questions %.2f, of acks %.2f, want %.2f", half.name, asks.f1(),
				acks.f1(), half.least)
		}
	}
}
