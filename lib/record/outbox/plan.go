package outbox

import (
	"fmt"
	"tri/lib/base/text"
)

// Step is the next step for a draft.
type Step int

// Steps, with the states of the package comment's table that require them.
const (
	Recheck Step = iota // S0
	Write               // S1: make the missing intents durable
	Try                 // S2: count a try, then post
	Look                // S3, after a crash or an unclear answer: ask the platform
	Wait                // S5: for a person to settle it
	Line                // S4 with no part left, S6: write the reply's line
	File                // S7, S8: move the remaining entries to done
	Rest                // S8 with no entries left: nothing to do
)

// Plan returns the next step for a draft, and for which of its parts (from 0; -1 for the whole).
// entries has an element for every part, nil if it has no file. claimed and line say whether the
// claim and the reply's line are durable. An illegal state is an error.
func Plan(claimed, line bool, entries []*Entry) (Step, int, error) {
	there := 0
	for _, e := range entries {
		if e != nil {
			there++
		}
	}
	switch {
	case !claimed && (line || there > 0):
		return Rest, -1, fmt.Errorf("a post without a claim")
	case !claimed:
		return Recheck, -1, nil
	case line && there > 0:
		return File, -1, nil
	case line:
		return Rest, -1, nil
	case there < len(entries) || there == 0:
		return Write, -1, nil
	}
	for i, e := range entries {
		switch {
		case e.State == Refused || e.State == Dropped:
			return Line, -1, nil
		case e.State == Parked:
			return Wait, i, nil
		case e.State == Intent && e.Tries == 0:
			return Try, i, nil
		case e.State == Intent:
			return Look, i, nil
		case e.State != Posted:
			return Rest, i, fmt.Errorf("a post in state %q", e.State)
		}
	}
	return Line, -1, nil
}

// ID returns the ID of a part's entry. A key is at most 160 bytes, so that the file's name stays
// within 255.
func ID(key string, cycle int, draftSHA256 string, part int) string {
	return fmt.Sprintf("%s.%d.%.12s.%d", key, cycle, draftSHA256, part)
}

// PostKey returns the key by which the platform identifies a post: 32 characters of [0-9a-f], the
// same at every try of a part and different for any other part.
func PostKey(key string, cycle int, draftSHA256 string, part int) string {
	return text.SHA256(fmt.Sprintf("%s\x00%d\x00%s\x00%d", key, cycle, draftSHA256, part))[:32]
}
