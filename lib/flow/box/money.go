package box

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/base/durable"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
	"tri/lib/record/run"
)

// Payer is the home whose budget pays for runs.
type Payer struct {
	Home *durable.Home
	By   string // the caller
}

// PaidBy returns the home in dir as a payer, or nil if dir has no config.yaml, so that no home is set up
// there.
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

// trial returns the budget id of the n-th attempt at a run.
func (b *Box) trial(name string, n int) string {
	return run.ID("box", b.Checkout+"\x00"+name, n, 1)
}

// book opens the budget, which the caller must close. n is the first attempt at the run that is not
// settled in it.
func (b *Box) book(name string) (book *budget.Book, n int, err error) {
	if book, err = budget.Open(b.Pays.Home, b.Config.Budget); err != nil {
		return nil, 0, err
	}
	for n = 1; book.Settled(b.trial(name, n)); n++ {
	}
	return book, n, nil
}

// reserve reserves the maximum cost of an attempt before the agent starts. A person has ordered the run,
// so no limit stops it, but it counts.
func (b *Box) reserve(name string) error {
	if b.Pays == nil {
		return nil
	}
	book, n, err := b.book(name)
	if err != nil {
		return err
	}
	a := agentOf(b.Config)
	err = book.Take(budget.Run{
		ID: b.trial(name, n), Key: name, Person: b.Pays.By, Work: budget.Box, Ordered: true,
		Agent: a.Agent, USD: a.MaxBudgetUSD, Tokens: a.MaxTokens,
	}, b.Now())
	return errors.Join(err, book.Close())
}

// account settles the attempt that just ended, from whichever process records its end. state.json has the
// cost of all attempts; the earlier ones are settled already. If the cost is unknown, the reserved amount
// counts.
func (b *Box) account(name string) error {
	if b.Pays == nil {
		return nil
	}
	book, n, err := b.book(name)
	if err != nil {
		return err
	}
	if id := b.trial(name, n); book.Reserved(id) {
		usage := (*draft.Usage)(nil)
		if s, err := b.State(name); err == nil && (n == 1 || s.Starts > 0) {
			usage = run.Since(s.Usage, s.Settled)
		}
		key, person := book.For(id)
		err = book.Settle(id, key, person, usage, b.Now())
	}
	return errors.Join(err, book.Close())
}
