package run

import (
	"errors"
	"io/fs"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/budget"
	"tri/lib/record/draft"
)

// Reserve durably reserves the estimated cost of a run before it starts.
func Reserve(h *durable.Home, limits config.Budget, r budget.Run, now time.Time) error {
	book, err := budget.Open(h, limits)
	if err != nil {
		return err
	}
	return errors.Join(book.Take(r, now), book.Close())
}

// Settle accounts once for a run that has ended, if it has a reservation. A nil usage is unknown:
// the reservation then counts.
func Settle(h *durable.Home, limits config.Budget, id string, usage *draft.Usage, now time.Time) error {
	book, err := budget.Open(h, limits)
	if err != nil {
		return err
	}
	if book.Reserved(id) {
		key, person := book.For(id)
		err = book.Settle(id, key, person, usage, now)
	}
	return errors.Join(err, book.Close())
}

// Spent returns the usage of a run that has ended or was killed, nil if it is unknown. over is
// false if the run is in progress or its end is still to be recorded: a run requested by a person
// ends only with its result.
func Spent(h *durable.Home, id string, now time.Time) (usage *draft.Usage, over bool, err error) {
	res, err := Load(h, id)
	if err != nil || res != nil {
		if res != nil {
			usage = res.Usage
		}
		return usage, res != nil, err
	}
	if o, _, err := Asked(h, id); err != nil || o != nil && o.By != Dispatcher {
		return nil, false, err
	}
	state, err := Sweep(h.Path(Folder(h, id)), now)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil // no agent was started
	}
	return state.Usage, state.EndedAt != nil, err
}

// SettleLost accounts for runs that were killed before they ended, or after their end and before
// they were accounted for.
func SettleLost(h *durable.Home, book *budget.Book, ids []string, now time.Time) error {
	for _, id := range ids {
		if !IsID(id) || book.Settled(id) {
			continue
		}
		usage, over, err := Spent(h, id, now)
		if err != nil {
			return err
		}
		if !over {
			continue
		}
		key, person := book.For(id)
		if err := book.Settle(id, key, person, usage, now); err != nil {
			return err
		}
	}
	return nil
}

// Since returns the part of a run's usage that came after an earlier account of it.
func Since(all, before *draft.Usage) *draft.Usage {
	if all == nil || before == nil {
		return all
	}
	u := *all
	u.InputTokens = max(0, u.InputTokens-before.InputTokens)
	u.OutputTokens = max(0, u.OutputTokens-before.OutputTokens)
	if u.CostUSD != nil && before.CostUSD != nil {
		u.CostUSD = new(max(0, *u.CostUSD-*before.CostUSD))
	}
	return &u
}
