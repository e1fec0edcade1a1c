package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// badNet is a network between a machine and the server: it delays each piece of every connection by a
// time of its own, so that what was sent later on another connection arrives before, and it cuts and
// holds connections.
type badNet struct {
	l     net.Listener
	to    string
	mu    sync.Mutex
	rng   *rand.Rand
	conns map[net.Conn]bool
	held  time.Time // nothing passes before
	cuts  int
}

func newBadNet(to string, seed uint64) (*badNet, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &badNet{l: l, to: to, rng: rand.New(rand.NewPCG(seed, 11)), conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			b.mu.Lock()
			b.conns[c], b.conns[s] = true, true
			b.mu.Unlock()
			go b.pass(c, s)
			go b.pass(s, c)
		}
	}()
	return b, nil
}

// pass passes on what a reads to b, late and in pieces.
func (n *badNet) pass(a, b net.Conn) {
	defer a.Close()
	defer b.Close()
	buf := make([]byte, 4096)
	for {
		k, err := a.Read(buf)
		if err != nil {
			return
		}
		n.mu.Lock()
		late := time.Duration(n.rng.ExpFloat64() * 3e6) // 3 ms in the mean
		if n.rng.IntN(50) == 0 {
			late += time.Duration(n.rng.IntN(200)) * time.Millisecond
		}
		late = max(late, time.Until(n.held))
		half := n.rng.IntN(k + 1)
		n.mu.Unlock()
		time.Sleep(late)
		if _, err := b.Write(buf[:half]); err != nil {
			return
		}
		if _, err := b.Write(buf[half:k]); err != nil {
			return
		}
	}
}

// worsen cuts all connections, or holds them.
func (n *badNet) worsen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cuts++; n.rng.IntN(3) == 0 {
		n.held = time.Now().Add(time.Duration(n.rng.IntN(1500)) * time.Millisecond)
		return
	}
	for c := range n.conns {
		c.Close()
		delete(n.conns, c)
	}
}

func (n *badNet) end() { n.l.Close(); n.worsen() }

// natsNetwork: a log is copied, and then jobs are done, over networks that are slow and cut, one for each
// machine; a control that trusts acknowledgements uses the publisher's.
func natsNetwork(o options) error {
	w, err := newNats(o, 1)
	if err != nil {
		return err
	}
	defer w.end()
	var nets []*badNet
	for i, home := range []string{"hub", "copy", "w1", "w2"} {
		n, err := newBadNet(w.address, w.seed+uint64(i))
		if err != nil {
			return err
		}
		defer n.end()
		nets = append(nets, n)
		text, err := os.ReadFile(w.path(home, "config.yaml"))
		if err == nil {
			err = os.WriteFile(w.path(home, "config.yaml"),
				bytes.ReplaceAll(text, []byte(w.address), []byte(n.l.Addr().String())), 0o600)
		}
		if err != nil {
			return err
		}
	}
	w.node("hub", "tri-nats", "pub", "events")
	w.node("copy", "tri-nats", "sub", "events")
	w.urls = nets[0].l.Addr().String()
	appended := newAppender(w.path("hub", "events.ndjson"), o.seed)
	defer appended.stop()
	if err := w.start(); err != nil {
		return err
	}
	begun := time.Now()
	for range o.rounds {
		time.Sleep(time.Duration(50+w.rng.IntN(250)) * time.Millisecond)
		nets[w.rng.IntN(2)].worsen()
	}
	appended.stop()
	err = sameFile(w.path("hub", "events.ndjson"), w.path("copy", "events.ndjson"), o.wait)
	fmt.Printf("nats network: %d faults in %v, %d lines: copy equal %v; %s\n", nets[0].cuts+nets[1].cuts,
		time.Since(begun).Round(time.Second), appended.lines, err == nil, w.control.judge())
	if err != nil {
		return err
	}
	if w.control, err = newNaive(w.urls); err != nil {
		return err
	}
	for _, home := range []string{"w1", "w2"} {
		if err := w.node(home, "tri-nats", "work", "--name", home).start(); err != nil {
			return err
		}
	}
	return w.jobs("nats network jobs", func() error {
		w.harmed++
		nets[w.rng.IntN(len(nets))].worsen()
		return nil
	})
}
