package budget

import "slices"

// What is reserved for a run of an agent that has no cap and of which nothing is
// known yet: what a short look of a large model takes, rather more than less.
const (
	defaultUSD    = 0.5
	defaultTokens = 100_000
)

// maxUsual is of how many of the latest runs the usual is taken.
const maxUsual = 101

// usual is what an agent's runs took.
type usual struct {
	usd    []float64
	tokens []int64
}

// learn takes in what a run took, as far as it told.
func (b *Book) learn(e *Entry) {
	name := e.Agent + " " + e.work()
	u := b.usual[name]
	if u == nil {
		u = new(usual)
		b.usual[name] = u
	}
	if e.CostUSD != nil {
		u.usd = latest(append(u.usd, *e.CostUSD))
	}
	if e.CostUSD != nil && e.ReservedTokens == 0 {
		u.tokens = latest(append(u.tokens, e.Tokens))
	}
}

func latest[T any](all []T) []T { return all[max(0, len(all)-maxUsual):] }

// estimate is what a run is thought to take: its own caps, or what half of such
// runs stayed below. Agents that are code take nothing.
func (b *Book) estimate(r Run) (usd float64, tokens int64) {
	if Free(r.Agent) {
		return 0, 0
	}
	u := b.usual[r.Agent+" "+r.Work]
	if u == nil {
		u = new(usual)
	}
	if usd = r.USD; usd == 0 {
		usd = median(u.usd, defaultUSD)
	}
	if tokens = r.Tokens; tokens == 0 {
		tokens = median(u.tokens, defaultTokens)
	}
	return usd, tokens
}

// Free reports whether an agent is code alone, which costs nothing.
func Free(agent string) bool { return agent == "" || agent == "search" || agent == "none" }

func median[T float64 | int64](all []T, none T) T {
	if len(all) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
