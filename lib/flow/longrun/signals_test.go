package longrun

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signals is what lib/base/cli does for a program.
func signals() (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGHUP)
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}
