// Crowd measures homes with much that waits: many questions asked at once, many drafts that wait for
// a person, many rooms in which nobody speaks. It ends with 1 if a limit is exceeded.
//
//	go run ./bench/crowd -bin ../bin [-questions 1000] [-open 20000] [-rooms 100000]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

var (
	bin       = flag.String("bin", "bin", "folder of the programs")
	dir       = flag.String("dir", "", "where the homes are made (default: a folder for temporary files)")
	questions = flag.Int("questions", 1000, "how many are asked at once; 0: none")
	open      = flag.Int("open", 20_000, "how many drafts wait")
	rooms     = flag.Int("rooms", 100_000, "how many rooms there are")
)

func main() {
	flag.Parse()
	if err := crowd(); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

func crowd() error {
	work, err := os.MkdirTemp(*dir, "crowd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if *bin, err = filepath.Abs(*bin); err != nil {
		return err
	}
	var errs []error
	for _, part := range []struct {
		n  int
		do func(*place, int) error
	}{{*questions, atOnce}, {*open, waiting}, {*rooms, idle}} {
		if part.n == 0 {
			continue
		}
		p, err := newPlace(filepath.Join(work, fmt.Sprint(len(errs), part.n)))
		if err == nil {
			err = part.do(p, part.n)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// place is a team's folder: chat, code and home.
type place struct{ dir, home, chat, code string }

func newPlace(dir string) (*place, error) {
	p := &place{dir, filepath.Join(dir, "home"), filepath.Join(dir, "chat"), filepath.Join(dir, "code")}
	err := errors.Join(os.MkdirAll(p.home, 0o700), os.Mkdir(p.chat, 0o700), os.Mkdir(p.code, 0o700))
	for i := range 100 {
		src := fmt.Sprintf("package src\n\n// RetryLimit%03[1]d is how often loader %[1]d tries.\nconst RetryLimit%03[1]d = %[1]d\n", i)
		err = errors.Join(err, os.WriteFile(filepath.Join(p.code, fmt.Sprintf("loader%03d.go", i)),
			[]byte(src), 0o600))
	}
	config := fmt.Sprintf("team: {approvers: [operator]}\ncodebases: [{name: src, path: %s}]\nchat: {local: {dir: %s}}\n"+
		"budget: {investigations_per_day: 0, investigations_per_person_per_day: 0}\ndispatch: {max_question_age_h: 1000000}\n", p.code, p.chat)
	return p, errors.Join(err, os.WriteFile(p.path("config.yaml"), []byte(config), 0o600))
}

func (p *place) path(name string) string { return filepath.Join(p.home, name) }

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(*bin, args[0]), args[1:]...)
	cmd.Dir, cmd.Stderr = p.dir, os.Stderr
	cmd.Env = []string{"PATH=" + *bin + ":" + os.Getenv("PATH"), "HOME=" + p.dir, "TRI_HOME=" + p.home,
		"TRI_USER=operator", "NO_COLOR=1"}
	return cmd
}

// timed runs a program and says how long it took, and how much memory it had.
func (p *place) timed(args ...string) (out []byte, took time.Duration, err error) {
	cmd := p.command(args...)
	began := time.Now()
	out, err = cmd.Output()
	took = time.Since(began)
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		fmt.Printf("  %-14s %6.2f s, %6.2f s of processor, %4d MB\n", args[0], took.Seconds(),
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), use.Maxrss>>10)
	}
	return out, took, err
}

// over is an error if something took longer than it may.
func over(what string, took, most time.Duration) error {
	if took <= most {
		return nil
	}
	return fmt.Errorf("%s: %v, at most %v", what, took.Round(time.Millisecond), most)
}
