package query_test

import (
	"fmt"

	"tri/lib/base/query"
)

// A condition of the configuration is jq over the record.
func ExampleCompile() {
	q, err := query.Compile(`.sender.type == "user" and (.content | test("deploy"))`)
	match, _ := q.Match([]byte(`{"sender":{"type":"user"},"content":"who can deploy?"}`))
	fmt.Println(match, err)
	q, _ = query.Compile(`env.HOME != null`) // nothing of the world is in reach
	match, _ = q.Match([]byte(`{}`))
	fmt.Println(match)
	// Output:
	// true <nil>
	// false
}
