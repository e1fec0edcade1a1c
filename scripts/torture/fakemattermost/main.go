// Fakemattermost is a Mattermost server in memory for programs to be tried
// against: a bot "tri", three people, two channels, and faults on demand. It
// prints what there is as one line of JSON (url, tokens, ids) and then serves
// until it is killed. What people do, and faults, come in over /_fake/, which
// lib/chat/mattermost/mattermosttest/control.go describes.
//
//	fakemattermost -addr 127.0.0.1:18066 -faults '{"seed":1,"drop_answer":0.2}'
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"tri/lib/chat/mattermost/mattermosttest"
)

func main() {
	addr := flag.String("addr", "", "listen on `HOST:PORT` (default: a free port of the loopback)")
	faults := flag.String("faults", "{}", "begin with these faults, as `JSON`")
	flag.Parse()
	if err := serve(*addr, *faults); err != nil {
		fmt.Fprintf(os.Stderr, "fakemattermost: %v\n", err)
		os.Exit(1)
	}
}

func serve(addr, faults string) error {
	var f mattermosttest.Faults
	if err := json.Unmarshal([]byte(faults), &f); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	s, err := mattermosttest.New(addr)
	if err != nil {
		return err
	}
	defer s.Close()
	s.AddUser("tri", true)
	for _, name := range []string{"ana", "ben", "chen"} {
		s.AddUser(name, false)
	}
	for _, name := range []string{"town-square", "dev"} {
		s.AddChannel(name)
	}
	if err := s.SetFaults(f); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.World()); err != nil {
		return err
	}
	<-stop
	return nil
}
