package approve

import (
	"bytes"
	"strings"
	"testing"

	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// A sentence is shown with the reference that covers it, and once; one that none covers is not shown among
// them, since it is shown at the top.
func TestEvidenceBesideItsSentence(t *testing.T) {
	v := View{Item: &Item{}, Evidence: []Cited{{Ref: "a.go:1"}, {Ref: "b.go:2"}}, Thread: &thread.Thread{
		ValidatorReturn: &verdict.Verdict{Sentences: []verdict.Sentence{
			{Text: "Second.", State: verdict.About, Ref: 2, Share: 1},
			{Text: "Neither.", State: verdict.Unbacked},
			{Text: "Beyond.", State: verdict.About, Ref: 3},
		}}}}
	var b bytes.Buffer
	if err := v.Print(&b, noon); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"a.go:1", "b.go:2", "Second.", "Validation", "Beyond."} {
		i := strings.Index(b.String(), want)
		if i < at || strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is missing, out of order or shown twice:\n%s", want, b.String())
		}
		at = i
	}
	if strings.Contains(b.String(), "Neither.") {
		t.Errorf("shown as evidence:\n%s", b.String())
	}
}
