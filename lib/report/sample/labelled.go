package sample

import (
	"time"

	"tri/lib/base/durable"
)

// Labelled is the estimate that the labels of a time make by themselves, without
// drawing their sample again: those of the newest seed and version. Messages are
// shown in the order of drawing, so that what is labelled is a simple random
// sample of the frame that the last label names.
func Labelled(h *durable.Home, from time.Time) (Estimate, error) {
	labels, err := ReadLabels(h)
	if err != nil {
		return Estimate{}, err
	}
	var newest Label
	for _, l := range labels.all {
		if l.At > newest.At {
			newest = l
		}
	}
	e := Estimate{Version: newest.ClassifierVersion, Seed: newest.Seed, Frame: newest.Frame, Sample: newest.Sample, Target: target}
	for _, l := range labels.all {
		at, err := time.Parse(time.RFC3339, l.At)
		if l.Seed != e.Seed || l.ClassifierVersion != e.Version || err != nil || at.Before(from) {
			continue
		}
		switch l.Label {
		case Skip:
			e.Skipped++
			continue
		case Miss:
			e.Misses++
		}
		e.Labels++
	}
	e.judge()
	return e, nil
}

// Missed is what a fortnight's labels say of the filter (triage AC-11): misses per
// 100 dropped messages with their bounds, and how many labels there are.
func (d *Desk) Missed() (rate, low, high float64, n int, err error) {
	e, err := Labelled(d.Home, d.Now.Add(-14*24*time.Hour))
	return e.Rate, e.Low, e.High, e.Labels, err
}
