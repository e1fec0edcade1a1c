package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tri/lib/agent/remote"
)

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// appender writes a log, some hundred lines a second, and now and then a torn one that it completes.
type appender struct {
	lines int
	once  sync.Once
	quit  chan struct{}
	ended chan struct{}
}

func newAppender(name string, seed uint64) *appender {
	a := &appender{quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		defer f.Close()
		for n := 0; ; n++ {
			select {
			case <-a.quit:
				return
			case <-time.After(3 * time.Millisecond):
			}
			line := fmt.Sprintf(`{"n":%d,"at":%d,"pad":"%s"}`+"\n", n, time.Now().UnixNano(),
				strings.Repeat("x", (n*int(seed+7))%900))
			half := len(line) / 2
			_, err1 := io.WriteString(f, line[:half])
			_, err2 := io.WriteString(f, line[half:])
			if errors.Join(err1, err2) != nil {
				return
			}
			a.lines = n + 1
		}
	}()
	return a
}

func (a *appender) stop() {
	a.once.Do(func() { close(a.quit) })
	<-a.ended
}

// naive sends numbers and forgets each once it is acknowledged; its reader acknowledges what it has.
type naive struct {
	sent  int
	got   map[string]int
	quit  chan struct{}
	ended sync.WaitGroup
	mu    sync.Mutex
}

func newNaive(urls string) (*naive, error) {
	nc, err := nats.Connect(urls, nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(500*time.Millisecond))
	if err != nil {
		return nil, err
	}
	c, name := &naive{got: map[string]int{}, quit: make(chan struct{})}, "CONTROL-"+rand.Text()
	over := func() bool {
		select {
		case <-c.quit:
			return true
		default:
			return false
		}
	}
	again := func() {
		_, _ = js.CreateOrUpdateStream(context.Background(),
			jetstream.StreamConfig{Name: name, Subjects: []string{name}})
		_, _ = js.CreateOrUpdateConsumer(context.Background(), name,
			jetstream.ConsumerConfig{Durable: "copy", AckPolicy: jetstream.AckExplicitPolicy,
				AckWait: time.Second})
	}
	c.ended.Go(func() {
		for !over() {
			time.Sleep(3 * time.Millisecond)
			if _, err := js.Publish(context.Background(), name, fmt.Append(nil, c.sent),
				jetstream.WithMsgID(fmt.Sprint(c.sent))); err != nil {
				again()
				continue
			}
			c.sent++
		}
	})
	c.ended.Go(func() {
		for !over() {
			cons, err := js.Consumer(context.Background(), name, "copy")
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			b, err := cons.Fetch(64, jetstream.FetchMaxWait(200*time.Millisecond))
			if err != nil {
				continue
			}
			for m := range b.Messages() {
				c.mu.Lock()
				c.got[string(m.Data())]++
				c.mu.Unlock()
				_ = m.Ack()
			}
		}
		nc.Close()
	})
	return c, nil
}

func (c *naive) stop() {
	select {
	case <-c.quit:
	default:
		close(c.quit)
	}
	c.ended.Wait()
}

func (c *naive) judge() string {
	lost, doubled := 0, 0
	time.Sleep(3 * time.Second) // what is delivered again comes now
	c.stop()
	for n := range c.sent {
		switch k := c.got[fmt.Sprint(n)]; {
		case k == 0:
			lost++
		default:
			doubled += k - 1
		}
	}
	return fmt.Sprintf("a control that trusts the server: %d of %d lost, %d doubled", lost, c.sent, doubled)
}

// natsJobs: orders are given to relays while relays, workers and the server are killed.
func natsJobs(o options) error {
	w, err := newNats(o, 1)
	if err != nil {
		return err
	}
	defer w.end()
	for _, home := range []string{"w1", "w2", "w3"} {
		w.node(home, "tri-nats", "work", "--name", home)
	}
	if err := w.start(); err != nil {
		return err
	}
	return w.jobs("nats jobs", w.harm)
}

// jobs gives orders to relays while harm is done, some relays are killed, and judges the results.
func (w *natsWorld) jobs(name string, harm func() error) error {
	o := w.options
	head, err := exec.Command("git", "-C", w.path("code"), "rev-parse", "HEAD").Output()
	if err != nil {
		return err
	}
	jobs := max(o.rounds/2, 10)
	var relays, resultless, calm atomic.Int64 // calm: when the last kill was, in Unix time
	next, stop := make(chan int), make(chan struct{})
	results := make([]map[string]bool, jobs)
	var hands sync.WaitGroup
	begun := time.Now()
	for hand := range 4 {
		hands.Go(func() {
			for n := range next {
				results[n] = map[string]bool{}
				for try := 0; len(results[n]) == 0 && (calm.Load() == 0 ||
					time.Since(time.Unix(calm.Load(), 0)) < o.wait); try++ {
					relays.Add(1)
					r := w.relay(n, strings.TrimSpace(string(head)), try == 0 && (n+hand)%3 == 0)
					if r == nil {
						resultless.Add(1)
						continue
					}
					results[n][string(r.Value)] = r.Error == nil
				}
			}
		})
	}
	harmed := make(chan error, 1)
	go func() {
		err := w.harmUntil(stop, harm)
		calm.Store(time.Now().Unix())
		harmed <- err
	}()
	for n := range jobs {
		next <- n
	}
	close(next)
	hands.Wait()
	close(stop)
	if err := <-harmed; err != nil {
		return err
	}
	lost, failed := missing(results)
	starts, _ := os.ReadFile(w.path("starts"))
	fmt.Printf("%s: %d jobs, %d rounds in %v, kills %v, %d relays of which %d were killed or failed, runs started %d: results lost %d, both workers killed %d; %s\n",
		name, jobs, w.harmed, time.Since(begun).Round(time.Second), w.kills, relays.Load(), resultless.Load(),
		bytes.Count(starts, []byte("\n")), lost, failed, w.control.judge())
	if lost > 0 {
		return fmt.Errorf("%s: %d results lost", name, lost)
	}
	return nil
}

// harmUntil harms a part of the system in every round, until stop.
func (w *natsWorld) harmUntil(stop <-chan struct{}, harm func() error) error {
	for w.harmed < w.rounds {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Duration(300+w.rng.IntN(600)) * time.Millisecond):
		}
		if err := harm(); err != nil {
			return err
		}
	}
	return nil
}

// missing counts jobs without a result, and results that are an error: two workers died of the job.
func missing(results []map[string]bool) (lost, failed int) {
	for _, r := range results {
		if len(r) == 0 {
			lost++
		}
		for value, ok := range r {
			if !ok || value != `{"answer":42}` {
				failed++
			}
		}
	}
	return lost, failed
}

// relay asks for job n; killed says that the relay, and so the hub, is killed in the middle.
func (w *natsWorld) relay(n int, commit string, killed bool) *remote.Result {
	sum := sha256.Sum256(fmt.Appendf(nil, "job %d of %s", n, w.dir))
	o := remote.Order{
		V: remote.Version, ID: hex.EncodeToString(sum[:16]), Run: "r", Agent: "exec", Sandbox: "off",
		Codebase: "code", Commit: commit,
		Prompt: fmt.Sprint("job ", n), SessionID: "0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10",
		Schema: json.RawMessage(`{}`),
	}
	cmd := w.command("hub", "tri-nats", "run")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if errors.Join(err1, err2, cmd.Start()) != nil {
		return nil
	}
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	if json.NewEncoder(in).Encode(remote.Message{Order: &o}) != nil {
		return nil
	}
	if killed {
		time.AfterFunc(150*time.Millisecond, func() { _ = cmd.Process.Kill() })
	}
	give := time.AfterFunc(w.wait, func() { _ = cmd.Process.Kill() })
	defer give.Stop()
	r := remote.NewReader(bufio.NewReader(out))
	for {
		m, err := r.Next()
		if err != nil {
			return nil
		}
		if m.Result != nil {
			return m.Result
		}
	}
}

// natsDispatch: questions go through a dispatcher whose investigations run on workers, while dispatcher,
// workers and server are killed.
func natsDispatch(o options) error {
	w, err := newNats(o, 1)
	if err != nil {
		return err
	}
	defer w.end()
	n := min(max(o.rounds, 5), loaders)
	classified, err := w.questions(n)
	if err != nil {
		return err
	}
	for _, home := range []string{"w1", "w2"} {
		w.node(home, "tri-nats", "work", "--name", home)
	}
	if err := w.start(); err != nil {
		return err
	}
	begun, lives := time.Now(), 0
	for done := false; !done; {
		lives++
		cmd := w.command("hub", "tri-dispatch", "--once", classified)
		if err := cmd.Start(); err != nil {
			return err
		}
		if done, err = w.life(cmd, o, begun); err != nil {
			return err
		}
	}
	offered, doubled, err := w.offered()
	if err != nil {
		return err
	}
	rebuilt, err := said(w.command("hub", "tri-dispatch", "--rebuild"))
	fmt.Printf("nats dispatch: %d questions, %d rounds in %v, %d lives, kills %v: %d offered, %d doubled; %s; rebuild: %s",
		n, w.harmed, time.Since(begun).Round(time.Second), lives, w.kills, offered, doubled,
		w.control.judge(), rebuilt)
	switch {
	case err != nil:
		return err
	case doubled > 0 || offered != n:
		return fmt.Errorf("nats dispatch: %d of %d questions offered, %d doubled", offered, n, doubled)
	case !strings.Contains(string(rebuilt), " 0 rewritten"):
		return fmt.Errorf("nats dispatch: rebuild: %s", rebuilt)
	}
	return nil
}

// questions writes n classified questions of as many people, and returns their file.
func (w *natsWorld) questions(n int) (string, error) {
	var events bytes.Buffer
	for i := range n {
		seq := events.Len()
		fmt.Fprintf(&events,
			`{"platform":"local","chat_id":"dev","chat_name":"dev","message_id":"%d","create_time":"%s","msg_type":"text","content":"how often does loader %03d try?","thread_id":null,"sender":{"id":"u%d","type":"user"},"mentions":[],"seq":%d,"is_question":true,"classification":"actionable","reasons":[]}`+"\n",
			i, time.Now().UTC().Format(time.RFC3339), i, i, seq)
	}
	plain := w.path("hub", "events.ndjson")
	if err := os.WriteFile(plain, events.Bytes(), 0o600); err != nil {
		return "", err
	}
	classified := w.path("hub", "events-classified.ndjson")
	if out, err := said(w.command("hub", "tri-classify", "--out", classified, plain)); err != nil {
		return "", fmt.Errorf("classify: %w: %s", err, out)
	}
	return classified, nil
}

// life harms the system while a dispatcher runs, and kills or ends that after some seconds; once the time of
// the rounds is over it is left to end. done is true if it ended by itself.
func (w *natsWorld) life(cmd *exec.Cmd, o options, begun time.Time) (done bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	calm := time.Since(begun) > time.Duration(o.rounds)*500*time.Millisecond
	life := time.Duration(1500+w.rng.IntN(2500)) * time.Millisecond
	if calm {
		life = o.wait
	}
	end := time.After(life)
	for alive := true; alive; {
		select {
		case err := <-ended:
			alive, done = false, err == nil
		case <-end:
			signal, name := syscall.SIGKILL, "dispatch"
			if w.rng.IntN(2) == 0 {
				signal, name = syscall.SIGTERM, "dispatch by TERM"
			}
			_ = cmd.Process.Signal(signal)
			w.kills[name]++
			late := time.AfterFunc(o.wait, func() { _ = cmd.Process.Kill() })
			<-ended
			alive = false
			if !late.Stop() || calm {
				return false, errors.New("nats dispatch: it does not come to rest")
			}
		case <-time.After(400 * time.Millisecond):
			if !calm {
				if err := w.harm(); err != nil {
					return false, err
				}
			}
		}
	}
	return done, nil
}

// offered counts the questions with an offer, and surplus offers.
func (w *natsWorld) offered() (questions, doubled int, err error) {
	offers := map[string]int{}
	text, err := os.ReadFile(w.path("hub", "decisions.ndjson"))
	if err != nil {
		return 0, 0, err
	}
	for line := range bytes.Lines(text) {
		var d struct {
			Kind, Key string
			Cycle     int
		}
		if err := json.Unmarshal(line, &d); err != nil {
			return 0, 0, err
		}
		if d.Kind == "offer" {
			offers[fmt.Sprint(d.Key, d.Cycle)]++
		}
	}
	for _, k := range offers {
		doubled += k - 1
	}
	return len(offers), doubled, nil
}
