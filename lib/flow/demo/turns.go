package demo

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/journal"
	"tri/lib/record/outbox"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

//go:embed slow.sh
var slowAgent string

// burst is what one person says, and what each message should do.
var burst = []struct{ text, relation string }{
	{"can you pull yesterday's logs and grep for errors", "new"},
	{"actually scratch that -- just the auth service", "redirect"},
	{"and also btw can you check if the deploy went through", "branch"},
}

// Times of the part on turns, in seconds.
const (
	pause = 2 // between the messages
	takes = 8 // by an investigation
)

// turns shows one person who says three things while an investigation works: they become two items, and both
// are answered; then the same with the dispatcher killed between the messages.
func turns(ctx context.Context, o Options) error {
	dir := cmp.Or(o.Dir, "demo")
	if err := (&demo{Options: Options{Dir: dir, Codebase: "."}}).folders("1", "2"); err != nil {
		return err
	}
	for i, kill := range []bool{false, true} {
		o.Dir = filepath.Join(dir, strconv.Itoa(i+1))
		d := &demo{Options: o}
		limited, stop := context.WithTimeout(ctx, limit)
		err := d.turns(limited, kill)
		stop()
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	return nil
}

func (d *demo) turns(ctx context.Context, kill bool) (err error) {
	if !kill {
		d.title("1. Three messages while an investigation works")
		d.say("An agent that takes %d seconds answers by a search. Ana writes, %d seconds apart:",
			takes, pause)
	} else {
		d.title("2. The same, and the dispatcher is killed after the second message")
	}
	if err := d.prepareTurns(); err != nil {
		return err
	}
	end, err := d.pipeline(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for i, m := range burst {
		if err := d.line("ana: %s", m.text); err != nil {
			return err
		}
		d.block(bold, "ana: "+m.text)
		time.Sleep(pause * time.Second)
		if kill && i == 1 {
			if err := d.killDispatcher(ctx); err != nil {
				return err
			}
		}
	}
	d.say("What is open now:")
	list, err := d.tool(ctx, "tri-task", "list")
	if err != nil {
		return err
	}
	d.block(faint, string(list))
	drafts, err := d.await(ctx)
	if err != nil {
		return err
	}
	return d.answered(ctx, drafts)
}

// prepareTurns writes the room, a small codebase, and a configuration with the slow agent.
func (d *demo) prepareTurns() error {
	d.Codebase = "."
	if err := d.folders("chat", "home", "code"); err != nil {
		return err
	}
	agent, err := d.slow()
	if err != nil {
		return err
	}
	config := []string{
		"chat: {local: {dir: ../chat}}",
		"team: {approvers: [" + operator + "]}",
		"codebases: [{name: code, path: ../code}]",
		"gate: {grace_s: 0}",
		"sandbox: off # the agent is this demo's own script, and tri's search",
		"investigator:",
		"  agent: exec",
		"  command: " + agent,
		"",
	}
	return sysexit.With(sysexit.IO, errors.Join(
		d.write("chat/"+room, ""), d.write("home/config.yaml", strings.Join(config, "\n")),
		d.write("code/auth.go", authCode), d.write("code/deploy.go", deployCode),
	))
}

// slow writes an agent that answers by a search, after some seconds, and returns its command in YAML.
func (d *demo) slow() (string, error) {
	find := d.Bin
	if find == "" {
		found, err := exec.LookPath("tri-watch")
		if err != nil {
			return "", sysexit.With(sysexit.Unavailable, err)
		}
		find = filepath.Dir(found)
	}
	dir := filepath.Dir(d.home)
	return inYAML("env", "PATH="+find+":"+os.Getenv("PATH"), "ASKED="+filepath.Join(dir, "asked"),
			fmt.Sprint("SECONDS_TO_TAKE=", takes), "sh", filepath.Join(dir, "slow.sh")),
		d.write("slow.sh", slowAgent)
}

// The code that the three messages are about.
const (
	authCode = `package auth

// errorLog is the log of yesterday's and today's errors of the auth service.
const errorLog = "/var/log/auth/errors.log"
`
	deployCode = `package deploy

// deployState is the file that says whether the last deploy went through.
const deployState = "/var/run/deploy/state"
`
)

// inYAML writes words as a list in YAML's flow style, which reads JSON.
func inYAML(words ...string) string {
	b, err := json.Marshal(words)
	if err != nil {
		panic(err) // they are strings
	}
	return string(b)
}

// pipeline starts the pipeline, and returns a function that ends it.
func (d *demo) pipeline(ctx context.Context) (end func() error, err error) {
	if _, err := d.tool(ctx, "tri", "up"); err != nil {
		return nil, err
	}
	return func() error {
		_, err := d.quiet(context.WithoutCancel(ctx), pipe{steps: [][]string{{"tri", "down"}}})
		return err
	}, nil
}

// killDispatcher kills the dispatcher with SIGKILL; its supervisor starts another.
func (d *demo) killDispatcher(ctx context.Context) error {
	out, err := d.quiet(ctx, tool("tri-supervise", "status", "--json"))
	if err != nil {
		return err
	}
	var status struct {
		Stages []struct {
			Name string `json:"name"`
			PID  int    `json:"pid"`
		} `json:"stages"`
	}
	if err := json.Unmarshal(out, &status); err != nil {
		return sysexit.With(sysexit.Software, err)
	}
	for _, s := range status.Stages {
		if s.Name == "dispatch" && s.PID > 1 {
			d.command(fmt.Sprintf("kill -9 %d   # tri-dispatch", s.PID))
			return sysexit.With(sysexit.Software, syscall.Kill(s.PID, syscall.SIGKILL))
		}
	}
	return sysexit.With(sysexit.Software, errors.New("no dispatcher runs"))
}

// await waits until a draft waits for each of two items.
func (d *demo) await(ctx context.Context) (ts []thread.Thread, err error) {
	err = wait(ctx, "two drafts are wanted", func() (bool, error) {
		ts, err = d.waiting()
		return err == nil && len(ts) == 2, nil
	})
	return ts, err
}

// answered approves both drafts, and shows that each item was answered once.
func (d *demo) answered(ctx context.Context, drafts []thread.Thread) error {
	if err := d.relations(); err != nil {
		return err
	}
	for _, t := range drafts {
		if t.DraftPending == nil {
			err := fmt.Errorf("%s has no draft: %s: %s", t.Key, t.Badge, t.InvestigatorError)
			return sysexit.With(sysexit.Software, err)
		}
		if _, err := d.tool(ctx, "tri-approve", "approve", t.Key, "--yes"); err != nil {
			return err
		}
	}
	if err := wait(ctx, fmt.Sprintf("%d replies are wanted", len(drafts)), func() (bool, error) {
		replies, err := read[outbox.Reply](d.path("home/replies.ndjson"))
		return err == nil && len(replies) >= len(drafts), nil
	}); err != nil {
		return err
	}
	said, err := d.chat()
	if err != nil {
		return err
	}
	if n := strings.Count(string(said), "\ntri >"); n != len(drafts) {
		return sysexit.With(sysexit.Software, fmt.Errorf("%d replies in the room, want %d", n, len(drafts)))
	}
	d.say("In the room now:")
	d.block(green, head(string(said), 12))
	return nil
}

// relations prints what each message did, as the journal has it, and compares it with what it should.
func (d *demo) relations() error {
	h, err := durable.Open(d.home)
	if err != nil {
		return err
	}
	defer h.Close()
	got, why, runs := map[string]string{}, map[string]string{}, 0
	r := journal.NewReader(h)
	defer r.Close()
	err = h.Lines(journal.Name, 0, func(line []byte) error {
		in, err := r.Input(line)
		if err != nil {
			return err
		}
		if in.Run != nil && in.Run.Kind == run.Investigate {
			runs++
		}
		if e := in.Event; e != nil && in.Facts != nil {
			got[e.Content] = cmp.Or(in.Facts.Relation, "new")
			why[e.Content] = strings.Join(in.Facts.RelationReasons, ", ")
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.say("What each message did, and the rules that said so:")
	var wrong []string
	for _, m := range burst {
		d.say("    %-9s %s", d.paint(bold, got[m.text]), text.Line(m.text, 60))
		if why[m.text] != "" {
			d.say("              %s", text.Line(why[m.text], 100))
		}
		if got[m.text] != m.relation {
			wrong = append(wrong, fmt.Sprintf("%q: %q, want %q", m.text, got[m.text], m.relation))
		}
	}
	d.say("%d investigations gave a result for the two items.", runs)
	if len(wrong) > 0 {
		return sysexit.With(sysexit.Software, errors.New(strings.Join(wrong, "; ")))
	}
	return nil
}
