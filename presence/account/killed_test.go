package account

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/gotd/td/exchange"
	"github.com/gotd/td/tg"

	"tri/lib/base/durable"
)

// TestMain is also the program that TestKilled kills.
func TestMain(m *testing.M) {
	if os.Getenv("PRESENCE_HOME") == "" {
		os.Exit(m.Run())
	}
	der, err := base64.StdEncoding.DecodeString(os.Getenv("PRESENCE_KEY"))
	if err != nil {
		panic(err)
	}
	key, err := x509.ParsePKCS1PublicKey(der)
	if err != nil {
		panic(err)
	}
	s := &server{key: exchange.PublicKey{RSA: key}}
	if s.port, err = strconv.Atoi(os.Getenv("PRESENCE_PORT")); err != nil {
		panic(err)
	}
	home, err := durable.OpenHome(os.Getenv("PRESENCE_HOME"))
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, Options{Home: home, Chats: []string{"-5"}, APIID: 1, server: s.use,
		Session: os.Getenv("PRESENCE_SESSION"), Say: func(format string, args ...any) {
			fmt.Printf(format+"\n", args...)
		}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestKilled: a run that is killed leaves a session with which the next one listens, and a record that
// expires; one that is asked to stop ends with 0.
func TestKilled(t *testing.T) {
	s := newServer(t)
	o, _ := s.at(t)
	makeSession(t, o)
	asks(t, o.Home, "-5", "11")
	for i := range 4 {
		program := exec.CommandContext(t.Context(), os.Args[0])
		program.Env = append(os.Environ(), "PRESENCE_HOME="+o.Home.Dir(), "PRESENCE_SESSION="+o.Session,
			fmt.Sprint("PRESENCE_PORT=", s.port),
			"PRESENCE_KEY="+base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(s.key.RSA)))
		program.Stderr = os.Stderr
		out, err := program.StdoutPipe()
		if err == nil {
			err = program.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || said != "listens as user 777\n" {
			t.Fatalf("it said %q: %v", said, err)
		}
		var action tg.SendMessageActionClass = &tg.SendMessageTypingAction{}
		if i%2 == 1 {
			action = &tg.SendMessageGamePlayAction{}
		}
		s.update(t, inGroup(11, action))
		for typed(t, o.Home, 1)[0].Kind != kindOf(action) { // else it is that of the one before
		}
		if i < 3 {
			if err := program.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = program.Wait() // killed
			continue
		}
		if err := program.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := program.Wait(); err != nil {
			t.Errorf("asked to stop: %v", err)
		}
	}
	typed(t, o.Home, 0)
}
