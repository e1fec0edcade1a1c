package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// boxWorld is a checkout with a box, and an agent that takes its time.
type boxWorld struct {
	options
	dir, repo string
	rng       *rand.Rand
	before    string // what the checkout is
	did       map[string]int
	merged    int // runs
}

// boxAgent edits, with pauses to be killed in, and sometimes fails or leaves a
// process behind.
const boxAgent = `prompt=$(cat)
pause() { sleep 0.0$((RANDOM % 6)); }
pause
case $prompt in *"copy that is yours"*)
  echo "// $RANDOM" >>a.go; pause
  mkdir -p new; echo new >new/file; pause
  git rm -q --cached b.go 2>/dev/null; rm -f b.go; pause;;
esac
case $((RANDOM % 8)) in
  0) echo "it does not work" >&2; exit 3;;
  1) setsid sleep 30 & ;;
esac
pause
echo "Done: see a.go:1."
`

// boxed kills tri-box and its agents at random instants, and looks whether what is
// left is true.
func boxed(o options) error {
	dir, err := os.MkdirTemp("", "torture-box")
	if err != nil {
		return err
	}
	w := &boxWorld{options: o, dir: dir, repo: filepath.Join(dir, "repo"),
		rng: rand.New(rand.NewPCG(o.seed, o.seed)), did: map[string]int{}}
	err = w.prepare()
	for round := 0; err == nil && round < o.rounds; round++ {
		if err = w.round(); err == nil {
			err = w.judge()
		}
		if err != nil {
			err = fmt.Errorf("round %d: %w", round, err)
		}
	}
	if err == nil {
		err = w.collected()
	}
	if err != nil || o.keep {
		fmt.Println("left behind:", dir)
		return err
	}
	fmt.Println("rounds:", o.rounds, "what was done:", w.did)
	return os.RemoveAll(dir)
}

func (w *boxWorld) prepare() error {
	home := filepath.Join(w.dir, "home")
	config := "sandbox: " + w.sandbox + "\nbox:\n  agent: {agent: exec, command: [bash, " +
		filepath.Join(w.dir, "agent") + "]}\n"
	err := errors.Join(os.MkdirAll(w.repo, 0o755), os.Mkdir(home, 0o700),
		os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(w.dir, "agent"), []byte(boxAgent), 0o600))
	for _, name := range []string{"a.go", "b.go", "sub/c.go"} {
		file := filepath.Join(w.repo, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte("package x\n"), 0o644))
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "begin"}} {
		out, failed := w.command("git", args...).CombinedOutput()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("git %v: %w: %s", args, failed, out))
		}
	}
	if err == nil {
		w.before, err = w.checkout()
	}
	return err
}

func (w *boxWorld) command(program string, args ...string) *exec.Cmd {
	if program != "git" {
		program = filepath.Join(w.bin, program)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = w.repo
	cmd.Env = []string{"PATH=" + w.bin + ":" + os.Getenv("PATH"), "HOME=" + w.dir,
		"TRI_HOME=" + filepath.Join(w.dir, "home"), "NO_COLOR=1"}
	return cmd
}

// checkout is all that the checkout is, without the box: names, bytes, modes, what
// git says.
func (w *boxWorld) checkout() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(w.repo, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(w.repo, path)
		if err != nil {
			return err
		}
		if name == ".agents" || name == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte(nil)
		if d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", name, info.Mode(), text)
		return err
	})
	for _, args := range [][]string{{"status", "--porcelain", "--ignored=no"}, {"rev-parse", "HEAD"}} {
		out, failed := w.command("git", args...).CombinedOutput()
		err = errors.Join(err, failed)
		b.Write(out)
	}
	return b.String(), err
}

// boxRun is what is read of list --json.
type boxRun struct {
	Meta struct {
		Name string `json:"run_name"`
		Type string `json:"type"`
	} `json:"meta"`
	State struct {
		Status  string `json:"status"`
		PID     int    `json:"pid"`
		Failure *struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		} `json:"failure"`
	} `json:"state"`
	Dir string `json:"dir"`
}

func (w *boxWorld) runs() ([]boxRun, error) {
	cmd := w.command("tri-box", "list", "--json", "--limit", "0")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list: %w: %s", err, said.Bytes())
	}
	var runs []boxRun
	for line := range bytes.Lines(out) {
		var r boxRun
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// round starts one or two things and kills.
func (w *boxWorld) round() error {
	var cmds []*exec.Cmd
	for range 1 + w.rng.IntN(2) {
		args, err := w.choose()
		if err != nil {
			return err
		}
		cmd := w.command("tri-box", args...)
		if err := cmd.Start(); err != nil {
			return err
		}
		w.did[args[0]]++
		cmds = append(cmds, cmd)
	}
	time.Sleep(time.Duration(w.rng.IntN(350)) * time.Millisecond)
	switch w.rng.IntN(4) {
	case 0: // they end by themselves
	case 1:
		if w.killAgent() {
			w.did["agent killed"]++
		}
	default:
		for _, cmd := range cmds {
			if cmd.Process.Kill() == nil {
				w.did["box killed"]++
			}
		}
	}
	for _, cmd := range cmds {
		cmd.Wait() // how it ended is judged by what it left
	}
	return nil
}

func (w *boxWorld) choose() ([]string, error) {
	task := "do $(touch " + filepath.Join(w.dir, "canary") + ") `it` ../../x"
	n := w.rng.IntN(10)
	if n < 6 {
		return []string{[]string{"fix", "fix", "fix", "scout", "benchmark", "plan"}[n], task}, nil
	}
	if n == 6 {
		return []string{"gc", "--older", "1h"}, nil
	}
	runs, err := w.runs()
	want, verb := []string{"CRASHED"}, []string{"resume"}
	if n >= 8 {
		want, verb = []string{"REVIEW"}, []string{"merge", "--yes"}
	}
	for _, r := range runs {
		if slices.Contains(want, r.State.Status) {
			return append(verb, r.Meta.Name), err
		}
	}
	return []string{"fix", task}, err
}

// killAgent kills a program that a run says it supervises.
func (w *boxWorld) killAgent() bool {
	// the pattern is a good one
	states, _ := filepath.Glob(filepath.Join(w.repo, ".agents/runs/*/state.json"))
	for _, name := range states {
		var s struct {
			Status string `json:"status"`
			PID    int    `json:"pid"`
		}
		text, err := os.ReadFile(name)
		if err == nil && json.Unmarshal(text, &s) == nil && s.Status == "ACTIVE" && s.PID > 0 &&
			w.ours(s.PID) {
			return syscall.Kill(s.PID, syscall.SIGKILL) == nil
		}
	}
	return false
}

// ours reports whether a process has to do with this world.
func (w *boxWorld) ours(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte(w.dir))
}
