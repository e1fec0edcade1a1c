package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

// most is what AC-02 allows for an investigation.
const most = 2000

var questions = []string{
	"how long may the oldest message wait for a stage before tri-health warns?",
	"what is the default of concurrency in dispatch?",
	"where is the heartbeat of the watcher written?",
	"how often is the heartbeat written when nothing happens?",
	"what is the grace time between a yes and its post?",
	"where are reservations of the budget kept?",
	"which file says how far the dispatcher has come?",
	"how many lines may the index of the box show?",
	"what does tri-approve show print of the evidence?",
	"what is the longest line that ndjson reads?",
	"which statuses can a thread have?",
	"how is the chain of decisions verified?",
	"how long does tri-supervise wait before a stage is started again?",
	"what happens when two supervisors start for one home?",
	"where is the lock of the classifier?",
	"which environment variable names the home?",
	"what is a canary of the validator?",
	"when is a draft that nobody decided void?",
	"how does tri-reply prove that a post is absent?",
	"which platforms can tri-watch read?",
}

// investigations is a home with questions that were investigated, and the tokenizer.
type investigations struct {
	*bench
	home, skill string
	codec       tokenizer.Codec
}

// tokens measures, by a real tokenizer, what an operator's own agent session reads
// of each investigation through examples/claude-code: the row of the list, the item
// as the skill's brief.jq cuts it, and what its yes prints. Twenty questions about
// our own code are asked, investigated and decided for it, in a home of its own; the
// triage allows 2,000 tokens for each (AC-02).
func (b *bench) tokens() error {
	g := b.group("read for an investigation", tokensOf)
	if _, err := exec.LookPath("jq"); err != nil {
		g.lacks("row, brief, yes", "no jq on this machine")
		return nil
	}
	skill, err := filepath.Abs("examples/claude-code/skills/tri")
	if err != nil {
		return err
	}
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	i := investigations{bench: b, home: filepath.Join(b.work, "tokens"), skill: skill, codec: codec}
	if err := i.ask(filepath.Join(b.work, "chat")); err != nil {
		return err
	}
	return i.measure(g)
}

// ask has every question investigated.
func (b *investigations) ask(chat string) error {
	var said strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&said, "person%d: %s\n", i, q)
	}
	code, err := filepath.Abs("lib")
	if err != nil {
		return err
	}
	config := fmt.Sprintf("chat: {local: {dir: %q}}\nteam: {approvers: [operator]}\ncodebases: [{name: code, path: %q}]\nbudget: {investigations_per_day: 0}\ngate: {grace_s: 3600}\n", chat, code)
	err = errors.Join(os.MkdirAll(b.home, 0o700), os.MkdirAll(chat, 0o700),
		os.WriteFile(filepath.Join(b.home, "config.yaml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(chat, "dev"), []byte(said.String()), 0o600))
	if err != nil {
		return err
	}
	events, classified := filepath.Join(b.home, "events.ndjson"),
		filepath.Join(b.home, "events-classified.ndjson")
	for _, argv := range [][]string{
		{"tri-watch", "local", "--once", "--home", b.home, chat},
		{"tri-classify", "--config", filepath.Join(b.home, "config.yaml"), "--out", classified, events},
		{"tri-dispatch", "--home", b.home, "--once", classified},
	} {
		if _, err := b.output(argv...); err != nil {
			return err
		}
	}
	return nil
}

// output is what a program prints, on stdout and stderr: an agent reads both.
func (b *investigations) output(argv ...string) (string, error) {
	path := argv[0]
	if strings.HasPrefix(path, "tri-") {
		path = b.ours(path)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = append(os.Environ(), "TRI_HOME="+b.home, "TRI_USER=operator")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return string(out), nil
}

func (b *investigations) count(text string) (int, error) {
	ids, _, err := b.codec.Encode(text)
	return len(ids), err
}

// measure reads each investigation as the skill does, says yes to it and counts.
func (b *investigations) measure(g *group) error {
	list, err := b.output("tri-approve", "list")
	if err != nil {
		return err
	}
	for row := range strings.Lines(list) {
		read, whole, err := b.investigation(row)
		if err != nil {
			return err
		}
		if read > most {
			return fmt.Errorf("%d tokens, over %d: %s", read, most, row)
		}
		g.add("row, brief, yes", float64(read))
		g.add("the record instead of the brief", float64(whole))
		g.add("allowed", most)
	}
	if n := len(g.series); n == 0 || len(g.series[0].samples) < len(questions) {
		return fmt.Errorf("fewer than %d questions wait for a decision", len(questions))
	}
	once, err := os.ReadFile(filepath.Join(b.skill, "SKILL.md"))
	if err != nil {
		return err
	}
	skill, err := b.count(string(once))
	g.add("the skill itself, once", float64(skill))
	return err
}

// investigation counts what is read of the item in a row of the list, and what it
// would be with its whole record.
func (b *investigations) investigation(row string) (read, whole int, err error) {
	id := strings.Fields(row)[0]
	record, err := b.output("tri-approve", "show", id, "--json")
	if err != nil {
		return 0, 0, err
	}
	jq := exec.Command("jq", "-r", "-f", filepath.Join(b.skill, "brief.jq"))
	jq.Stdin, jq.Stderr = strings.NewReader(record), os.Stderr
	brief, err := jq.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("brief.jq of %s: %w", id, err)
	}
	var item struct {
		Kind   string `json:"kind"`
		SHA256 string `json:"draft_sha256"`
	}
	if err := json.Unmarshal([]byte(record), &item); err != nil {
		return 0, 0, err
	}
	argv := []string{"tri-approve", "approve", id, "--sha", item.SHA256[:min(12, len(item.SHA256))], "--yes"}
	if item.Kind != "draft" {
		argv = []string{"tri-approve", "redo", id, "--note", "look at the tests too"}
	}
	said, err := b.output(argv...)
	if err != nil {
		return 0, 0, err
	}
	yes := strings.Join(argv, " ") + "\n" + said
	if read, err = b.count(row + "\n" + string(bytes.TrimSpace(brief)) + "\n" + yes); err != nil {
		return 0, 0, err
	}
	whole, err = b.count(row + "\n" + record + "\n" + yes)
	return read, whole, err
}
