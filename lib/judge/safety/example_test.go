package safety_test

import (
	"fmt"

	"tri/lib/judge/safety"
)

// Check names what must not be posted; a secret itself is never repeated.
func ExampleCheck() {
	for _, p := range safety.Check("@channel see https://evil.example/x", safety.Sources{}) {
		fmt.Println(p.Name, p.Fatal)
	}
	// Output:
	// mention true
	// url true
}
