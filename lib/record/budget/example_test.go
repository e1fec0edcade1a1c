package budget_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/record/budget"
)

// Take reserves for a run before it starts; what finds nothing left must wait.
func ExampleBook_Take() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	home, _ := durable.Open(dir)
	defer home.Close()
	book, _ := budget.Open(home, config.Budget{InvestigationsPerDay: new(1)})
	defer book.Close()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for _, id := range []string{"i-1", "i-2"} {
		err := book.Take(budget.Run{ID: id, Key: "local.dev.1", Work: budget.Investigate, Agent: "claude"},
			now)
		fmt.Println(id, err, errors.Is(err, budget.ErrSpent))
	}
	// Output:
	// i-1 <nil> false
	// i-2 budget spent: 1 of 1 investigations today true
}
