package conversation

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"tri/lib/base/stream"
)

func BenchmarkStage(b *testing.B) {
	text, err := os.ReadFile("../../../../shared/data/chat/ubuntu.ndjson")
	if err != nil {
		b.Skip(err)
	}
	text = bytes.ReplaceAll(text, []byte(`"thread_id"`), []byte(`"annotated"`))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		in := stream.Input{Stdin: bytes.NewReader(text), After: -1}
		if _, err := stream.Run(context.Background(), in, stream.Output{Stdout: io.Discard},
			Stage()); err != nil {
			b.Fatal(err)
		}
	}
}
