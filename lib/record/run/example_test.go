package run_test

import (
	"fmt"
	"os"

	"tri/lib/base/durable"
	"tri/lib/record/run"
)

// A run is held while its process lives, and its result appears whole.
func ExampleBegin() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	home, _ := durable.Open(dir)
	defer home.Close()
	id := run.ID("investigate", "local.dev.1", 1, 1)
	r, err := run.Begin(home, id)
	held, _ := run.Held(home, id)
	before, _ := run.Load(home, id)
	fmt.Println(err, held, before == nil)
	fmt.Println(r.Publish(run.Result{RunID: id, Status: run.Nothing}), r.End())
	after, _ := run.Load(home, id)
	held, _ = run.Held(home, id)
	fmt.Println(after.Status, held)
	// Output:
	// <nil> true true
	// <nil> <nil>
	// nothing false
}
