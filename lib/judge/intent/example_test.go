package intent_test

import (
	"fmt"

	"tri/lib/judge/intent"
)

func ExampleJudge() {
	in := intent.Judge(intent.Message{Text: "please add a --dry-run flag to the import command"})
	fmt.Println(in.Name, in.Score, in.Reasons)
	// Output:
	// code_change 13 [code_change:add-code +10 code_change:code-noun +3]
}
