package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Payer is the home whose budget pays for runs.
type Payer struct {
	Home *durable.Home
	By   string // who calls
}

// PaidBy is the home in dir as a payer: nil where nobody has set one up, which a
// config.yaml tells.
func PaidBy(dir, by string) (*Payer, error) {
	if _, err := os.Stat(filepath.Join(dir, "config.yaml")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	home, err := durable.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Payer{Home: home, By: by}, nil
}

// trial names the n-th attempt at a run for the budget.
func (b *Box) trial(name string, n int) string {
	return run.ID("box", b.Checkout+"\x00"+name, n, 1)
}

// book opens the budget, which is to be closed; n is the first attempt at a run that
// is not settled in it.
func (b *Box) book(name string) (book *budget.Book, n int, err error) {
	if book, err = budget.Open(b.Pays.Home, b.Config.Budget); err != nil {
		return nil, 0, err
	}
	for n = 1; book.Settled(b.trial(name, n)); n++ {
	}
	return book, n, nil
}

// reserve sets aside what an attempt at a run may take, before an agent begins. A
// person has ordered it, so no limit holds it back; but it counts.
func (b *Box) reserve(name string) error {
	if b.Pays == nil {
		return nil
	}
	book, n, err := b.book(name)
	if err != nil {
		return err
	}
	a := agentOf(b.Config)
	err = book.Take(budget.Run{ID: b.trial(name, n), Key: name, Person: b.Pays.By, Work: budget.Box, Ordered: true, Agent: a.Agent, USD: a.MaxBudgetUSD, Tokens: a.MaxTokens}, b.Now())
	return errors.Join(err, book.Close())
}

// account settles the attempt that a run has just ended with, whoever writes its
// end down: state.json has what all attempts took, and the budget what the earlier
// ones were settled with.
func (b *Box) account(name string) error {
	if b.Pays == nil {
		return nil
	}
	book, n, err := b.book(name)
	if err != nil {
		return err
	}
	if id := b.trial(name, n); book.Reserved(id) {
		err = b.settle(book, name, id, n)
	}
	return errors.Join(err, book.Close())
}

func (b *Box) settle(book *budget.Book, name, id string, n int) error {
	s, err := b.State(name)
	if err != nil {
		return nil //nolint:nilerr // nobody knows what it took: what was reserved stands
	}
	usage := s.Usage
	if usage != nil && n > 1 {
		if usage, err = b.since(name, *usage); err != nil {
			return err
		}
	}
	key, person := book.For(id)
	return book.Settle(id, key, person, usage, b.Now())
}

// since is what of a usage the earlier attempts were not settled with.
func (b *Box) since(name string, u draft.Usage) (*draft.Usage, error) {
	mine := map[string]bool{}
	for n := 1; n <= maxTrials; n++ {
		mine[b.trial(name, n)] = true
	}
	usd := 0.0
	err := b.Pays.Home.Lines(budget.LogName, 0, func(line []byte) error {
		var e budget.Entry
		if err := ndjson.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read %s: %w", budget.LogName, err)
		}
		if e.Kind == budget.Settle && mine[e.RunID] {
			u.InputTokens -= e.Tokens
			if e.CostUSD != nil {
				usd += *e.CostUSD
			}
		}
		return nil
	})
	if u.InputTokens < 0 { // only the sum of both counts
		u.OutputTokens, u.InputTokens = max(0, u.OutputTokens+u.InputTokens), 0
	}
	if u.CostUSD != nil {
		u.CostUSD = new(max(0, *u.CostUSD-usd))
	}
	return &u, err
}

// maxTrials is how many attempts at one run are told apart.
const maxTrials = 1000
