package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// binary is the compiled tests of a folder.
type binary struct{ path, dir string }

// test is one function of a binary.
type test struct {
	binary
	name  string
	cpu   time.Duration // that it takes by itself
	took  time.Duration
	meets map[int]bool
}

// examine makes and runs the mutants of one package.
func examine(ctx context.Context, o options, s subject, tmp string, keep func(*mutant) bool) (*row, error) {
	begin := time.Now()
	c, err := load(s.dir)
	if err != nil {
		return nil, err
	}
	p := find(c)
	if o.list {
		for _, m := range p.mutants {
			fmt.Printf("%s:%d %s\t%s\n", m.File, m.Line, m.Op, m.Name)
		}
		return nil, nil
	}
	binaries, err := p.build(tmp, s.with)
	if err != nil {
		return nil, err
	}
	tests, err := measure(binaries, tmp, len(p.mutants)+1)
	if err != nil {
		return nil, err
	}
	r := &row{dir: s.dir, all: len(p.mutants), every: p.mutants}
	todo := slices.DeleteFunc(slices.Clone(p.mutants), func(m *mutant) bool { return !keep(m) })
	if o.most > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.most)
		defer stop()
		slices.SortFunc(todo, func(a, b *mutant) int { return cmp.Compare(a.hash()^o.seed, b.hash()^o.seed) })
	}
	runAll(ctx, o, todo, tests, tmp)
	slices.SortFunc(todo, func(a, b *mutant) int { return cmp.Compare(a.ID, b.ID) })
	r.add(todo)
	r.took = time.Since(begin)
	return r, nil
}

// add counts what became of mutants.
func (r *row) add(all []*mutant) {
	for _, m := range all {
		if m.Fate == "" {
			continue // there was no time for it
		}
		r.mutants++
		switch m.Fate {
		case "killed":
			r.killed++
			continue
		case "timed out":
			r.timedOut++
			continue
		case "not reached":
			r.notReached++
		default:
			r.survived++
		}
		r.survivors = append(r.survivors, m)
	}
}

// measure runs every test by itself, without a mutant: how long it takes, and
// which mutants it meets.
func measure(binaries []binary, tmp string, sites int) (all []*test, err error) {
	for _, b := range binaries {
		out, err := b.command(context.Background(), tmp, "-test.list", ".").Output()
		if err != nil {
			return nil, fmt.Errorf("list the tests of %s: %w", b.dir, err)
		}
		for _, name := range strings.Fields(string(out)) {
			if strings.HasPrefix(name, "Benchmark") {
				continue
			}
			t := &test{binary: b, name: name}
			if err := t.measure(tmp, sites); err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	return all, nil
}

func (t *test) measure(tmp string, sites int) error {
	seen := filepath.Join(tmp, "seen")
	if err := os.WriteFile(seen, make([]byte, sites), 0o600); err != nil {
		return err
	}
	cmd := t.command(context.Background(), tmp, "-test.run", "^"+t.name+"$", "-test.timeout", "5m")
	cmd.Env = append(cmd.Env, envSeen+"="+seen)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s fails without any mutant: %w\n%s", t.name, err, out)
	}
	t.took, t.cpu = time.Since(begin), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	b, err := os.ReadFile(seen)
	if err != nil {
		return err
	}
	t.meets = map[int]bool{}
	for id, met := range b {
		if met != 0 {
			t.meets[id] = true
		}
	}
	return nil
}

// command runs a binary with a bound on its memory and a folder of its own for
// what it leaves behind.
func (b binary) command(ctx context.Context, tmp string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.dir
	cmd.Env = append(append(os.Environ(), goFolders()...), "HOME="+tmp, "TMPDIR="+tmp, "GOMEMLIMIT=1GiB")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// goFolders are where go keeps what it has, for the tests that build something
// while the home is another.
var goFolders = sync.OnceValue(func() (env []string) {
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	return env
})

// runAll gives every mutant its fate, until ctx ends.
func runAll(ctx context.Context, o options, todo []*mutant, tests []*test, tmp string) {
	queue := make(chan *mutant)
	var wg sync.WaitGroup
	for i := range max(1, o.jobs) {
		wg.Go(func() {
			own := filepath.Join(tmp, "run"+strconv.Itoa(i))
			for m := range queue {
				m.Fate = fate(m, tests, own)
			}
		})
	}
	for i, m := range todo {
		if i%50 == 0 {
			fmt.Fprintf(os.Stderr, "\r%s %d/%d ", filepath.Dir(m.File), i, len(todo))
		}
		if ctx.Err() != nil {
			break
		}
		queue <- m
	}
	close(queue)
	wg.Wait()
	fmt.Fprint(os.Stderr, "\r\033[K")
}

// fate runs the tests that meet a mutant, the quick ones first, until one fails.
func fate(m *mutant, tests []*test, tmp string) string {
	var meet []*test
	for _, t := range tests {
		if t.meets[m.ID] {
			meet = append(meet, t)
		}
	}
	if len(meet) == 0 {
		return "not reached"
	}
	for _, group := range groups(meet) {
		switch err := runGroup(m, group, tmp); {
		case errors.Is(err, context.DeadlineExceeded):
			return "timed out"
		case err != nil:
			return "killed"
		}
	}
	return "survived"
}

// groups cuts tests into what is run by one process: each group takes some four
// times as long as the one before, and is of one binary.
func groups(tests []*test) (all [][]*test) {
	limit := 200 * time.Millisecond
	var group []*test
	var sum time.Duration
	for _, t := range tests {
		if len(group) > 0 && (sum+t.took > limit || t.binary != group[0].binary) {
			all = append(all, group)
			group, sum, limit = nil, 0, 4*limit
		}
		group, sum = append(group, t), sum+t.took
	}
	return append(all, group)
}

// runGroup fails when one of the tests does, with context.DeadlineExceeded when
// they take much longer than without a mutant.
func runGroup(m *mutant, group []*test, tmp string) error {
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var names []string
	var cpu, took time.Duration
	for _, t := range group {
		names = append(names, regexp.QuoteMeta(t.name))
		cpu, took = cpu+t.cpu, took+t.took
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second+10*took)
	defer cancel()
	cmd := group[0].command(ctx, tmp, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast",
		"-test.timeout", "1h")
	cmd.Env = append(cmd.Env, envMutant+"="+strconv.Itoa(m.ID))
	// 4 GiB of memory, 1 GiB to a file: a mutant may want all there is.
	cmd.Args = append([]string{"sh", "-c", `ulimit -v 4194304; ulimit -f 2097152; exec "$0" "$@"`, cmd.Path},
		cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	if err := cmd.Start(); err != nil {
		return err
	}
	go stopAt(ctx, cancel, cmd.Process.Pid, 500*time.Millisecond+8*cpu)
	err := cmd.Wait()
	if ctx.Err() != nil {
		return context.DeadlineExceeded
	}
	return err
}

// stopAt cancels when a process has used so much of the processors, which a
// mutant that runs for ever has soon on a busy machine too.
func stopAt(ctx context.Context, cancel func(), pid int, limit time.Duration) {
	const tick = 10 * time.Millisecond // of the times in /proc/PID/stat: proc(5), _SC_CLK_TCK
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		user, _ := strconv.Atoi(f[11])
		sys, _ := strconv.Atoi(f[12])
		if time.Duration(user+sys)*tick > limit {
			cancel()
			return
		}
	}
}
