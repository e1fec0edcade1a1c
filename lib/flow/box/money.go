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
	err = book.Take(budget.Run{
		ID: b.trial(name, n), Key: name, Person: b.Pays.By, Work: budget.Box, Ordered: true,
		Agent: a.Agent, USD: a.MaxBudgetUSD, Tokens: a.MaxTokens,
	}, b.Now())
	return errors.Join(err, book.Close())
}

// account settles the attempt that a run has just ended with, whichever process
// writes its end down: state.json has what all attempts took, and what the earlier
// ones were settled with. Where that is not known, what was reserved counts.
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
