package lens

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"tri/lib/base/ndjson"
	"tri/lib/base/text"
	"tri/lib/judge/evidence"
	"tri/lib/judge/recall"
	"tri/lib/record/decision"
	"tri/lib/record/memory"
	"tri/lib/record/verdict"
)

// Bounds on an answer.
const (
	maxSays    = 5
	maxReasons = 5
	maxNote    = 500 // characters
)

// The schemas that agents are given.
var saysSchema = []byte(`{"title":"says","type":"object","additionalProperties":false,"required":["says"],"properties":{"says":{"type":"array","maxItems":5,` +
	`"items":{"type":"object","additionalProperties":false,"required":["ref","claim","result","note"],"properties":{"ref":{"type":"string"},` +
	`"claim":{"type":"string"},"result":{"enum":["contradicts","uncheckable"]},"note":{"type":"string"}}}}}}`)

var rulingSchema = []byte(`{"title":"ruling","type":"object","additionalProperties":false,"required":["decision","reasons"],` +
	`"properties":{"decision":{"type":"string"},"reasons":{"type":"array","maxItems":5,"items":{"type":"string"}}}}`)

// strict reads a JSON object without unknown keys.
func strict(b []byte, v any) error {
	if err := ndjson.Check(b); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// says reads the objections of an answer.
func (s *Subject) says(b []byte) ([]verdict.Objection, error) {
	var v struct {
		Says *[]verdict.Objection `json:"says"`
	}
	if err := strict(b, &v); err != nil {
		return nil, err
	}
	if v.Says == nil {
		return nil, errors.New("says: is missing; [] is nothing to say")
	}
	return *v.Says, nil
}

// checkSays reports what is wrong with an answer: an objection has to name words that are there and a place
// that is there.
func (s *Subject) checkSays(b []byte) error {
	all, err := s.says(b)
	if err != nil {
		return err
	}
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	add(len(all) > maxSays, "says: has %d, at most %d", len(all), maxSays)
	words := squeeze(s.Words)
	for i, o := range all {
		add(o.Result != verdict.Contradicts && o.Result != verdict.Uncheckable,
			"says[%d].result: is %q, want contradicts or uncheckable", i, text.Line(o.Result, 40))
		add(squeeze(o.Claim) == "" || !strings.Contains(words, squeeze(o.Claim)),
			"says[%d].claim: %q does not occur in what was judged", i, text.Line(o.Claim, 80))
		add(strings.TrimSpace(o.Note) == "" || len([]rune(o.Note)) > maxNote,
			"says[%d].note: want 1 to %d characters", i, maxNote)
		path, _, _ := strings.Cut(o.Ref, ":")
		add(!s.there(path), "says[%d].ref: there is no file %q", i, text.Line(path, 80))
	}
	return errors.Join(faults...)
}

// there reports whether a file is in the codebase or, without one, in the words.
func (s *Subject) there(path string) bool {
	switch {
	case strings.TrimSpace(path) == "":
		return false
	case strings.Contains(s.Words, path):
		return true
	}
	return s.Codebase != "" && evidence.Exists(s.Codebase, path)
}

// squeeze returns text in lower case with single spaces and without quotation marks around it.
func squeeze(s string) string {
	return strings.Trim(strings.Join(strings.Fields(strings.ToLower(s)), " "), "\"'`“”")
}

type ruling struct {
	Decision string   `json:"decision"`
	Reasons  []string `json:"reasons"`
}

func readRuling(b []byte) (*ruling, error) {
	v := new(ruling)
	if err := strict(b, v); err != nil {
		return nil, err
	}
	v.Decision = strings.TrimSpace(v.Decision)
	if len([]rune(v.Decision)) > 40 || len(v.Reasons) > maxReasons ||
		slices.ContainsFunc(v.Reasons, func(r string) bool { return len([]rune(r)) > maxNote }) {
		return nil, fmt.Errorf("want a decision, and at most %d reasons of at most %d characters",
			maxReasons, maxNote)
	}
	if v.Reasons == nil {
		v.Reasons = []string{}
	}
	return v, nil
}

// Limits of what a persona is shown of the team's memory.
const (
	mostEntries = 3
	mostMemory  = 1200 // characters
)

// memory returns what the team's memory has on a subject, for the readers of every chat of its codebase: a
// subject is of none. Entries whose cited lines have changed are left out.
func (r *Room) memory(ctx context.Context, s Subject) (string, error) {
	entries, err := memory.Read(r.Home, decision.PolicyOf(r.Config))
	if err != nil || len(entries) == 0 {
		return "", err
	}
	best, err := recall.Rank(ctx, entries, recall.Readers{Codebase: s.Codebase}, s.Title+"\n"+s.Words)
	if err != nil || len(best) == 0 {
		return "", err
	}
	root, err := os.OpenRoot(s.Codebase)
	if err != nil {
		return "", err
	}
	defer root.Close()
	repo, err := evidence.OpenRepo(s.Codebase)
	if err != nil {
		return "", err
	}
	var lines []string
	room := mostMemory
	for _, e := range best {
		state, _, err := recall.State(root, repo, e.Refs)
		if room -= utf8.RuneCountInString(e.Text); err != nil || state == recall.Changed || room < 0 ||
			len(lines) == mostEntries {
			continue
		}
		lines = append(lines, e.Text+" ("+strings.Join(e.By, ", ")+", "+e.At+")")
	}
	return strings.Join(lines, "\n"), nil
}
