package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/agent/remote"
	limits "tri/lib/agent/supervise"
	"tri/lib/base/broker"
	"tri/lib/base/config"
	"tri/lib/flow/worker"
)

// BenchmarkNats measures what examples/nats/FIGURES.md reports, with the programs and the server of $TRI_BIN:
//
//	TRI_BIN=$PWD/bin go test -C scripts -run '^$' -bench Nats -benchtime 1x ./torture
func BenchmarkNats(b *testing.B) {
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("wait200ms/workers=%d", n), func(b *testing.B) { benchJobs(b, n, "exec", 60) })
	}
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("search/workers=%d", n), func(b *testing.B) { benchJobs(b, n, "search", 24) })
	}
	b.Run("latency", benchLatency)
	for _, sync := range []string{"2m", "always"} {
		b.Run("publish/sync="+sync, func(b *testing.B) { benchPublish(b, sync) })
	}
	for _, rate := range []float64{100, 1000, 4000, 7000, 10000} {
		b.Run(fmt.Sprintf("simulated/messages=%g", rate), func(b *testing.B) { benchSimulated(b, rate) })
	}
	b.Run("relays", benchRelays)
}

func benchNats(b *testing.B) *natsWorld {
	w, err := newNats(options{bin: os.Getenv("TRI_BIN"), wait: time.Minute, seed: 1}, 1)
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(w.end)
	return w
}

func quantiles(b *testing.B, name string, all []time.Duration, shares ...float64) {
	slices.Sort(all)
	for _, p := range shares {
		at := all[min(int(p*float64(len(all))), len(all)-1)]
		b.ReportMetric(float64(at.Microseconds())/1000, fmt.Sprintf("ms_%s_p%g", name, 100*p))
	}
}

// benchJobs has jobs done that are all there at once.
func benchJobs(b *testing.B, workers int, agent string, jobs int) {
	w := benchNats(b)
	code := w.path("code")
	if agent == "search" { // of this repository's own code
		if out, err := exec.Command("git", "clone", "-q", "--depth", "1", "file://"+repository(b),
			w.path("tri")).CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
		code = w.path("tri")
	}
	head, err := exec.Command("git", "-C", code, "rev-parse", "HEAD").Output()
	if err != nil {
		b.Fatal(err)
	}
	for i := range workers {
		home := fmt.Sprint("bench", i)
		conf := fmt.Sprintf("nats: {url: %q}\ncodebases: [{name: code, path: %s}]\nsandbox: off\n"+
			"investigator: {agent: exec, command: [bash, %s]}\n", w.urls, code, w.path("agent"))
		if err := os.Mkdir(w.path(home), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(w.path(home, "config.yaml"), []byte(conf), 0o600); err != nil {
			b.Fatal(err)
		}
		w.node(home, "tri-nats", "work", "--name", home)
	}
	if err := w.start(); err != nil {
		b.Fatal(err)
	}
	w.control.stop()
	conn, err := broker.Wait(b.Context(), config.Nats{URL: w.urls, Replicas: 1, LeaseS: 30}, "bench", b.Logf)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Hub(b.Context()); err != nil {
		b.Fatal(err)
	}
	for len(who(b, conn)) < workers {
		time.Sleep(10 * time.Millisecond)
	}
	waits := make([]time.Duration, jobs)
	var all sync.WaitGroup
	begun := time.Now()
	for n := range jobs {
		all.Go(func() { waits[n] = benchJob(b, conn, agent, n, strings.TrimSpace(string(head))) })
	}
	all.Wait()
	b.ReportMetric(float64(jobs)/time.Since(begun).Seconds(), "runs/s")
	quantiles(b, "wait", waits, 0.5, 0.95)
}

func who(b *testing.B, c *broker.Conn) [][]byte {
	all, err := c.Who(b.Context(), 200*time.Millisecond)
	if err != nil {
		b.Fatal(err)
	}
	return all
}

func repository(b *testing.B) string {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// asked are questions about this repository's code.
var asked = []string{"how long may an agent be silent?", "where is a torn tail of a log cut?",
	"what is the default of offer_expires_h?", "which status means try again later?",
	"how many lines are on the way to the server at once?", "what ends a run that is no longer due?"}

// benchJob returns how long a job waited for its worker.
func benchJob(b *testing.B, conn *broker.Conn, agent string, n int, commit string) (wait time.Duration) {
	sum := sha256.Sum256(fmt.Append(nil, n, time.Now()))
	o := remote.Order{V: remote.Version, ID: hex.EncodeToString(sum[:16]), Run: "r", Agent: agent,
		Sandbox: "off", Codebase: "code", Commit: commit, Prompt: "?", Question: asked[n%len(asked)],
		SessionID: "0b6f6f5e-6c1d-4d8e-9a43-0f6f3f8f2a10", Schema: json.RawMessage(`{}`)}
	in, order := io.Pipe()
	result, out := io.Pipe()
	defer order.Close()
	go func() {
		_ = (&worker.Relay{Conn: conn}).Run(b.Context(), in, out)
		out.Close()
	}()
	begun := time.Now()
	if err := json.NewEncoder(order).Encode(remote.Message{Order: &o}); err != nil {
		b.Error(err)
	}
	r := remote.NewReader(bufio.NewReader(result))
	for {
		m, err := r.Next()
		if err != nil {
			b.Errorf("job %d has no result: %v", n, err)
			return wait
		}
		if m.Taken != nil {
			wait = time.Since(begun)
		}
		if m.Result != nil {
			if m.Result.Error != nil && agent == "exec" {
				b.Errorf("job %d: %v", n, m.Result.Error.Message)
			}
			return wait
		}
	}
}

// benchLatency measures from the append of a line to its fsynced copy.
func benchLatency(b *testing.B) {
	w := benchNats(b)
	w.node("hub", "tri-nats", "pub", "events")
	w.node("copy", "tri-nats", "sub", "events")
	if err := w.start(); err != nil {
		b.Fatal(err)
	}
	w.control.stop()
	f, err := os.OpenFile(w.path("hub", "events.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(`{"pad":"` + strings.Repeat("x", 500) + `"}` + "\n")
	var all []time.Duration
	for n := range int64(500) {
		begun := time.Now()
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		for size(w.path("copy", "events.ndjson")) < (n+1)*int64(len(line)) {
			if time.Since(begun) > time.Minute {
				b.Fatal("no copy")
			}
			time.Sleep(200 * time.Microsecond)
		}
		if n > 0 { // the first waits for connections
			all = append(all, time.Since(begun))
		}
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
	}
	quantiles(b, "copy", all, 0.5, 0.99)
}

// benchPublish measures how fast a log that is there is sent and copied.
func benchPublish(b *testing.B, sync string) {
	w := benchNats(b)
	conf := w.path("server0.conf")
	text, err := os.ReadFile(conf)
	if err == nil {
		err = os.WriteFile(conf, bytes.Replace(text, []byte("jetstream {"),
			[]byte("jetstream { sync_interval: "+sync+", "), 1), 0o600)
	}
	const lines = 20000
	log := bytes.Repeat([]byte(`{"pad":"`+strings.Repeat("x", 500)+`"}`+"\n"), lines)
	if err == nil {
		err = os.WriteFile(w.path("hub", "events.ndjson"), log, 0o600)
	}
	if err == nil {
		err = w.start()
	}
	if err != nil {
		b.Fatal(err)
	}
	w.control.stop()
	begun := time.Now()
	if out, err := said(w.command("hub", "tri-nats", "pub", "--once", "events")); err != nil {
		b.Fatal(err, string(out))
	}
	b.ReportMetric(lines/time.Since(begun).Seconds(), "lines/s_sent")
	begun = time.Now()
	if err := w.node("copy", "tri-nats", "sub", "events").start(); err != nil {
		b.Fatal(err)
	}
	if err := sameFile(w.path("hub", "events.ndjson"), filepath.Join(w.path("copy"), "events.ndjson"),
		5*time.Minute); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(lines/time.Since(begun).Seconds(), "lines/s_copied")
}

// What one message costs the dispatcher, and the sender of a log: measured, see examples/nats/FIGURES.md.
const (
	eventCost = 200 * time.Microsecond
	lineCost  = time.Second / 7027
)

// benchSimulated has messages arrive at random for a minute at servers that take a fixed time for each, and
// reports how late they are done: a queue grows where more arrive than that.
func benchSimulated(b *testing.B, rate float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, service := range map[string]time.Duration{"dispatch": eventCost, "publish": lineCost} {
		var at, free float64 // seconds
		var late []time.Duration
		for at < 60 {
			at += rng.ExpFloat64() / rate
			free = max(free, at) + service.Seconds()
			late = append(late, time.Duration((free-at)*1e9))
		}
		quantiles(b, name, late, 0.5, 0.99)
	}
}

// benchRelays measures what a run that waits for a worker costs: the hub, where it is a tri-nats run, and the
// server.
func benchRelays(b *testing.B) {
	w := benchNats(b)
	if err := w.start(); err != nil {
		b.Fatal(err)
	}
	w.control.stop()
	const n, span = 50, 10 * time.Second
	all := []*exec.Cmd{w.nodes[0].cmd}
	for i := range n {
		sum := sha256.Sum256(fmt.Append(nil, i))
		order, err := json.Marshal(remote.Message{Order: &remote.Order{V: remote.Version,
			ID: hex.EncodeToString(sum[:16]), Codebase: "code"}})
		if err != nil {
			b.Fatal(err)
		}
		cmd := w.command("hub", "tri-nats", "run")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil {
			_, err = in.Write(append(order, '\n'))
		}
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		all = append(all, cmd)
	}
	used := func(all []*exec.Cmd) (sum time.Duration) {
		for _, cmd := range all {
			sum += limits.CPUTime(cmd.Process.Pid)
		}
		return sum
	}
	time.Sleep(span) // they connect
	before, server := used(all[1:]), used(all[:1])
	time.Sleep(span)
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / span.Seconds() / n }
	b.ReportMetric(share(used(all[1:])-before), "%core/run")
	b.ReportMetric(share(used(all[:1])-server), "%core_server/run")
}
