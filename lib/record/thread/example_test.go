package thread_test

import (
	"fmt"

	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// Apply is the whole state machine: pure, and an input that comes twice counts once.
func ExampleApply() {
	asked := &event.Classified{Classification: event.Actionable, Event: event.Event{
		Platform: "local", ChatID: "dev", MessageID: "1", CreateTime: "2026-03-02T10:00:00Z",
		Content: "where is the retry limit?", Sender: event.Sender{ID: "ana", Type: "user"},
	}}
	in := thread.Input{At: "2026-03-02T10:00:01Z", Key: asked.Key(), Event: asked,
		Facts: &thread.Facts{QuestionType: thread.TechnicalQA, Tier: 1}}
	t, due := thread.Apply(thread.Thread{}, in)
	fmt.Println(t.Key, t.Status)
	for _, e := range due {
		fmt.Println(e.Kind)
	}
	again, _ := thread.Apply(t, in)
	fmt.Println(len(t.Applied), len(again.Applied))
	// Output:
	// local.dev.1 investigating
	// retire
	// investigate
	// tell
	// 1 1
}
