package classify

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tri/lib/base/stream"
)

func TestReadModel(t *testing.T) {
	lex := classifier(t, Options{}).lex
	m, err := readModel("start\t-\t1\t2\nquestion-mark\t0\t3\t4\nwords\twhy\t5\t6\n"+
		"words\tno pack has it\t7\t8\n", lex)
	if err != nil || m.start != (weight{1, 2}) || m.values[featureAt[marked]] != (weight{3, 4}) ||
		m.words[lex.lookup([]byte("why"))] != 5 || m.words[unknown] != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		"start\t-\t1":                   "model:1: want a name, a value and two numbers",
		"start\t-\t1\t2\nmark\t0\t1\t1": `model:2: no feature "mark"`,
		"question-mark\t1\t1\t1":        `model:1: question-mark has no value "1"`,
		"question-mark\t0\t1\t99999":    "model:1: want a name, a value and two numbers",
	} {
		if _, err := readModel(text, lex); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSum: the points that --explain shows add up to the sum, and the sum is on the side of the class.
func TestSum(t *testing.T) {
	var in strings.Builder
	for _, l := range append(chatter(300, 200), criss()...) {
		in.WriteString(l.event())
	}
	var out bytes.Buffer
	if _, err := stream.Run(t.Context(), stream.Input{Stdin: strings.NewReader(in.String()), After: -1},
		stream.Output{Stdout: &out}, classifier(t, Options{}).Explain()); err != nil {
		t.Fatal(err)
	}
	sums := 0
	for _, text := range strings.Split(out.String(), "\n    ") {
		sum, shares, ok := strings.Cut(text, " points, actionable from 0:")
		if !ok {
			continue
		}
		sums++
		want, err := strconv.Atoi(sum)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range regexp.MustCompile(` [+-]\d+ `).FindAllString(shares, -1) {
			n, _ := strconv.Atoi(strings.TrimSpace(share))
			want -= n
		}
		if want != 0 {
			t.Errorf("%s is %d off", text, want)
		}
	}
	if sums < 50 {
		t.Errorf("%d sums", sums)
	}
}
