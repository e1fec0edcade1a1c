package classify_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/stream"
	"tri/lib/judge/classify"
)

// The filter tags each message and says why; no model is asked.
func ExampleClassifier_Stage() {
	const line = `{"platform":"local","chat_id":"dev","message_id":"%d","create_time":"2026-03-02T10:00:00Z","content":"%s",` +
		`"thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[]}` + "\n"
	in := fmt.Sprintf(line, 1, "where is the retry limit set?") + fmt.Sprintf(line, 2, "thanks, got it")
	c, err := classify.New(classify.Options{Now: time.Now})
	var out bytes.Buffer
	_, err2 := stream.Run(context.Background(), stream.Input{Stdin: strings.NewReader(in), After: -1},
		stream.Output{Stdout: &out}, c.Stage())
	for l := range strings.Lines(out.String()) {
		fmt.Println(gjson.Get(l, "classification"), gjson.Get(l, "reasons.0"))
	}
	fmt.Println(err, err2)
	// Output:
	// actionable question:ends-with-mark
	// ack ack:words
	// <nil> <nil>
}
