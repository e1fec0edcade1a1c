package sample

import (
	"context"
	"errors"
	"io"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Sampler has the settings of the reports on the filter.
type Sampler struct {
	Home    *durable.Home
	Config  *config.Config
	Compile Compile
	Words   func(reason string) string // translates a reason for people
	In      io.Reader                  // input of the person who labels
	Show    io.Writer                  // where messages are shown to that person
	Say     func(format string, args ...any)
	By      string
	Now     time.Time
}

// Diff runs the home's rules and those of another configuration over the home's events, or over
// files, and keeps the newest limit changes; 0 means all.
func (d *Sampler) Diff(ctx context.Context, file string, files []string, limit int) (*Diff, error) {
	other, err := config.Load(file)
	if err != nil {
		return nil, err
	}
	before, err := d.Compile(d.Config)
	if err != nil {
		return nil, err
	}
	after, err := d.Compile(other)
	if err != nil {
		return nil, err
	}
	in, err := history(d.Home, files, d.Say)
	if err != nil {
		return nil, err
	}
	return compare(ctx, in, before, after, limit, d.Words)
}

// Order selects the sample.
type Order struct {
	Window time.Duration // time before the newest message that is not of the future; 0 means all
	Sample int
	Seed   int64 // 0: that of the last label, else from the clock
	Ask    bool
	// Actionable draws from the messages taken for actionable, not from the dropped ones.
	Actionable bool
}

// Audit draws a sample of messages, lets a person label those without a label, and returns
// the estimate.
func (d *Sampler) Audit(ctx context.Context, o Order) (Estimate, error) {
	if o.Sample < 1 || o.Window < 0 {
		return Estimate{}, sysexit.With(sysexit.Usage,
			errors.New("audit: the sample must be at least 1, the window not negative"))
	}
	labels, err := readLabels(d.Home)
	if err != nil {
		return Estimate{}, err
	}
	f, err := readFrame(ctx, d.Home, d.Now)
	if err != nil {
		return Estimate{}, err
	}
	s := f.sample(f.version, labels, o)
	if o.Ask {
		r := reader{Home: d.Home, By: d.By, In: d.In, Out: d.Show, Now: time.Now}
		if err := r.Label(ctx, s, labels); err != nil {
			return Estimate{}, err
		}
	}
	e := s.Estimate(labels)
	all := count(labels, func(_ string, before bool) bool { return before },
		f.sample(s.Version, labels, Order{Window: o.Window, Seed: s.Seed, Actionable: o.Actionable}),
		f.sample(s.Version, labels, Order{Window: o.Window, Actionable: !o.Actionable}))
	e.Counts = all.counts()
	return e, nil
}
