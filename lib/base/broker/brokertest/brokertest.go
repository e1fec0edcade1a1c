// Package brokertest starts the real NATS server for the tests of other packages.
package brokertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/base/broker"
	"tri/lib/base/config"
)

// Serve starts the server with the configuration of tri-nats init for two workers, in which edit, if not
// nil, replaces text, and returns the folder of the keys. Without a server in $TRI_BIN the test is skipped.
func Serve(t *testing.T, edit *strings.Replacer) (dir, url string) {
	t.Helper()
	dir, url, _ = Lossy(t, edit)
	return dir, url
}

// Lossy is Serve with a function that has the server lose its disk: it is killed, and starts anew.
func Lossy(t *testing.T, edit *strings.Replacer) (dir, url string, lose func()) {
	t.Helper()
	server := filepath.Join(os.Getenv("TRI_BIN"), "nats-server")
	if _, err := os.Stat(server); err != nil {
		t.Skip("make bin/nats-server builds the server; TRI_BIN names its folder")
	}
	dir = filepath.Join(t.TempDir(), "nats")
	if _, err := broker.Init(dir, []string{"127.0.0.1"}, 2); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "nats-server.conf")
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.Replace(string(text), "0.0.0.0:4222", address, 1)
	if edit != nil {
		s = edit.Replace(s)
	}
	if err := os.WriteFile(conf, []byte(s), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := start(t, server, dir, address)
	t.Cleanup(func() { stop() })
	return dir, "tls://" + address, func() {
		stop()
		if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
			t.Fatal(err)
		}
		stop = start(t, server, dir, address)
	}
}

// start starts the server and waits until it answers.
func start(t *testing.T, server, dir, address string) (stop func()) {
	t.Helper()
	cmd := exec.Command(server, "-c", "nats-server.conf")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // agenttest looks for processes of a run by their variables
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return stop
		}
		if time.Now().After(end) {
			stop()
			t.Fatal("the server does not answer")
		}
	}
}

// Config returns the configuration of a machine of Serve's server.
func Config(dir, url, name string) config.Nats {
	return config.Nats{URL: url, SeedFile: filepath.Join(dir, name+".seed"),
		CAFile: filepath.Join(dir, "ca.pem"), Replicas: 1, LeaseS: 2}
}

// Open connects to Serve's server with the key of a machine.
func Open(t *testing.T, dir, url, name string) *broker.Conn {
	t.Helper()
	c, err := broker.Open(t.Context(), Config(dir, url, name), fmt.Sprint("test ", name), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
