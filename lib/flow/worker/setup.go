package worker

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"tri/lib/base/text"
)

// Next says what follows tri-nats init for a folder, the keys in it, and the server's name or address.
func Next(dir string, keys []string, host string) string {
	return fmt.Sprintf(next, text.Quote(dir), strings.Join(keys, ", "), net.JoinHostPort(host, "4222"))
}

const next = `%[1]s has nats-server.conf and a key for each machine: %[2]s.

1. Here:         cd %[1]s && nats-server -c nats-server.conf
   and in config.yaml:
     nats: {url: "tls://%[3]s", seed_file: nats/hub.seed, ca_file: nats/ca.pem}
     investigator: {agent: claude, on: nats}
2. Here:         tri up
3. On a worker:  put worker1.seed and ca.pem into ~/.tri/nats, and into config.yaml:
     nats: {url: "tls://%[3]s", seed_file: nats/worker1.seed, ca_file: nats/ca.pem}
     investigator: {agent: claude}
     codebases: [{name: as-on-the-hub, path: /its/clone}]
   then:         tri-nats work
`

// End returns a channel that is closed when in, as the end of a pipe, has ended, or at once. What the pipe
// has is read from the log instead. Without a pipe it is nil.
func End(in io.Reader, now bool) <-chan struct{} {
	done := make(chan struct{})
	if now {
		close(done)
		return done
	}
	f, ok := in.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, f)
	}()
	return done
}

// Hostname returns the name by which a worker is shown; "worker" if the host has none.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "worker"
	}
	return name
}
