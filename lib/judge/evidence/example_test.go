package evidence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tri/lib/judge/evidence"
	"tri/lib/record/draft"
)

// A receipt tells later whether the cited lines are still there, wherever they moved.
func ExampleStillStands() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	write := func(text string) { _ = os.WriteFile(filepath.Join(dir, "client.go"), []byte(text), 0o600) }
	write("package client\n\nconst MaxRetries = 5\n")
	root, _ := os.OpenRoot(dir)
	defer root.Close()
	repo, _ := evidence.OpenRepo(dir)
	refs := evidence.Stamp(root, repo,
		[]draft.Ref{{Kind: "file", Ref: "client.go:3", Quote: "const MaxRetries = 5"}}, time.Now())
	for _, text := range []string{"package client\n\nimport \"time\"\n\nconst MaxRetries = 5\n",
		"package client\n\nconst MaxRetries = 6\n"} {
		write(text)
		ok, why, err := evidence.StillStands(root, repo, refs[0])
		fmt.Println(ok, why, err)
	}
	// Output:
	// true it moved to line 5 <nil>
	// false the file has changed, and the quoted lines no longer stand in it <nil>
}
