package budget

import "slices"

// The reservation for a run without caps and without a history: a generous estimate of a short run
// of a large model.
const (
	defaultUSD    = 0.5
	defaultTokens = 100_000
)

// maxUsual is the number of latest runs that the estimate is based on.
const maxUsual = 101

// usual holds the usage of an agent's latest runs.
type usual struct {
	usd    []float64
	tokens []int64
}

// learn adds the figures that a run reported.
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

// estimate returns the expected usage of a run: its caps, or else the median of such runs. Agents
// that are code cost nothing.
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

// Free reports whether an agent is code only, which costs nothing.
func Free(agent string) bool { return agent == "" || agent == "search" || agent == "none" }

func median[T float64 | int64](all []T, none T) T {
	if len(all) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
