package classify

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/base/stream"
	"tri/lib/record/event"
)

func TestReadModel(t *testing.T) {
	lex := classifier(t, Options{}).lex
	m, err := readModel("start\t-\t1\t2\t3\nquestion-mark\t0\t3\t4\t5\nwords\twhy\t5\t6\t7\n"+
		"words\tno pack has it\t7\t8\t9\nwords\t\t-1\t0\t-2\n", lex)
	if err != nil || m.start != (weight{1, 2, 3}) || m.values[featureAt[marked]] != (weight{3, 4, 5}) ||
		m.words[lex.lookup([]byte("why"))] != (wordWeight{5, 7}) || m.words[unknown] != (wordWeight{-1, -2}) {
		t.Errorf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		"start\t-\t1\t2":                      "model:1: want a name, a value and three numbers",
		"start\t-\t1\t2\t3\nmark\t0\t1\t1\t1": `model:2: no feature "mark"`,
		"question-mark\t1\t1\t1\t1":           `model:1: question-mark has no value "1"`,
		"question-mark\t0\t1\t1\t99999":       "model:1: want a name, a value and three numbers",
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

// TestWordsAcknowledge: a statement whose words have points for it is an acknowledgement, from the ninth
// message of a room.
func TestWordsAcknowledge(t *testing.T) {
	c := classifier(t, Options{Model: "start\t-\t0\t100\t-100\nwords\tsense\t0\t0\t200\n" +
		"words\t\t0\t0\t-300\n"})
	var in strings.Builder
	for i := range 60 {
		l := utterance{seq: int64(200 * i), at: int64(1000 + 10*i), id: strconv.Itoa(i), from: "u",
			text: "it is red"}
		if said := map[int]string{0: "there is sense in it", 7: "there is sense in it",
			8: "there is sense in it", 56: "there is sense in it, it fails",
			57: "there is sense in it", 58: "is there sense in it?",
			59: "there is sense in zyx"}[i]; said != "" {
			l.text = said
		}
		in.WriteString(l.event())
	}
	out := run(t, c, in.String())
	for i, want := range map[int]bool{0: false, 7: false, 8: true, 56: false, 57: true, 58: false,
		59: false} {
		if e := out[i]; e.IsAckOrEmoji != want || slices.Contains(e.Reasons, "sign:acknowledges") != want ||
			i > 7 && (e.Classification == event.Actionable) == want {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// TestEarly: among a room's first 50 messages the rules alone judge a newcomer's remark to no one, and other
// languages than English.
func TestEarly(t *testing.T) {
	c := classifier(t, Options{Model: "start\t-\t0\t100\t-100\n"})
	var in strings.Builder
	said := map[int]utterance{
		20: {from: "v", text: "the plant has a new leaf"}, 21: {from: "w", text: "my plant has a new leaf"},
		22: {from: "u", text: "the plant has a new leaf"}, 23: {from: "u", text: "servernya sudah jalan lagi ya"},
		56: {from: "x", text: "the plant has a new leaf"}, 57: {from: "u", text: "servernya sudah jalan lagi ya"},
	}
	for i := range 60 {
		l, ok := said[i]
		if !ok {
			l = utterance{from: "u", text: "it is red"}
		}
		l.seq, l.at, l.id = int64(200*i), int64(1000+10*i), strconv.Itoa(i)
		in.WriteString(l.event())
	}
	out := run(t, c, in.String())
	for i, want := range map[int]bool{7: false, 8: true, 20: false, 21: true, 22: true, 23: false, 56: true,
		57: true} {
		if got := out[i].Classification == event.Actionable; got != want {
			t.Errorf("%d: %q is %s %v", i, out[i].Content, out[i].Classification, out[i].Reasons)
		}
	}
}

// TestActionableFrom: a lower point calls the same messages actionable and some more, and is the one that
// --explain names.
func TestActionableFrom(t *testing.T) {
	var in strings.Builder
	for _, l := range append(chatter(300, 200), criss()...) {
		in.WriteString(l.event())
	}
	at := func(from int) []event.Classified {
		return run(t, classifier(t, Options{Config: config.Classifier{ActionableFrom: from}}), in.String())
	}
	few, some, many := at(100), at(0), at(-100)
	var more [2]int
	for i := range some {
		for step, pair := range [][2]event.Classified{{few[i], some[i]}, {some[i], many[i]}} {
			was, is := pair[0].Classification == event.Actionable, pair[1].Classification == event.Actionable
			if was && !is {
				t.Errorf("%s: actionable at a higher point only", some[i].MessageID)
			}
			more[step] += bit(is && !was)
		}
	}
	if more[0] < 10 || more[1] < 10 {
		t.Errorf("%d and %d messages more", more[0], more[1])
	}
	var out bytes.Buffer
	c := classifier(t, Options{Config: config.Classifier{ActionableFrom: -70}})
	if _, err := stream.Run(t.Context(), stream.Input{Stdin: strings.NewReader(in.String()), After: -1},
		stream.Output{Stdout: &out}, c.Explain()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), " points, actionable from -70: ") {
		t.Errorf("--explain does not name the point:\n%s", out.String())
	}
}
