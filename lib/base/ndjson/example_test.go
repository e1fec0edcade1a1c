package ndjson_test

import (
	"fmt"

	"tri/lib/base/ndjson"
)

// Check refuses what readers of JSON disagree about.
func ExampleCheck() {
	for _, line := range []string{`{"a":1}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `[1]`} {
		fmt.Println(ndjson.Check([]byte(line)))
	}
	// Output:
	// <nil>
	// duplicate name "a" at byte 7
	// invalid UTF-8 at byte 6
	// not a JSON object
}

// A scanner checks a line and finds its members without decoding them.
func ExampleScanner() {
	var s ndjson.Scanner
	err := s.Scan([]byte(`{"seq":12,"sender":{"id":"ana"}}`))
	for _, m := range s.Members {
		fmt.Printf("%s = %s\n", m.Key, m.Value)
	}
	fmt.Println(err)
	// Output:
	// seq = 12
	// sender = {"id":"ana"}
	// <nil>
}
