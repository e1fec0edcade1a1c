package classify

import (
	"context"
	"io"

	"tri/lib/base/config"
	"tri/lib/base/stream"
)

// Rules returns the filter of a configuration, to be run over a history: each call starts a new stream.
// compile makes the matcher of a jq condition.
func Rules(cfg *config.Config, compile func(jq string) (Matcher,
	error)) (func(ctx context.Context, in stream.Input, out io.Writer) error, error) {
	k, err := New(Options{Config: cfg.Classifier, Team: cfg.Team, Compile: compile})
	return func(ctx context.Context, in stream.Input, out io.Writer) error {
		_, err := stream.Run(ctx, in, stream.Output{Stdout: out}, k.Stage())
		return err
	}, err
}
