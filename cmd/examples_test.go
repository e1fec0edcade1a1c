package cmd_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// exampleFiles returns the examples that people copy; the others are records and chats.
func exampleFiles(t *testing.T) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir("../examples", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"records", "week", "demo"}, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) == ".go" || filepath.Ext(path) == ".ndjson" {
			return nil
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, "../examples/")] = string(text)
		return err
	})
	if err != nil || len(files) < 10 {
		t.Fatal(len(files), err)
	}
	return files
}

var (
	named  = regexp.MustCompile(`\btri-[a-z]+\b`)
	called = regexp.MustCompile("\\b(tri-[a-z]+|tri)((?: +[^ `|;&\"()<>\\\\\\n]+)*)")
	option = regexp.MustCompile(`^--?([a-z][a-z-]*)`)
)

// TestExamplesNameWhatIsThere: every program, command and option in an example exists.
func TestExamplesNameWhatIsThere(t *testing.T) {
	calls := 0
	for file, text := range exampleFiles(t) {
		calls += checkCalls(t, file, text)
	}
	if calls < 10 {
		t.Errorf("only %d options were looked at", calls)
	}
}

// checkCalls checks that the programs, commands and options in a text exist, and returns how many
// options it has checked.
func checkCalls(t *testing.T, file, text string) (calls int) {
	known := programs(t)
	for _, name := range named.FindAllString(text, -1) {
		if !slices.Contains(known, name) {
			t.Errorf("%s names %s: there is no such program", file, name)
		}
	}
	for _, call := range called.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, call[1]) {
			continue
		}
		words := strings.Fields(call[2])
		usage := help(call[1])
		if len(words) > 0 && words[0][0] != '-' &&
			regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(words[0])+` `).MatchString(usage) {
			usage += help(call[1], words[0])
		}
		for _, w := range words {
			m := option.FindStringSubmatch(strings.Trim(w, "'.,"))
			if m == nil || !strings.HasPrefix(w, "--") {
				continue
			}
			if calls++; !strings.Contains(usage, "--"+m[1]) {
				t.Errorf("%s: %s has no --%s", file, strings.TrimSpace(call[0]), m[1])
			}
		}
	}
	return calls
}

var helps sync.Map

// help returns what a program prints for -h, run once.
func help(argv ...string) string {
	key := strings.Join(argv, " ")
	if text, ok := helps.Load(key); ok {
		return text.(string)
	}
	out, _ := exec.Command(argv[0], append(argv[1:], "-h")...).CombinedOutput()
	helps.Store(key, string(out))
	return string(out)
}

// TestExampleScripts: the scripts are parsed by the shells that would run them.
func TestExampleScripts(t *testing.T) {
	scripts := 0
	for file, text := range exampleFiles(t) {
		if !strings.HasPrefix(text, "#!/bin/sh\n") {
			continue
		}
		scripts++
		path := filepath.Join("../examples", file)
		if info, err := os.Stat(path); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s cannot be run: %v", file, err)
		}
		if out, err := exec.Command("bash", "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", file, out)
		}
		if _, err := exec.LookPath("shellcheck"); err != nil {
			continue
		}
		if out, err := exec.Command("shellcheck", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", file, out)
		}
	}
	if scripts < 2 {
		t.Errorf("%d scripts", scripts)
	}
}

// breaks are settings that no unit may have while agents run in bubblewrap's sandbox.
var breaks = []string{"RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname",
	"ProcSubset", "MemoryDenyWriteExecute"}

// TestExampleUnits: each unit is hardened as far as the sandbox allows, and starts an existing
// program.
func TestExampleUnits(t *testing.T) {
	units := 0
	for file, text := range exampleFiles(t) {
		if filepath.Ext(file) != ".service" {
			continue
		}
		units++
		set := map[string]string{}
		for line := range strings.Lines(text) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok &&
				!strings.HasPrefix(line, "#") {
				set[key] = value
			}
		}
		for key, value := range map[string]string{"NoNewPrivileges": "yes", "ProtectSystem": "strict",
			"PrivateTmp": "yes", "Restart": "on-failure", "UMask": "0077"} {
			if set[key] != value {
				t.Errorf("%s: %s=%s, want %s", file, key, set[key], value)
			}
		}
		for _, key := range breaks {
			if _, ok := set[key]; ok {
				t.Errorf("%s: %s breaks the sandbox", file, key)
			}
		}
		if set["RestrictAddressFamilies"] == "" || set["MemoryMax"] == "" {
			t.Errorf("%s: no limit on memory, or on sockets", file)
		}
		if program := strings.Fields(set["ExecStart"]); !slices.Contains(append(programs(t), "nats-server"),
			filepath.Base(program[0])) {
			t.Errorf("%s starts %q", file, program)
		}
	}
	if units < 3 {
		t.Errorf("%d units", units)
	}
}

func TestExamplePlist(t *testing.T) {
	text, err := os.ReadFile("../examples/launchd/org.example.tri.plist")
	if err != nil {
		t.Fatal(err)
	}
	in := xml.NewDecoder(bytes.NewReader(text))
	for err == nil {
		_, err = in.Token()
	}
	if err != io.EOF || !bytes.Contains(text, []byte("UNTESTED")) {
		t.Error(err)
	}
}

// TestSkillNeverDecides: the commands that Claude Code may run without asking are read-only.
func TestSkillNeverDecides(t *testing.T) {
	allowed := regexp.MustCompile(`(?m)^allowed-tools: (.*)$`)
	looks := []string{"Bash(tri-approve list:*)", "Bash(tri-approve show:*)", "Bash(tri-report brief:*)",
		"Bash(tri-report why:*)", "Bash(tri-health)", "Bash(tri-supervise status)"}
	seen := 0
	for file, text := range exampleFiles(t) {
		if !strings.HasPrefix(file, "claude-code/") || filepath.Ext(file) != ".md" {
			continue
		}
		m := allowed.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s says nothing of what it may run", file)
			continue
		}
		seen++
		for tool := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(looks, tool) {
				t.Errorf("%s may run %s unasked", file, tool)
			}
		}
	}
	if seen != 5 {
		t.Errorf("%d files of the skill", seen)
	}
}

// TestBrief: the short form of a draft is short, complete enough to decide on, and contains no
// terminal control sequences, whatever the record contains.
func TestBrief(t *testing.T) {
	nasty := "a\x1b[2J\u202eb\r\nE: forged\x00c"
	record := map[string]any{
		"id": "3f9a2c", "kind": "draft", "draft_sha256": strings.Repeat("ab", 32), "chat_name": nasty,
		"who": nasty, "badge": nasty,
		"question": strings.Repeat(nasty, 100), "draft": "one\ntwo " + strings.Repeat("x", 5000),
		"problems": []string{nasty, nasty, nasty, nasty}, "note": nasty,
		"evidence": slices.Repeat([]any{map[string]any{"ref": nasty, "result": "supports", "claim": nasty,
			"changed": nasty}}, 9),
		"thread": map[string]any{"validator_return": map[string]any{"reasons": []string{nasty}}},
	}
	in, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range [][]byte{in,
		[]byte(`{"id":"a","kind":"failed","draft_sha256":"","chat_name":"c","who":"w","question":"q"}`)} {
		jq := exec.Command("jq", "-r", "-f", "../examples/claude-code/skills/tri/brief.jq")
		jq.Stdin = bytes.NewReader(input)
		out, err := jq.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "E: forged") || strings.ContainsAny(line, "\x1b\u202e\r\x00") {
				t.Errorf("printed %q", line)
			}
		}
		if len(out) > 4000 {
			t.Errorf("%d bytes", len(out))
		}
		if len(input) > 200 && (!strings.Contains(string(out), "\n| one\n| two xxx") ||
			!strings.Contains(string(out), "[cut: tri-approve show 3f9a2c has all]")) {
			t.Errorf("printed %s", out)
		}
	}
}
