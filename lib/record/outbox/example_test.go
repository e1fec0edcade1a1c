package outbox_test

import (
	"fmt"

	"tri/lib/record/outbox"
)

// Plan returns the next step for an approved draft, from the state that a crash left.
func ExamplePlan() {
	one := func(state string) []*outbox.Entry {
		return []*outbox.Entry{{State: state, Part: 1, Parts: 1, Tries: 1}}
	}
	for _, left := range []struct {
		claimed, line bool
		entries       []*outbox.Entry
	}{
		{false, false, []*outbox.Entry{nil}},
		{true, false, []*outbox.Entry{nil}},
		{true, false, one(outbox.Posted)},
	} {
		step, part, err := outbox.Plan(left.claimed, left.line, left.entries)
		fmt.Println(step, part, err)
	}
	// Output:
	// recheck -1 <nil>
	// write -1 <nil>
	// line -1 <nil>
}

// Split cuts a long text where a reader would.
func ExampleSplit() {
	for _, part := range outbox.Split("It is 5.\n\nThe test is beside it, in client_test.go.", 30) {
		fmt.Printf("%q\n", part)
	}
	// Output:
	// "It is 5.\n\nThe test is beside "
	// "it, in client_test.go."
}
