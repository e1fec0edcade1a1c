package questiontype_test

import (
	"fmt"

	"tri/lib/judge/questiontype"
)

func ExampleJudge() {
	k := questiontype.Judge("is the staging server down?", true)
	fmt.Println(k.Type, k.Reason, k.Minutes)
	// Output:
	// status_check status:is-it-down 3
}
