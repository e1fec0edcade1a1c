package discussion

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tri/lib/base/config"
	"tri/lib/record/persona"
	"tri/lib/record/verdict"
)

var usual = config.Default().Panel

func table(lead string, names ...string) Table {
	t := Table{Lead: lead, Limits: usual}
	for _, n := range names {
		t.Members = append(t.Members, Member{n, n, "look"})
	}
	return t
}

func begun(trigger string) Discussion {
	return Discussion{ID: ID(trigger, "r", "s", 0), TriggerType: trigger, Status: Active, Round: 1}
}

func names(due []Ask) (out string) {
	for _, a := range due {
		out += a.Persona + map[bool]string{true: "!"}[a.Lens == ""] + " "
	}
	return strings.TrimSpace(out)
}

// play answers whatever is due, with the lead's decisions in turn, and returns who was asked in each step.
func play(t *testing.T, d Discussion, at Table, says map[string]string,
	decisions ...string) (Discussion, []string) {
	t.Helper()
	var asked []string
	for range 20 {
		due := Due(d, at)
		if len(due) == 0 {
			return d, asked
		}
		asked = append(asked, names(due))
		if due[0].Lens == "" {
			decision := ""
			if len(decisions) > 0 {
				decision, decisions = decisions[0], decisions[1:]
			}
			d = Rule(d, Ruling{RunID: due[0].RunID, Persona: due[0].Persona, Round: due[0].Round,
				Decision: decision}, at)
			continue
		}
		for _, a := range due {
			c := Contribution{RunID: a.RunID, Persona: a.Persona, Lens: a.Lens, Round: a.Round}
			if note := says[a.Persona]; note == "fails" {
				c.Error = note
			} else if note != "" {
				c.Says = []verdict.Objection{{Claim: "c", Note: fmt.Sprintf("%s %d", note, a.Round)}}
			}
			d = Contribute(d, c)
		}
	}
	t.Fatal("it does not end")
	return d, nil
}

// TestTransitions: every way in which a discussion ends.
func TestTransitions(t *testing.T) {
	for _, c := range []struct {
		name, trigger string
		at            Table
		decisions     string // of the lead, in turn
		asked         string
		status        string
		result        string
		round         int
	}{
		{"approved", persona.PRReview, table("L", "a", "b", "c"), "APPROVE", "a b c; L!", Consensus,
			Approved, 1},
		{"changes, then approved", persona.PRReview, table("L", "a", "b", "c"), "CHANGES APPROVE",
			"a b c; L!; a; L!", Consensus, Approved, 2},
		{"changes in the last round", persona.PRReview, table("L", "a", "b"), "CHANGES CHANGES",
			"a b; L!; a b; L!", Consensus, ChangesRequested, 2},
		{"changes without a budget", persona.PRReview, tight(table("L", "a", "b", "c"), 5), "CHANGES",
			"a b c; L!", Consensus, ChangesRequested, 1},
		{"human", persona.PRReview, table("L", "a"), "HUMAN", "a; L!", Blocked, HumanNeeded, 1},
		{"prose", persona.PRReview, table("L", "a"), "approve", "a; L!", Blocked, HumanNeeded, 1},
		{"nothing", persona.PRReview, table("L", "a"), "", "a; L!", Blocked, HumanNeeded, 1},
		{"an issue's word for a patch", persona.PRReview, table("L", "a"), "READY", "a; L!", Blocked,
			HumanNeeded, 1},
		{"ready", persona.IssueReview, table("L", "a"), "READY", "a; L!", Consensus, Approved, 1},
		{"close", persona.IssueReview, table("L", "a"), "CLOSE", "a; L!", Consensus, Approved, 1},
		{"draft", persona.IssueReview, table("L", "a"), "DRAFT", "a; L!", Consensus, Approved, 1},
		{"a patch's word for an issue", persona.IssueReview, table("L", "a"), "APPROVE", "a; L!", Blocked,
			HumanNeeded, 1},
		{"the lead alone", persona.PRReview, table("L"), "APPROVE", "L!", Consensus, Approved, 1},
		{"three of four in a round", persona.PRReview, table("L", "a", "b", "c", "d"), "APPROVE", "a b c; L!",
			Consensus, Approved, 1},
		{"one kept for the ruling", persona.PRReview, tight(table("L", "a", "b", "c"), 3), "APPROVE",
			"a b; L!", Consensus, Approved, 1},
	} {
		d, asked := play(t, begun(c.trigger), c.at, map[string]string{"a": "wrong"},
			strings.Fields(c.decisions)...)
		if s := strings.Join(asked, "; "); s != c.asked || d.Status != c.status || d.ConsensusResult == nil ||
			*d.ConsensusResult != c.result || d.Round != c.round {
			b, _ := json.Marshal(d)
			t.Errorf("%s: asked %q, want %q: %s", c.name, s, c.asked, b)
		}
		if d.used() > c.at.Limits.Contributions {
			t.Errorf("%s: %d contributions and rulings", c.name, d.used())
		}
		if len(Due(d, c.at)) > 0 {
			t.Errorf("%s: something is due after the end", c.name)
		}
	}
}

func tight(t Table, n int) Table {
	t.Limits.Contributions = n
	return t
}

// TestByCode: a draft is decided without a lead: the worst that was said counts.
func TestByCode(t *testing.T) {
	for _, c := range []struct {
		says           map[string]string
		at             Table
		status, result string
	}{
		{nil, table("", "a", "b", "c"), Consensus, Approved},
		{map[string]string{"b": "wrong"}, table("", "a", "b", "c"), Consensus, ChangesRequested},
		{map[string]string{"a": "fails", "b": "wrong"}, table("", "a", "b"), Consensus, ChangesRequested},
		{map[string]string{"a": "fails"}, table("", "a", "b"), Consensus, Approved},
		{map[string]string{"a": "fails", "b": "fails"}, table("", "a", "b"), Blocked, HumanNeeded},
		{nil, table(""), Closed, "none"},
	} {
		d, _ := play(t, begun(persona.Draft), c.at, c.says)
		d = Decide(d)
		got := "none"
		if d.ConsensusResult != nil {
			got = *d.ConsensusResult
		}
		if d.Status != c.status || got != c.result || d.DecidedBy != verdict.ByCode {
			t.Errorf("%v: %s, %s", c.says, d.Status, got)
		}
	}
}

func TestRepeated(t *testing.T) {
	o := verdict.Objection{Claim: "It is  off", Note: "It is on."}
	d := Contribute(begun(persona.PRReview), Contribution{Persona: "a", Says: []verdict.Objection{o}})
	d = Contribute(d, Contribution{Persona: "b",
		Says: []verdict.Objection{{Claim: "it is off", Note: "it is ON."}, {Claim: "x", Note: "y"}}})
	if len(d.Contributions[1].Says) != 1 || len(d.Objections()) != 2 ||
		!slices.Equal(d.Participants, []string{"a", "b"}) {
		t.Errorf("%+v", d.Contributions)
	}
}

func TestPropose(t *testing.T) {
	for _, c := range []struct{ trigger, decision, want string }{
		{persona.IssueReview, Close, CloseIssue}, {persona.IssueReview, Ready, MoveReady},
		{persona.IssueReview, Draft, ""},
		{persona.IssueReview, Human, ""}, {persona.CodeWatch, Approve, FileIssue},
		{persona.CodeWatch, Human, ""},
		{persona.PRReview, Approve, ""}, {persona.PRReview, Changes, Refine}, {persona.PRReview, Close, ""},
	} {
		at := table("L")
		at.Limits.Rounds = 1
		d, _ := play(t, begun(c.trigger), at, nil, c.decision)
		got := ""
		if p := Propose(d, "title", 7); p != nil {
			got = p.Kind
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.trigger, c.decision, got, c.want)
		}
	}
}

// TestIDs: the same subject has the same ids, another none of them.
func TestIDs(t *testing.T) {
	all := map[string]bool{}
	for _, id := range []string{
		ID("draft", "a", "b", 0), ID("draft", "a", "b", 1), ID("draft", "b", "a", 0),
		ID("draft", "a\x00b", "", 0),
		RunID("d", "p", "l", 1), RunID("d", "p", "l", 2), RunID("d", "p", "", 1),
	} {
		all[id] = true
	}
	if len(all) != 7 || !all[ID("draft", "a", "b", 0)] {
		t.Errorf("%v", all)
	}
}

// FuzzDecision: no text decides anything but the five words.
func FuzzDecision(f *testing.F) {
	for _, s := range []string{Approve, "APPROVE:", "approve", "I APPROVE", "", "HUMAN", "CHANGES\nAPPROVE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := Rule(begun(persona.PRReview), Ruling{Persona: "L", Decision: s}, table("L"))
		if s != Approve && s != Changes && *d.ConsensusResult != HumanNeeded {
			t.Errorf("%q: %s", s, *d.ConsensusResult)
		}
	})
}
