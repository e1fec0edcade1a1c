package approve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/notice"
)

// Notices lists the forms of notices, with their texts and who has approved them.
func (t *Terminal) Notices() error {
	s, err := t.folded()
	if err != nil {
		return err
	}
	names := slices.Collect(maps.Keys(notice.Forms))
	for _, name := range append(names, s.FormNames()...) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		form, by := s.Form(name)
		state := "approved by " + text.Line(fmt.Sprint(by), 60)
		if form == "" {
			form, state = notice.Forms[name], "not approved"
		}
		fmt.Fprintf(t.Out, "%s  %s  (%s)\n", name, form, state)
	}
	return nil
}

// AddNotice approves a form by its exact text, "" for the proposed one, after showing what it can say.
func (t *Terminal) AddNotice(name, form string) error {
	if form == "" {
		form = notice.Forms[name]
	}
	if err := cmp.Or(notice.Check(name, form), notice.Filled(name, form)); err != nil {
		return sysexit.With(sysexit.Usage, err)
	}
	for _, said := range notice.Extremes(form) {
		fmt.Fprintf(t.Out, "  │ %s\n", said)
	}
	return t.form(decision.Record{Kind: decision.Notice, Form: name, Text: form,
		DraftSHA256: decision.Sum(form)})
}

// RevokeNotice takes a form back at once.
func (t *Terminal) RevokeNotice(name string) error {
	return t.form(decision.Record{Kind: decision.Retract, Form: name, DraftSHA256: decision.Sum("")})
}

// form appends a record about a form, if it counts.
func (t *Terminal) form(r decision.Record) error {
	s, err := t.folded()
	if err != nil {
		return err
	}
	r.Key, r.Cycle = decision.FormKey(r.Form), 1
	r.By, r.Via, r.At = t.By, t.Via, text.Timestamp(t.Now())
	if counts, why := s.Add(r); !counts {
		return sysexit.With(sysexit.No, errors.New("nothing was recorded: "+why))
	}
	if _, err := decision.Append(t.Home, r); err != nil {
		return err
	}
	if approved, _ := s.Form(r.Form); r.Kind == decision.Notice && approved == "" {
		t.Say("%s: another approver must confirm it", r.Form)
	}
	return nil
}

// folded returns the state of the decision log under today's policy.
func (t *Terminal) folded() (*decision.State, error) {
	policy, err := t.Policy()
	if err != nil {
		return nil, err
	}
	return decision.Fold(t.Home, policy, nil)
}
