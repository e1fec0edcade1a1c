package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// box measures what tri-box costs over the program that it runs. The limits are
// 150 ms and 30 MB, on a machine that does nothing else.
func (b *bench) box() error {
	dir := filepath.Join(b.work, "box")
	agent, repo := filepath.Join(dir, "agent"), filepath.Join(dir, "repo")
	err := errors.Join(os.MkdirAll(repo, 0o700),
		os.WriteFile(agent, []byte("cat >/dev/null\necho done\n"), 0o600),
		os.Setenv("PATH", b.bin+string(os.PathListSeparator)+os.Getenv("PATH")))
	if err != nil {
		return err
	}
	for _, argv := range [][]string{{"init", "-q"},
		{"-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-q", "--allow-empty",
			"-m", "begin"}} {
		if out, err := exec.Command("git",
			append([]string{"-C", repo}, argv...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", argv[0], err, out)
		}
	}
	all := []contender{{"the program alone",
		[]string{"sh", "-c", `cd "$1" && exec bash "$2" </dev/null`, "sh", repo, agent}}}
	for _, sandbox := range []string{"off", "required"} {
		home := filepath.Join(dir, sandbox)
		text := fmt.Sprintf("sandbox: %s\nbox:\n  agent: {agent: exec, command: [bash, %s]}\n",
			sandbox, agent)
		if err := errors.Join(os.Mkdir(home, 0o700),
			os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600)); err != nil {
			return err
		}
		all = append(all, contender{"in the box, sandbox " + sandbox,
			[]string{"sh", "-c", `cd "$1" && TRI_HOME=$2 exec tri-box scout x </dev/null`, "sh", repo, home}})
	}
	wall, memory := b.group("time", seconds), b.group("memory", bytesOf)
	for range 2*b.rounds + 1 {
		for _, c := range all {
			t, err := process(strings.NewReader(""), c.argv...)
			if err != nil {
				wall.lacks(c.who, firstLine(err))
				continue
			}
			wall.add(c.who, t.wall)
			memory.add(c.who, t.memory)
		}
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
