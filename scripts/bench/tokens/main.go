// Tokens measures, by a real tokenizer, what an operator's own agent session reads
// of each investigation through examples/claude-code: the row of the list, the item
// as the skill's brief.jq cuts it, and what its yes prints. Twenty questions about
// a codebase are asked, investigated and decided for it, in a home of its own; the
// triage allows 2,000 tokens for each (AC-02).
//
//	tokens [-programs bin] [-code lib] [-skill examples/claude-code/skills/tri]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

func main() {
	log.SetFlags(0)
	b := bench{}
	flag.StringVar(&b.programs, "programs", "bin", "the folder of the programs")
	flag.StringVar(&b.code, "code", "lib", "the codebase that is asked about")
	flag.StringVar(&b.skill, "skill", "examples/claude-code/skills/tri", "the skill's folder")
	flag.Parse()
	if err := b.run(); err != nil {
		log.Fatal("tokens: ", err)
	}
}

// bench is one measurement.
type bench struct {
	programs, code, skill string
	home                  string
	codec                 tokenizer.Codec
}

func (b *bench) run() (err error) {
	for _, dir := range []*string{&b.programs, &b.code, &b.skill} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if b.codec, err = tokenizer.Get(tokenizer.O200kBase); err != nil {
		return err
	}
	top, err := os.MkdirTemp("", "tokens")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	b.home = filepath.Join(top, "home")
	if err := b.ask(filepath.Join(top, "chat")); err != nil {
		return err
	}
	return b.measure()
}

// ask has every question investigated.
func (b *bench) ask(chat string) error {
	var said strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&said, "person%d: %s\n", i, q)
	}
	config := fmt.Sprintf("chat: {local: {dir: %q}}\nteam: {approvers: [operator]}\ncodebases: [{name: code, path: %q}]\nbudget: {investigations_per_day: 0}\ngate: {grace_s: 3600}\n", chat, b.code)
	err := errors.Join(os.MkdirAll(b.home, 0o700), os.MkdirAll(chat, 0o700),
		os.WriteFile(filepath.Join(b.home, "config.yaml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(chat, "dev"), []byte(said.String()), 0o600))
	if err != nil {
		return err
	}
	events, classified := filepath.Join(b.home, "events.ndjson"), filepath.Join(b.home, "events-classified.ndjson")
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
func (b *bench) output(argv ...string) (string, error) {
	path := argv[0]
	if strings.HasPrefix(path, "tri-") {
		path = filepath.Join(b.programs, path)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = append(os.Environ(), "TRI_HOME="+b.home, "TRI_USER=operator")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	return string(out), nil
}

func (b *bench) tokens(text string) (int, error) {
	ids, _, err := b.codec.Encode(text)
	return len(ids), err
}

// measure reads each investigation as the skill does, says yes to it and counts.
func (b *bench) measure() error {
	list, err := b.output("tri-approve", "list")
	if err != nil {
		return err
	}
	var all []int
	for row := range strings.Lines(list) {
		n, err := b.investigation(row)
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	if len(all) < 20 {
		return fmt.Errorf("%d of %d questions wait for a decision", len(all), len(questions))
	}
	slices.Sort(all)
	once, err := os.ReadFile(filepath.Join(b.skill, "SKILL.md"))
	if err != nil {
		return err
	}
	skill, err := b.tokens(string(once))
	if err != nil {
		return err
	}
	fmt.Printf("read for an investigation, from its row to its yes: median %d tokens (o200k), most %d, of %d; the skill itself, once: %d\n", all[len(all)/2], all[len(all)-1], len(all), skill)
	if all[len(all)-1] > most {
		return fmt.Errorf("over %d", most)
	}
	return nil
}

// investigation counts what is read of the item in a row of the list.
func (b *bench) investigation(row string) (int, error) {
	id := strings.Fields(row)[1]
	record, err := b.output("tri-approve", "show", id, "--json")
	if err != nil {
		return 0, err
	}
	jq := exec.Command("jq", "-r", "-f", filepath.Join(b.skill, "brief.jq"))
	jq.Stdin, jq.Stderr = strings.NewReader(record), os.Stderr
	brief, err := jq.Output()
	if err != nil {
		return 0, fmt.Errorf("brief.jq of %s: %w", id, err)
	}
	var item struct {
		Kind   string `json:"kind"`
		SHA256 string `json:"draft_sha256"`
	}
	if err := json.Unmarshal([]byte(record), &item); err != nil {
		return 0, err
	}
	argv := []string{"tri-approve", "approve", id, "--sha", item.SHA256[:min(12, len(item.SHA256))], "--yes"}
	if item.Kind != "draft" {
		argv = []string{"tri-approve", "redo", id, "--note", "look at the tests too"}
	}
	said, err := b.output(argv...)
	if err != nil {
		return 0, err
	}
	return b.tokens(strings.Join([]string{row, string(bytes.TrimSpace(brief)), strings.Join(argv, " "), said}, "\n"))
}
