package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"tri/lib/base/config"
	"tri/lib/record/discussion"
	"tri/lib/record/verdict"
)

// The chances of the scripted reviewers: assumptions, not measurements of a model.
const (
	genericCatch = 0.45
	genericAlarm = 0.04
	ownCatch     = 0.72 // of a lens, for the kinds that it is meant for
	otherCatch   = 0.30
	lensAlarm    = 0.03
	usualCommon  = 0.6 // correlation of the reviewers' errors
	otherModel   = 0.5 // part of it that is left between the errors of two models
)

// reviewers are generic attacks and three lenses, these with the kinds of fault that they are meant for; one
// attack is another model's.
var reviewers = []struct {
	lens  string // "": generic
	own   []string
	other bool
}{
	{}, {}, {lens: "polarity", own: []string{"opposite", "negation", "condition"}},
	{lens: "numbers", own: []string{"number", "unit", "order", "value"}},
	{lens: "scope", own: []string{"scope", "swap"}}, {}, {other: true},
}

// item is a draft that code passes.
type item struct {
	kind string // of the fault; "": the draft is true
	id   uint64
	code verdict.Verdict
}

// votes returns which reviewers object to an item. Each draws from a normal distribution, and the draws of
// two reviewers have the given correlation.
func (t *item) votes(common float64, draw uint64) []bool {
	rng := rand.New(rand.NewPCG(t.id, draw))
	shared, apart := rng.NormFloat64(), rand.New(rand.NewPCG(^t.id, draw)).NormFloat64()
	out := make([]bool, len(reviewers))
	for i := range out {
		of := shared
		if reviewers[i].other {
			of = otherModel*shared + math.Sqrt(1-otherModel*otherModel)*apart
		}
		z := math.Sqrt(common)*of + math.Sqrt(1-common)*rng.NormFloat64()
		out[i] = math.Erfc(-z/math.Sqrt2)/2 < t.chance(i)
	}
	return out
}

func (t *item) chance(reviewer int) float64 {
	r := reviewers[reviewer]
	switch {
	case t.kind == "" && r.lens == "":
		return genericAlarm
	case t.kind == "":
		return lensAlarm
	case r.lens == "":
		return genericCatch
	case slices.Contains(r.own, t.kind):
		return ownCatch
	}
	return otherCatch
}

// arm is a way to ask reviewers, by their indexes.
type arm struct {
	name string
	of   []int
	join func(t *item, a *arm, votes []bool, p prices) (refused bool, tokens float64)
}

var arms = []arm{
	{"A0 code alone", nil, joinAny},
	{"A1 one generic attack", []int{0}, joinAny},
	{"A2 the same asked twice", []int{0, 1}, joinAny},
	{"A3 one lens", []int{2}, joinAny},
	{"A4 generic and lens", []int{0, 2}, joinAny},
	{"A5 three lenses, any", []int{2, 3, 4}, joinAny},
	{"A6 three lenses, majority", []int{2, 3, 4}, joinMost},
	{"A7 three lenses, debate", []int{2, 3, 4}, joinDebate},
	{"A8 asked three times", []int{0, 1, 5}, joinAny},
	{"A9 two models, any", []int{0, 6}, joinAny},
}

// objection is what a lens that objects says.
func objection(reviewer, round int) []verdict.Objection {
	return []verdict.Objection{{Ref: "README.md:1", Claim: reviewers[reviewer].lens,
		Result: verdict.Contradicts,
		Note:   fmt.Sprint("round ", round)}}
}

// clean is a verdict that finds nothing.
var clean = verdict.Verdict{
	Verdict: verdict.Pass, SpotCheckResult: verdict.Supports, SchemaCheck: verdict.OK,
	ScopeDrift:              verdict.None,
	ConfidenceLanguageMatch: verdict.Match, CrossInvestigationConsistency: verdict.NoOverlap,
	RiskGateCheck: verdict.Passes, ToneAssessment: verdict.Matches,
}

// joinAttack joins the verdict of a generic attack.
func joinAttack(v verdict.Verdict, objects bool) verdict.Verdict {
	said := clean
	if objects {
		said.Verdict, said.Reasons = verdict.Bounce, []string{"the lines say otherwise"}
	}
	return verdict.Worse(v, said)
}

// joinAny joins as the validator does. All are asked, so that arms are compared at their full price.
func joinAny(t *item, a *arm, votes []bool, p prices) (bool, float64) {
	v, tokens := t.code, 0.0
	var looks []verdict.Look
	for _, i := range a.of {
		if reviewers[i].lens == "" {
			v, tokens = joinAttack(v, votes[i]), tokens+p.generic
			continue
		}
		look := verdict.Look{Lens: reviewers[i].lens}
		if votes[i] {
			look.Says = objection(i, 1)
		}
		looks, tokens = append(looks, look), tokens+p.lens
	}
	return verdict.Join(v, looks).Verdict != verdict.Pass, tokens
}

// joinMost counts what each lens would do to the verdict; the programs have no such rule.
func joinMost(t *item, a *arm, votes []bool, p prices) (bool, float64) {
	refusals, tokens := 0, 0.0
	for _, i := range a.of {
		one := arm{of: []int{i}}
		refused, price := joinAny(t, &one, votes, p)
		if tokens += price; refused {
			refusals++
		}
	}
	return 2*refusals > len(a.of), tokens
}

// joinDebate holds a discussion of two rounds with a lead, who wants a second round unless all agree that
// there is no fault, and then follows the majority. In the second round those who are outvoted take the
// others' side.
func joinDebate(t *item, a *arm, votes []bool, p prices) (bool, float64) {
	table := discussion.Table{Lead: "lead"}
	table.Limits = config.Panel{Rounds: 2, Contributions: 2 * (len(a.of) + 1), PerRound: len(a.of)}
	for _, i := range a.of {
		name := reviewers[i].lens
		table.Members = append(table.Members, discussion.Member{Persona: name, Lens: name})
	}
	most, _ := joinMost(t, a, votes, p)
	object, _ := joinAny(t, a, votes, p)
	d, tokens := discussion.Discussion{ID: "d", Status: discussion.Active, Round: 1}, 0.0
	for asks := discussion.Due(d, table); len(asks) > 0; asks = discussion.Due(d, table) {
		for n, ask := range asks {
			if ask.Lens == "" {
				r := discussion.Ruling{Persona: ask.Persona, Round: ask.Round, Decision: discussion.Approve}
				if most || ask.Round == 1 && object {
					r.Decision = discussion.Changes
				}
				d, tokens = discussion.Rule(d, r, table), tokens+p.lead
				continue
			}
			c := discussion.Contribution{Persona: ask.Persona, Lens: ask.Lens, Round: ask.Round}
			if ask.Round == 1 && votes[a.of[n]] || ask.Round > 1 && most {
				c.Says = objection(a.of[n], ask.Round)
			}
			d, tokens = discussion.Contribute(d, c), tokens+p.lens
		}
	}
	return *d.ConsensusResult != discussion.Approved, tokens
}

// tellArms prints a row for each arm.
func tellArms(out io.Writer, all []item, p prices, common float64) {
	faulty, sound := split(all)
	fmt.Fprintf(out, "\nerrors correlated at %.1f\n%-26s %-22s %-21s %7s %8s  %-18s %s\n", common,
		"arm", "caught, 95%", "false alarms, 95%", "tokens", "per 100k", "against A1", "against A2")
	results := make([][]bool, len(arms))
	for n := range arms {
		caught, spent := ask(&arms[n], faulty, p, common, 0)
		alarms, idle := ask(&arms[n], sound, p, common, 0)
		results[n] = caught
		perFault := "-"
		if spent > 0 {
			perFault = fmt.Sprintf("%.1f", float64(trues(caught))/spent*1e5)
		}
		fmt.Fprintf(out, "%-26s %-22s %-21s %7.0f %8s", arms[n].name,
			percent(trues(caught), len(faulty)), percent(trues(alarms), len(sound)),
			(spent+idle)/float64(len(all)), perFault)
		for base := 1; base <= 2 && n > base; base++ {
			fmt.Fprintf(out, "  %-18s", against(results[base], caught))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "effective votes (Kish): %.2f of one model asked twice, %.2f of two models, %.2f of three lenses\n",
		effective(faulty, []int{0, 1}, common), effective(faulty, []int{0, 6}, common),
		effective(faulty, []int{2, 3, 4}, common))
}

// ask returns which items an arm refuses, and the tokens of all.
func ask(a *arm, all []item, p prices, common float64, draw uint64) (refused []bool, tokens float64) {
	for i := range all {
		r, price := a.join(&all[i], a, all[i].votes(common, draw), p)
		refused, tokens = append(refused, r), tokens+price
	}
	return refused, tokens
}

func split(all []item) (faulty, sound []item) {
	for _, t := range all {
		if t.kind == "" {
			sound = append(sound, t)
		} else {
			faulty = append(faulty, t)
		}
	}
	return faulty, sound
}

func trues(all []bool) (n int) {
	for _, v := range all {
		if v {
			n++
		}
	}
	return n
}

// against compares what two arms caught of the same faults.
func against(base, a []bool) string {
	more, less := 0, 0
	for i := range a {
		if a[i] && !base[i] {
			more++
		}
		if base[i] && !a[i] {
			less++
		}
	}
	return fmt.Sprintf("+%d -%d p %.3f", more, less, mcNemar(more, less))
}

// mcNemar returns the two-sided probability of a split as uneven by chance (exact test).
func mcNemar(a, b int) float64 {
	p := 0.0
	for i := range min(a, b) + 1 {
		n, _ := math.Lgamma(float64(a + b + 1))
		k, _ := math.Lgamma(float64(i + 1))
		rest, _ := math.Lgamma(float64(a + b - i + 1))
		p += math.Exp(n - k - rest - float64(a+b)*math.Ln2)
	}
	return min(1, 2*p)
}

// effective returns how many independent votes reviewers are worth: k/(1+(k-1)r), where r is the mean
// correlation of their misses (Kish's design effect).
func effective(faulty []item, of []int, common float64) float64 {
	sum, pairs, n := 0.0, 0.0, float64(len(faulty))
	for x, i := range of {
		for _, j := range of[x+1:] {
			var a, b, both float64
			for k := range faulty {
				switch votes := faulty[k].votes(common, 0); {
				case !votes[i] && !votes[j]:
					a, b, both = a+1/n, b+1/n, both+1/n
				case !votes[i]:
					a += 1 / n
				case !votes[j]:
					b += 1 / n
				}
			}
			sum, pairs = sum+(both-a*b)/math.Sqrt(a*(1-a)*b*(1-b)), pairs+1
		}
	}
	k := float64(len(of))
	return k / (1 + (k-1)*sum/pairs)
}
