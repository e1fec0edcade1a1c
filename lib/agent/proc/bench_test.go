package proc

import (
	"context"
	"os"
	"testing"

	"tri/lib/base/sandbox/sandboxtest"
)

// What walls cost at the start and the end of a program that does nothing.
func BenchmarkBare(b *testing.B)   { benchmark(b, "off") }
func BenchmarkWalled(b *testing.B) { benchmark(b, "required") }

func benchmark(b *testing.B, sandbox string) {
	sandboxtest.Path(b)
	s := Spec{Argv: []string{"true"}, Sandbox: sandbox, Dir: b.TempDir(), Home: b.TempDir(),
		RunDir: b.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	for b.Loop() {
		if exit, err := Run(context.Background(), s); err != nil || exit.Status != 0 {
			b.Fatalf("%+v, %v", exit, err)
		}
	}
}
