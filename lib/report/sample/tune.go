package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/event"
)

// points are the values of classifier.actionable_from that are compared, beside the present one.
var points = []int{-150, -100, -50, 0, 50, 100, 150}

// Tuning is what the labels say of each value of classifier.actionable_from, lowest first.
type Tuning []Point

// Point is one value.
type Point struct {
	From    int  `json:"actionable_from"`
	Present bool `json:"present"` // the home's own
	Counts
}

// Tune runs the home's rules with each value over the home's messages, and compares what they call with the
// labels of the version of the rules that was labelled last. Nothing is changed.
func (d *Sampler) Tune(ctx context.Context, window time.Duration) (Tuning, error) {
	if window < 0 {
		return nil, sysexit.With(sysexit.Usage, errors.New("tune: the window must not be negative"))
	}
	labels, err := readLabels(d.Home)
	if err != nil {
		return nil, err
	}
	f, err := readFrame(ctx, d.Home, d.Now)
	if err != nil {
		return nil, err
	}
	version := labels.version()
	if version == "" {
		version = f.version
	}
	drops := f.sample(version, labels, Order{Window: window})
	calls := f.sample(version, labels, Order{Window: window, Actionable: true})
	present := d.Config.Classifier.ActionableFrom
	all := append(slices.Clone(points), present)
	slices.Sort(all)
	var t Tuning
	for _, from := range slices.Compact(all) {
		now, err := d.calledFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		c := count(labels, func(key string, _ bool) bool { return now[key] }, drops, calls)
		t = append(t, Point{from, from == present, c.counts()})
	}
	return t, nil
}

// calledFrom returns the keys of the messages that the home's rules call actionable with a value of
// classifier.actionable_from.
func (d *Sampler) calledFrom(ctx context.Context, from int) (map[string]bool, error) {
	cfg := *d.Config
	cfg.Classifier.ActionableFrom = from
	rules, err := d.Compile(&cfg)
	if err != nil {
		return nil, err
	}
	now := map[string]bool{}
	in := stream.Input{Files: []string{d.Home.Path(classifiedLog)}, After: -1}
	err = each(ctx, rules, in, func(line []byte) error {
		v := gjson.GetManyBytes(line, "platform", "chat_id", "message_id", "classification")
		if v[3].String() == event.Actionable {
			m := drop{platform: v[0].String(), chat: v[1].String(), message: v[2].String()}
			now[m.key()] = true
		}
		return nil
	})
	return now, err
}

// Print writes the values as a table, and how to set one.
func (t Tuning) Print(w io.Writer) error {
	var b strings.Builder
	t[0].head(&b)
	fmt.Fprintf(&b, "%25s  %s\n%15s  %7s  %-18s  %-18s  %s\n", "", "of 100, with 95% interval:", "actionable_from",
		"called", "openings missed", "called for nothing", "misses of dropped")
	same := true
	for _, p := range t {
		mark := ""
		if p.Present {
			mark = "now"
		}
		row := fmt.Sprintf("%3s %11d", mark, p.From)
		for i, name := range []string{called, missed, needless, misses} {
			f := p.figure(name)
			switch {
			case f.Rate == nil:
				row += fmt.Sprintf("  %-18s", "too few labels")
			case i == 0:
				row += fmt.Sprintf("  %6.1f%%", *f.Rate)
			default:
				row += fmt.Sprintf("  %-18s", fmt.Sprintf("%.1f (%.1f-%.1f)", *f.Rate, *f.Low, *f.High))
			}
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
		same = same && p.figure(called).Found == t[0].figure(called).Found
	}
	b.WriteString("\n")
	if same {
		b.WriteString("No value changes what is called: in threads of the platform, and in a room of which\n" +
			"little was read, the rules alone decide.\n")
	}
	fmt.Fprintf(&b, "of the labelled messages %d asked something new, and %d needed no answer\n",
		t[0].figure(missed).N, t[0].figure(needless).N)
	t[0].foot(&b)
	b.WriteString(`Nothing has been changed. To try a value, write it into a copy of config.yaml,
    classifier: {actionable_from: -50}
and "tri-report diff COPY" lists the messages that change. In config.yaml itself it counts from
the next start on; then label messages anew (tri-report audit) to measure it.
`)
	_, err := io.WriteString(w, b.String())
	return sysexit.With(sysexit.IO, err)
}

// WriteJSON writes one record per value.
func (t Tuning) WriteJSON(w io.Writer) error { return ndjson.Write(w, t...) }
