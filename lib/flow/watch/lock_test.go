package watch

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

// TestLockThatCannotBeMade: if there is no space for a lock, the error does not suggest another watcher.
func TestLockThatCannotBeMade(t *testing.T) {
	h := home(t)
	if err := os.WriteFile(h.Path("locks"), nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	err := Run(t.Context(), options(h, io.Discard), func(context.Context, Open, func([]Item) error) error {
		return nil
	})
	status, _ := sysexit.Of(err)
	if hints := sysexit.Hints(err); err == nil || status != sysexit.IO ||
		strings.Contains(strings.Join(hints, ""), "another") {
		t.Errorf("status %d, hints %q: %v", status, hints, err)
	}
}
