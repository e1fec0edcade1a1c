package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/durable"
)

// natsWorld is a hub, a machine with a copy, workers and servers, each a folder of one machine.
type natsWorld struct {
	options
	dir   string
	rng   *rand.Rand
	nodes []*natsNode
	kills map[string]int

	harmed  int    // rounds
	address string // of the first server
	urls    string // for the control
	control *naive // trusts the server
}

// natsNode is a process that is killed and started again.
type natsNode struct {
	kind string
	make func() *exec.Cmd
	wipe string // a folder that a power cut takes
	cmd  *exec.Cmd
}

func newNats(o options, servers int) (*natsWorld, error) {
	if _, err := os.Stat(filepath.Join(o.bin, "nats-server")); err != nil {
		return nil, fmt.Errorf("%w: make bin/nats-server: %w", errSkip, err)
	}
	dir, err := os.MkdirTemp("", "torture-nats")
	if err != nil {
		return nil, err
	}
	w := &natsWorld{options: o, dir: dir, rng: rand.New(rand.NewPCG(o.seed, 7)), kills: map[string]int{}}
	ports, err := freePorts(2 * servers)
	if err != nil {
		return nil, err
	}
	w.address = fmt.Sprintf("127.0.0.1:%d", ports[0])
	var urls, routes []string
	for i := range servers {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
		routes = append(routes, fmt.Sprintf(`"nats://127.0.0.1:%d"`, ports[servers+i]))
	}
	w.urls = strings.Join(urls, ",")
	for i := range servers {
		conf := fmt.Sprintf("listen: 127.0.0.1:%d\nserver_name: s%d\nmax_payload: 2MB\njetstream { store_dir: %q }\n", ports[i], i, w.path(fmt.Sprint("store", i)))
		if servers > 1 {
			conf += fmt.Sprintf("cluster { name: c, listen: 127.0.0.1:%d, routes: [%s] }\n", ports[servers+i],
				strings.Join(routes, ", "))
		}
		name := w.path(fmt.Sprint("server", i, ".conf"))
		if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
			return nil, err
		}
		n := w.node("server", "nats-server", "-c", name)
		n.wipe = w.path(fmt.Sprint("store", i))
	}
	for _, home := range []string{"hub", "copy", "w1", "w2", "w3"} {
		conf := fmt.Sprintf("nats: {url: %q, replicas: %d, lease_s: 2}\ncodebases: [{name: code, path: %s}]\n", w.urls, servers, w.path("code"))
		if home != "hub" {
			conf += fmt.Sprintf("sandbox: off\ninvestigator: {agent: exec, command: [bash, %s]}\n",
				w.path("agent"))
		} else {
			conf += "sandbox: off\ninvestigator: {agent: search, on: nats}\nbudget: {investigations_per_day: 0}\n"
		}
		if err := errors.Join(os.Mkdir(w.path(home), 0o700),
			os.WriteFile(w.path(home, "config.yaml"), []byte(conf), 0o600)); err != nil {
			return nil, err
		}
	}
	return w, w.code()
}

func (w *natsWorld) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

// loaders is how many constants the codebase has, and so how many questions can be asked about it.
const loaders = 400

// code makes the codebase with one commit, and an agent that takes 200 ms.
func (w *natsWorld) code() error {
	script := "echo start >>" + w.path("starts") + "; sleep 0.2; echo '{\"answer\":42}'\n"
	err := errors.Join(os.Mkdir(w.path("code"), 0o755), os.WriteFile(w.path("agent"), []byte(script), 0o600))
	for file := range loaders / 10 {
		src := "package code\n"
		for n := 10 * file; n < 10*file+10; n++ {
			src += fmt.Sprintf("\n// %[1]s is how often loader %03[2]d tries.\nconst %[1]s = %[2]d\n", token(n), n)
		}
		err = errors.Join(err, os.WriteFile(w.path("code", fmt.Sprintf("loaders%02d.go", file)),
			[]byte(src), 0o644))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"}} {
		out, gerr := exec.Command("git", append([]string{"-C", w.path("code")}, args...)...).CombinedOutput()
		if gerr != nil {
			err = errors.Join(err, fmt.Errorf("git %q: %w: %s", args, gerr, out))
		}
	}
	return err
}

// command is a program of a home. Its words go to a file of the home.
func (w *natsWorld) command(home, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Env = append(os.Environ(), "PATH="+w.bin+":"+os.Getenv("PATH"), "TRI_HOME="+w.path(home),
		"GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	f, err := os.OpenFile(w.path(home+"-"+name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		cmd.Stderr = f
	}
	return cmd
}

// node adds a process of kind, named like the home that it has.
func (w *natsWorld) node(kind, name string, args ...string) *natsNode {
	n := &natsNode{kind: kind, make: func() *exec.Cmd { return w.command(kind, name, args...) }}
	w.nodes = append(w.nodes, n)
	return n
}

func (n *natsNode) start() error {
	n.cmd = n.make()
	return n.cmd.Start()
}

func (n *natsNode) kill() {
	if n.cmd != nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

func (w *natsWorld) start() (err error) {
	for _, n := range w.nodes {
		if err := n.start(); err != nil {
			return err
		}
	}
	w.control, err = newNaive(w.urls)
	return err
}

func (w *natsWorld) end() {
	if w.control != nil {
		w.control.stop()
	}
	for _, n := range w.nodes {
		n.kill()
	}
	if !w.keep {
		_ = os.RemoveAll(w.dir)
	}
}

// harm kills a random part of the nodes, at most one server; one that is the only server loses its disk
// too one time in sixteen, and as often all that it stored since an earlier kill.
func (w *natsWorld) harm() error {
	w.harmed++
	servers := 0
	var hit []*natsNode
	for _, n := range w.nodes {
		if w.rng.IntN(3) > 0 || n.kind == "server" && servers > 0 {
			continue
		}
		n.kill()
		w.kills[n.kind]++
		hit = append(hit, n)
		if n.kind == "server" {
			servers++
		}
	}
	single := w.nodes[0].kind == "server" && w.nodes[1].kind != "server"
	for _, n := range hit {
		if n.kind == "server" && single {
			if err := w.cutPower(n); err != nil {
				return err
			}
		}
	}
	time.Sleep(time.Duration(w.rng.IntN(150)) * time.Millisecond) // it stays down for a while
	for _, n := range hit {
		if err := n.start(); err != nil {
			return err
		}
	}
	return nil
}

// cutPower leaves of a dead server's disk nothing, or what it was at an earlier call, or all.
func (w *natsWorld) cutPower(n *natsNode) error {
	synced := n.wipe + ".synced"
	_, none := os.Stat(synced)
	switch k := w.rng.IntN(16); {
	case k == 0:
		w.kills["disk lost"]++
		return os.RemoveAll(n.wipe)
	case k == 1 && none == nil:
		w.kills["disk of before"]++
		return errors.Join(os.RemoveAll(n.wipe), os.CopyFS(n.wipe, os.DirFS(synced)))
	case k < 5:
		return errors.Join(os.RemoveAll(synced), os.CopyFS(synced, os.DirFS(n.wipe)))
	}
	return nil
}

// overNats tortures the copy of a log, then jobs, then a dispatcher whose runs are elsewhere, a cluster,
// and a bad network.
func overNats(o options) error {
	for _, part := range []struct {
		name string
		run  func(options) error
	}{{"logs", natsLogs}, {"jobs", natsJobs}, {"dispatch", natsDispatch}, {"cluster", natsCluster},
		{"network", natsNetwork}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		if err := part.run(o); err != nil {
			return err
		}
	}
	return nil
}

// natsLogs: a log is appended to while publisher, subscriber and server are killed and the server's disk is
// lost. Beside it a control sends the same lines and trusts acknowledgements.
func natsLogs(o options) error {
	w, err := newNats(o, 1)
	if err != nil {
		return err
	}
	defer w.end()
	w.node("hub", "tri-nats", "pub", "events")
	w.node("copy", "tri-nats", "sub", "events")
	appended := newAppender(w.path("hub", "events.ndjson"), o.seed)
	defer appended.stop()
	if err := w.start(); err != nil {
		return err
	}
	begun := time.Now()
	for range o.rounds {
		time.Sleep(time.Duration(80+w.rng.IntN(250)) * time.Millisecond)
		if err := w.harm(); err != nil {
			return err
		}
	}
	appended.stop()
	err = sameFile(w.path("hub", "events.ndjson"), w.path("copy", "events.ndjson"), o.wait)
	fmt.Printf("nats logs: %d rounds in %v, kills %v, %d lines: copy equal %v; %s\n",
		w.harmed, time.Since(begun).Round(time.Second), w.kills, appended.lines, err == nil,
		w.control.judge())
	count(counts{messages: appended.lines})
	return err
}

// sameFile waits until b is a, byte for byte.
func sameFile(a, b string, wait time.Duration) error {
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		x, err1 := os.ReadFile(a)
		y, err2 := os.ReadFile(b)
		if err1 == nil && err2 == nil && bytes.Equal(x, y) {
			h, err := durable.Open(filepath.Dir(b))
			if err != nil {
				return err
			}
			defer h.Close()
			return h.Check(filepath.Base(b), 0) // its own sums
		}
		if !bytes.HasPrefix(x, y) || time.Now().After(end) {
			return errors.Join(err1, err2,
				fmt.Errorf("the copy has %d bytes of %d, the same: %v", len(y), len(x),
					bytes.HasPrefix(x, y)))
		}
	}
}

// natsCluster: three servers, of which any one is killed at a time, and every second one loses its disk.
func natsCluster(o options) error {
	w, err := newNats(o, 3)
	if err != nil {
		return err
	}
	defer w.end()
	w.node("hub", "tri-nats", "pub", "events")
	w.node("copy", "tri-nats", "sub", "events")
	appended := newAppender(w.path("hub", "events.ndjson"), o.seed)
	defer appended.stop()
	if err := w.start(); err != nil {
		return err
	}
	for !soon(func() bool { return size(w.path("copy", "events.ndjson")) > 0 }) {
		return errors.New("nats cluster: no line has come")
	}
	var stalls []time.Duration
	for i := range max(o.rounds/40, 2) {
		n := w.nodes[w.rng.IntN(3)]
		n.kill()
		if w.kills["server"]++; i%2 == 1 {
			w.kills["disk"]++
			if err := os.RemoveAll(n.wipe); err != nil {
				return err
			}
		}
		want, at := size(w.path("hub", "events.ndjson")), time.Now()
		for size(w.path("copy", "events.ndjson")) < want {
			if time.Since(at) > o.wait {
				return fmt.Errorf("nats cluster: the copy stays %d bytes behind",
					want-size(w.path("copy", "events.ndjson")))
			}
			time.Sleep(5 * time.Millisecond)
		}
		stalls = append(stalls, time.Since(at).Round(10*time.Millisecond))
		if err := n.start(); err != nil {
			return err
		}
		// until the three are equal again: a second death would be a loss of quorum
		time.Sleep(4 * time.Second)
	}
	appended.stop()
	err = sameFile(w.path("hub", "events.ndjson"), w.path("copy", "events.ndjson"), o.wait)
	fmt.Printf("nats cluster of three: kills %v, %d lines: copy equal %v; behind after each kill %v; %s\n",
		w.kills, appended.lines, err == nil, stalls, w.control.judge())
	return err
}

// said runs a command and returns what it prints.
func said(cmd *exec.Cmd) ([]byte, error) {
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	return b.Bytes(), err
}
