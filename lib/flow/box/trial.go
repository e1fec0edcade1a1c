package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/record/run"
)

// testDir is the folder for the output of a fix's tests.
const testDir = "raw/test"

// maxOutput bounds the test output kept, in bytes; the end is kept.
const maxOutput = 256 << 10

// test runs the configured tests on the changes, in the same sandbox as the agent: the tests run the
// agent's code.
func (l *live) test(ctx context.Context) error {
	argv := l.Config.Box.FixTest
	if len(argv) == 0 {
		return nil
	}
	if limit := l.Config.Box.Limits.Of(l.meta.Type).Time(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	home := "runs/" + l.name + "/" + testDir + "/home"
	err := errors.Join(l.home.MkdirAll(home), run.Update(l.dir(l.name), func(s *run.State) {
		s.Doing = "its tests run"
	}))
	if err != nil {
		return err
	}
	env, err := l.envTest()
	if err != nil {
		return err
	}
	l.Say("run %s: its tests run", l.name)
	var said bytes.Buffer
	cfg := agentOf(l.Config)
	exit, err := proc.Run(ctx, proc.Spec{
		Argv: argv, Dir: l.folder(), Env: proc.Env(nil, l.home.Path(home), env...),
		RunDir: filepath.Join(l.dir(l.name), testDir), Hold: l.lock.File(),
		Sandbox: l.Config.Sandbox, Write: true, Home: l.home.Path(home), Read: cfg.Read, Serve: true,
		Memory: int64(cfg.MemoryMB) << 20, Processes: cfg.Processes, Disk: int64(cfg.DiskMB) << 20,
		Line: func(line []byte) bool {
			said.Write(append(line, '\n'))
			said.Next(max(0, said.Len()-maxOutput))
			return false
		},
	})
	text := append(said.Bytes(), exit.Stderr...)
	err = errors.Join(err, l.home.Replace("runs/"+l.name+"/"+testDir+"/output.txt", text))
	if err == nil && exit.Status != 0 {
		err = agent.Fail(agent.TestsFailed, fmt.Errorf("tests: %q: exit status %d", argv[0], exit.Status))
	}
	return err
}
