package conversation_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"tri/lib/base/stream"
	"tri/lib/judge/conversation"
)

// In a room without threads, a message gets the conversation that it continues.
func ExampleStage() {
	const line = `{"platform":"irc","chat_id":"#dev","message_id":"%d","create_time":"2026-03-02T10:0%d:00Z","content":"%s",` +
		`"thread_id":null,"sender":{"id":"%s","type":"user"},"mentions":[]}` + "\n"
	in := fmt.Sprintf(line, 1, 0, "how do I raise the retry limit?", "ana") +
		fmt.Sprintf(line, 2, 1, "ana: set MaxRetries in client.go", "ben")
	_, err := stream.Run(context.Background(), stream.Input{Stdin: strings.NewReader(in), After: -1},
		stream.Output{Stdout: os.Stdout}, conversation.Stage())
	fmt.Println(err)
	// Output:
	// {"platform":"irc","chat_id":"#dev","message_id":"1","create_time":"2026-03-02T10:00:00Z","content":"how do I raise the retry limit?","thread_id":null,"sender":{"id":"ana","type":"user"},"mentions":[]}
	// {"platform":"irc","chat_id":"#dev","message_id":"2","create_time":"2026-03-02T10:01:00Z","content":"ana: set MaxRetries in client.go","thread_id":"1","sender":{"id":"ben","type":"user"},"mentions":[],"thread_inferred":"addressed-by-name"}
	// <nil>
}
