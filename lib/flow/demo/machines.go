package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/thread"
)

// machine is one of the demo's machines: a folder with a home of its own, and the program that stays.
type machine struct {
	name, role string // of its folder and its key
	args       []string
	cmd        *exec.Cmd
}

// presence is how tri-nats status --json shows a worker.
type presence struct {
	Worker  string `json:"worker"`
	Running int    `json:"running"`
}

// machines shows a hub, a server, two workers and a standby, of which the busy worker is killed. All of
// them are programs on this machine that talk over loopback.
func machines(ctx context.Context, o Options) (err error) {
	o.Dir = cmp.Or(o.Dir, "demo")
	d := &demo{Options: o}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	server, err := d.server()
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return sysexit.With(sysexit.Unavailable, err)
	}
	d.title("1. A server and four machines, all of them programs on this one")
	if err := d.prepareMachines(ctx, port); err != nil {
		return err
	}
	all := []*machine{
		{name: "worker1", role: "worker1", args: []string{"tri-nats", "work", "--name", "worker1"}},
		{name: "worker2", role: "worker2", args: []string{"tri-nats", "work", "--name", "worker2"}},
		{name: "standby", role: "copy", args: []string{"tri-nats", "sub", "all"}},
	}
	nats := &machine{name: "home/nats", args: []string{server, "-c", "nats-server.conf", "-a", "127.0.0.1",
		"-p", port}}
	defer func() { err = errors.Join(err, halt(append(all, nats))) }()
	if err := d.on(ctx, nats); err != nil {
		return err
	}
	for _, m := range all {
		if err := d.on(ctx, m); err != nil {
			return err
		}
	}
	end, err := d.pipeline(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := d.lose(ctx, all); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// server returns the path of nats-server, beside the programs or on PATH.
func (d *demo) server() (string, error) {
	if beside := filepath.Join(d.Bin, "nats-server"); d.Bin != "" {
		if _, err := os.Stat(beside); err == nil {
			return filepath.Abs(beside)
		}
	}
	path, err := exec.LookPath("nats-server")
	if err != nil {
		return "", sysexit.Hint(sysexit.With(sysexit.Unavailable, fmt.Errorf("demo: %w", err)),
			"install nats-server 2.15.2 or newer (https://github.com/nats-io/nats-server/releases),\n"+
				"or in the source of tri: make bin/nats-server")
	}
	return filepath.Abs(path)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// prepareMachines writes the room, the code, the keys, and the configuration of each machine.
func (d *demo) prepareMachines(ctx context.Context, port string) error {
	d.Codebase = "."
	if err := d.folders("chat", "home", "code", "worker1", "worker2", "standby"); err != nil {
		return err
	}
	d.say("The hub has the chat, the logs and the decisions. Two workers have an agent that "+
		"takes %d seconds and a clone of the code. A standby copies the logs. Each has a key of "+
		"its own, with the rights of its role.", takes)
	if _, err := d.tool(ctx, "tri-nats", "init", "--workers", "2"); err != nil {
		return err
	}
	agent, err := d.slow()
	if err != nil {
		return err
	}
	agent = "investigator: {agent: exec, command: " + agent
	config := func(role string, more ...string) string {
		return strings.Join(append([]string{
			fmt.Sprintf(`nats: {url: "tls://127.0.0.1:%s", seed_file: ../home/nats/%s.seed, `+
				`ca_file: ../home/nats/ca.pem, lease_s: 2}`, port, role),
			"codebases: [{name: code, path: ../code}]",
			"sandbox: off # the agent is this demo's own script, and tri's search",
		}, append(more, "")...), "\n")
	}
	return errors.Join(d.write("chat/"+room, ""), d.write("code/auth.go", authCode),
		d.write("code/deploy.go", deployCode), d.commit(ctx),
		d.write("standby/config.yaml", config("copy")),
		d.write("worker1/config.yaml", config("worker1", agent+"}")),
		d.write("worker2/config.yaml", config("worker2", agent+"}")),
		d.write("home/config.yaml", config("hub", "chat: {local: {dir: ../chat}}",
			"team: {approvers: ["+operator+"]}", "gate: {grace_s: 0}",
			agent+", on: nats}")))
}

// on starts a machine.
func (d *demo) on(ctx context.Context, m *machine) error {
	shown := strings.Join(m.args, " ")
	if m.role != "" {
		shown = "TRI_HOME=" + text.Quote(d.path(m.name)) + " " + shown
	} else {
		shown = strings.Replace(shown, m.args[0], "nats-server", 1)
	}
	d.command(shown + " &")
	said, err := os.OpenFile(d.path(strings.ReplaceAll(m.name, "/", "-")+".log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	defer said.Close() // the program has its own
	m.cmd = d.program(ctx, m.args)
	if filepath.IsAbs(m.args[0]) {
		m.cmd.Path, m.cmd.Err = m.args[0], nil
	}
	if m.role == "" {
		m.cmd.Dir = d.path(m.name)
	} else {
		m.cmd.Env = append(m.cmd.Env, "TRI_HOME="+filepath.Join(filepath.Dir(d.home), m.name))
	}
	m.cmd.Stdout, m.cmd.Stderr = said, said
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C ends the demo, which ends it
	return start([]*exec.Cmd{m.cmd})
}

// off ends a machine as a power cut would.
func (m *machine) off() error {
	if m.cmd == nil || m.cmd.ProcessState != nil {
		return nil
	}
	err := m.cmd.Process.Kill()
	_ = m.cmd.Wait() // says that it was killed
	return err
}

func halt(all []*machine) (err error) {
	for _, m := range all {
		err = errors.Join(err, m.off())
	}
	return err
}

// said is the question of the demo of machines.
const said = "which log has the errors of the auth service?"

// lose kills the worker that has the run, and shows that the answer is the same one post.
func (d *demo) lose(ctx context.Context, all []*machine) error {
	d.title("2. A question, and the worker that investigates it is lost")
	if err := d.line("ana: %s", said); err != nil {
		return err
	}
	d.block(bold, "ana: "+said)
	first, err := d.busy(ctx, all, nil)
	if err != nil {
		return err
	}
	d.say("The queue gave the run to %s. The server, the logs and the workers now:", first.name)
	if err := d.state(ctx); err != nil {
		return err
	}
	begun := time.Now()
	d.say("%s loses its power, a second or two into the run:", first.name)
	d.command(fmt.Sprintf("kill -9 %d   # %s", first.cmd.Process.Pid, first.name))
	if err := first.off(); err != nil {
		return err
	}
	second, err := d.busy(ctx, all, first)
	if err != nil {
		return err
	}
	d.say("Nothing renewed its lease of 2 seconds. After %.0f s %s has the run, and begins it again.",
		time.Since(begun).Seconds(), second.name)
	t, err := d.until(ctx, said, offered)
	if err != nil {
		return err
	}
	d.say("Its answer was checked on the hub, as any agent's is, and waits for a person:")
	d.block(faint, head(*t.DraftPending, 4))
	return d.after(ctx, t, all[2])
}

// busy waits until another worker has the run.
func (d *demo) busy(ctx context.Context, all []*machine, not *machine) (*machine, error) {
	var busy *machine
	err := wait(ctx, "no worker has the run", func() (bool, error) {
		if t, err := d.item(said); err == nil && t != nil && t.InvestigatorError != "" {
			return false, sysexit.With(sysexit.Software, errors.New(t.InvestigatorError))
		}
		var now struct {
			Workers []presence `json:"workers"`
		}
		out, err := d.quiet(ctx, tool("tri-nats", "status", "--json"))
		if err != nil || json.Unmarshal(out, &now) != nil {
			return false, nil // its server or a worker is just beginning
		}
		for _, w := range now.Workers {
			for _, m := range all {
				if w.Worker == m.name && w.Running > 0 && m != not {
					busy = m
				}
			}
		}
		return busy != nil, nil
	})
	return busy, err
}

func (d *demo) state(ctx context.Context) error {
	out, err := d.tool(ctx, "tri-nats", "status")
	d.block(faint, string(out))
	return err
}

// after approves the draft, and compares what the standby has.
func (d *demo) after(ctx context.Context, t *thread.Thread, standby *machine) error {
	if err := d.approve(ctx, t); err != nil {
		return err
	}
	posted, err := d.chat()
	if err != nil {
		return err
	}
	if n := strings.Count(string(posted), "\ntri >"); n != 1 {
		return sysexit.With(sysexit.Software, fmt.Errorf("%d replies in the room, want 1", n))
	}
	d.say("In the room, once:")
	d.block(green, head(string(posted), 8))
	d.title("3. What the standby has")
	for _, name := range []string{"decisions.ndjson", "replies.ndjson"} {
		if err := d.same(ctx, name, filepath.Join(standby.name, name)); err != nil {
			return err
		}
	}
	d.say("If the hub is lost for good, a person makes a new one of " +
		"these copies with tri restore --from-copy.")
	d.say("On real machines: tri-nats init and tri up on the hub, tri-nats work on each worker.")
	return nil
}

// same waits until a log and its copy are equal.
func (d *demo) same(ctx context.Context, name, of string) error {
	return wait(ctx, name+": the copy differs", func() (bool, error) {
		a, err := os.ReadFile(d.path("home/" + name))
		b, missing := os.ReadFile(d.path(of))
		if err != nil || missing != nil || len(a) == 0 || !bytes.Equal(a, b) {
			return false, nil
		}
		d.say("%s and the copy on the standby: %d bytes, equal.", name, len(a))
		return true, nil
	})
}
