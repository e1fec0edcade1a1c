package main

import (
	_ "embed"
	"os"
	"path/filepath"
)

// What the sizes of files of events are; at mostEvents one round is enough of what
// takes seconds.
var eventSizes = []int{1_000, 10_000, 100_000, mostEvents}

const mostEvents = 221_592

//go:embed seed-rules.mlr
var millerRules string

// classify puts one file of events through the filter, and through what a user
// would otherwise run. cat and sha256sum do nothing with it but read it.
func (b *bench) classify() error {
	jq, err := b.filter()
	if err != nil {
		return err
	}
	miller := filepath.Join(b.work, "seed-rules.mlr")
	if err := os.WriteFile(miller, []byte(millerRules), 0o600); err != nil {
		return err
	}
	for _, n := range eventSizes {
		events, err := b.events(n)
		if err != nil {
			return err
		}
		wall, cpu := b.sized("time", seconds, n, "events"), b.sized("processor time", seconds, n, "events")
		rounds := b.rounds
		if n > 10_000 {
			rounds = 1
		}
		quick := []contender{
			{"tri-classify", []string{b.ours("tri-classify"), events}},
			{"sha256sum", []string{"sha256sum", events}},
			{"cat", []string{"cat", events}},
		}
		if err := race(b.rounds, nil, wall, cpu, quick...); err != nil {
			return err
		}
		if err := race(rounds, nil, wall, cpu,
			contender{"jq", append(jq("jq"), events)},
			contender{"gojq", append(jq("gojq"), events)},
			contender{"mlr", []string{"mlr", "--ijsonl", "--ojsonl", "put", "-f", miller, events}},
		); err != nil {
			return err
		}
	}
	return nil
}

// filter gives the command line of the rules as one filter, without its files.
func (b *bench) filter() (func(program string, options ...string) []string, error) {
	rules, err := os.ReadFile(b.rules)
	if err != nil {
		return nil, err
	}
	open := filepath.Join(b.work, "open.json")
	if err := os.WriteFile(open, []byte("{}\n"), 0o600); err != nil {
		return nil, err
	}
	return func(program string, options ...string) []string {
		argv := append([]string{program}, options...)
		return append(argv, "-c", "--arg", "bot", "ubotu", "--slurpfile", "o", open,
			"$o[0] as $open | "+string(rules))
	}, nil
}
