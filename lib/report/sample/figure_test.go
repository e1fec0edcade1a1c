package sample

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// TestFigures compares the figures of known labels with those computed by hand.
func TestFigures(t *testing.T) {
	var all cells
	all[0][0] = cell{400, [kinds]int{2, 3, 35}} // a labelled message counts for ten
	all[1][1] = cell{200, [kinds]int{20, 7, 13}}
	c := all.counts()
	for name, want := range map[string]struct {
		found, n int
		rate     float64
	}{
		missed:   {2, 22, 100 * 20.0 / 120},
		needless: {13, 48, 100 * 65.0 / 415},
		lost:     {3, 10, 100 * 30.0 / 65},
		called:   {200, 600, 100.0 / 3},
		misses:   {5, 40, 12.5},
	} {
		f := c.figure(name)
		if f.Rate == nil || f.Found != want.found || f.N != want.n || math.Abs(*f.Rate-want.rate) > 1e-9 ||
			*f.Low > *f.Rate || *f.High < *f.Rate || (name == called) != (*f.Low == *f.High) {
			t.Errorf("%s: %+v, want %+v", name, f, want)
		}
	}
	low, high := interval(5, 40, 400) // of one cell, so exact
	if f := c.figure(misses); math.Round(4**f.Low) != float64(low) || math.Round(4**f.High) != float64(high) {
		t.Errorf("misses: %g to %g, want %d to %d of 400", *f.Low, *f.High, low, high)
	}
}

// TestFewFigures: no rate of a side with fewer than 20 labels, nor of fewer than 10 messages of a kind,
// unless all messages are labelled.
func TestFewFigures(t *testing.T) {
	for _, tt := range []struct {
		dropped, called cell
		have            []string
	}{
		{cell{400, [kinds]int{4, 0, 15}}, cell{200, [kinds]int{30, 10, 10}}, []string{called}},
		{cell{400, [kinds]int{4, 0, 16}}, cell{200, [kinds]int{4, 0, 15}}, []string{called, misses}},
		{cell{400, [kinds]int{4, 0, 16}}, cell{200, [kinds]int{5, 11, 14}},
			[]string{needless, lost, called, misses}},
		{cell{9, [kinds]int{4, 0, 5}}, cell{3, [kinds]int{1, 1, 1}},
			[]string{missed, needless, lost, called, misses}},
		{cell{400, [kinds]int{4, 0, 16}}, cell{}, []string{needless, called, misses}},
		{cell{}, cell{}, nil},
	} {
		c := (&cells{{tt.dropped}, {1: tt.called}}).counts()
		var have []string
		for _, f := range c.Figures {
			if f.Rate != nil {
				have = append(have, f.Name)
			} else if f.Lacks == "" && f.Name != called {
				t.Errorf("%+v: nothing says why there is no rate", f)
			}
		}
		if !slices.Equal(have, tt.have) {
			t.Errorf("%+v %+v: %v, want %v", tt.dropped, tt.called, have, tt.have)
		}
		var b strings.Builder
		c.print(&b)
		for _, l := range strings.Split(b.String(), "\n") {
			if len(l) > 90 {
				t.Errorf("%d characters wide: %s", len(l), l)
			}
		}
	}
}

// TestFiguresCover draws both samples again and again from known windows: the bounds contain the true share
// at least as often as they promise.
func TestFiguresCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, window := range []struct {
		dropped, called [kinds]int // messages
		moved           int        // of those recorded as dropped, called now: these of each kind
	}{
		{[kinds]int{20, 20, 360}, [kinds]int{90, 60, 150}, 0},
		{[kinds]int{3, 3, 500}, [kinds]int{200, 60, 150}, 0},
		{[kinds]int{60, 20, 360}, [kinds]int{60, 60, 60}, 15},
		{[kinds]int{120, 20, 360}, [kinds]int{60, 60, 60}, 90},
	} {
		all := window.dropped[opens] + window.called[opens]
		truth := float64(window.dropped[opens]-window.moved) / float64(all)
		covered, drawn := 0, 0
		for range 1000 {
			var all cells
			for side, messages := range [][kinds]int{window.dropped, window.called} {
				var order [][2]int // kind, and whether it is called now
				for kind, n := range messages {
					for i := range n {
						now := bit(side == 1 || i < window.moved)
						all[side][now].n++
						order = append(order, [2]int{kind, now})
					}
				}
				rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				for _, m := range order[:40] {
					all[side][m[1]].of[m[0]]++
				}
			}
			c := all.counts()
			if f := c.figure(missed); f.Rate != nil {
				drawn++
				covered += bit(*f.Low <= 100*truth && 100*truth <= *f.High)
			}
		}
		if drawn < 500 || float64(covered) < 0.95*float64(drawn) {
			t.Errorf("%+v: %d of %d intervals contain %.3f", window, covered, drawn, truth)
		}
	}
}

// TestTune: each value is measured by the labels of both samples, the present one is marked, and a home's
// rules of another version keep the labels.
func TestTune(t *testing.T) {
	h, err := durable.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	var log, labels strings.Builder
	for i := range 100 { // worth i points; those from 50 on were called, those from 40 on ask something
		class, label := "ambient", Nothing
		if i >= 50 {
			class = "actionable"
		}
		if i >= 40 {
			label = Opens
		}
		fmt.Fprintf(&log, `{"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"%d","create_time":"2026-01-01T00:%02d:00Z","msg_type":"text","content":"x","thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[],"classification":%q,"classifier_version":"v1","reasons":[]}`+"\n",
			i, i%60, class)
		fmt.Fprintf(&labels, `{"at":"2026-01-01T01:00:00Z","by":"ana","platform":"local","chat_id":"dev","message_id":"%d","classifier_version":"v1","classification":%q,"label":%q,"seed":7,"rank":1,"frame":50,"sample":50}`+"\n",
			i, class, label)
	}
	for name, text := range map[string]string{classifiedLog: log.String(), File: labels.String()} {
		if err := h.Replace(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	d, _ := desk(t, h, nil)
	d.Config.Classifier.ActionableFrom = 45
	d.Compile = func(cfg *config.Config) (Rules, error) {
		return func(ctx context.Context, in stream.Input, out io.Writer) error {
			_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
				class := "ambient"
				if int(gjson.GetBytes(rec.Bytes, "message_id").Int()) >= cfg.Classifier.ActionableFrom {
					class = "actionable"
				}
				_, err := fmt.Fprintf(out, `{"platform":"local","chat_id":"dev","message_id":%q,"classification":%q}`+"\n",
					gjson.GetBytes(rec.Bytes, "message_id").Str, class)
				return err
			})
			return err
		}, nil
	}
	tuned, err := d.Tune(t.Context(), 0)
	if err != nil || len(tuned) != len(points)+1 {
		t.Fatalf("%+v, %v", tuned, err)
	}
	for from, want := range map[int][4]float64{ // called, openings missed, called for nothing, misses
		0: {100, 0, 100, -1}, 45: {55, 100 * 5.0 / 60, 0, 100 * 5.0 / 45}, 50: {50, 100 * 10.0 / 60, 0, 20},
		100: {0, 100, 0, 60},
	} {
		p := tuned[slices.IndexFunc(tuned, func(p Point) bool { return p.From == from })]
		if p.Present != (from == 45) {
			t.Errorf("%d: present is %t", from, p.Present)
		}
		for i, name := range []string{called, missed, needless, misses} {
			f := p.figure(name)
			if want[i] < 0 != (f.Rate == nil) || f.Rate != nil && math.Abs(*f.Rate-want[i]) > 1e-9 {
				t.Errorf("%d: %+v, want %g", from, f, want[i])
			}
		}
	}
	d.Now = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC) // before any message
	var none bytes.Buffer
	if tuned, err := d.Tune(t.Context(), time.Minute); err != nil || tuned.Print(&none) != nil ||
		!strings.Contains(none.String(), "--window 0 takes all") {
		t.Errorf("%v\n%s", err, &none)
	}
	var out bytes.Buffer
	if err := tuned.Print(&out); err != nil || !strings.Contains(out.String(), "\nnow          45    55.0%  8.3 ") ||
		strings.Contains(out.String(), "No value") {
		t.Errorf("%v\n%s", err, &out)
	}
}
