package codesearch_test

import (
	"context"
	"fmt"

	"tri/lib/judge/codesearch"
)

// A question finds the lines that a person would cite.
func ExampleIndex_Search() {
	x := codesearch.Texts(map[string]string{
		"client.go": "package client\n\n// MaxRetries is how often a request is tried again.\nconst MaxRetries = 5\n",
		"server.go": "package client\n\n// Serve answers requests.\nfunc Serve() {}\n",
	})
	found, err := x.Search(context.Background(), "how often is a request tried again?", 1)
	hit := found.Hits[0]
	fmt.Printf("%s:%d-%d %v\n", hit.Path, hit.Start, hit.End, err)
	// Output:
	// client.go:3-4 <nil>
}
