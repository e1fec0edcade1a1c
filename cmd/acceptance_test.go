package cmd_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestAcceptance runs the scripts that demonstrate acceptance criteria, with the programs as built
// now.
func TestAcceptance(t *testing.T) {
	scripts, err := filepath.Glob("../scripts/acceptance/ac*")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			if out, err := exec.CommandContext(ctx, "bash", script).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
