package sample

import (
	"time"

	"tri/lib/base/durable"
)

// labelled returns the estimate from the labels of a period, for the newest seed and version,
// without drawing the sample again. Messages are shown in the random order, so the labelled ones
// are a simple random sample of the frame that the last label records.
func labelled(h *durable.Home, from time.Time) (Estimate, error) {
	labels, err := readLabels(h)
	if err != nil {
		return Estimate{}, err
	}
	var newest Label
	for _, l := range labels.all {
		if l.At > newest.At && dropped(l.Classification) {
			newest = l
		}
	}
	e := Estimate{Of: Nothing, Version: newest.ClassifierVersion, Seed: newest.Seed, Frame: newest.Frame,
		Sample: newest.Sample, Target: target}
	for _, l := range labels.all {
		at, err := time.Parse(time.RFC3339, l.At)
		if !dropped(l.Classification) ||
			l.Seed != e.Seed || l.ClassifierVersion != e.Version || err != nil || at.Before(from) {
			continue
		}
		switch l.Label {
		case Skip:
			e.Skipped++
			continue
		case Opens, Follows:
			e.Misses++
		}
		e.Labels++
	}
	e.judge()
	return e, nil
}

// Missed returns the estimate from the labels of the last seven days: misses per 100 dropped
// messages with bounds, and the number of labels.
func (d *Sampler) Missed() (rate, low, high float64, n int, err error) {
	e, err := labelled(d.Home, d.Now.Add(-7*24*time.Hour))
	return e.Rate, e.Low, e.High, e.Labels, err
}
