// Package exec runs any command as an agent: prompt on standard input, one JSON object (or text,
// where no object is wanted) on standard output, status 0.
package exec

import (
	"tri/lib/agent"
	"tri/lib/agent/proc"
	"tri/lib/agent/program"
	"tri/lib/base/config"
)

// MaxReturn limits the output of a program, in bytes.
const MaxReturn = 1 << 20

// Client runs one program. A value that fails the task's check is sent back once: since the program has
// no session, it is run again with its value and the faults appended to the prompt.
// New takes the program from cfg.Command.
func New(cfg config.Agent, sandbox string) (*program.Client, error) {
	return program.New(cfg, sandbox, "exec", func(c *program.Client) {
		c.Stateless, c.Tools = true, nil
		c.UseModels()
		// It takes no permissions, so it may change files wherever the sandbox allows.
		c.Can = agent.Capabilities{Writes: true}
		c.Start = func(program.Turn) (program.Call, error) {
			return program.Call{MaxOutput: MaxReturn, Line: line, Exit: end}, nil
		}
	})
}

func line(line []byte, s *program.Seen) { s.Add(string(line) + "\n") }

func end(e proc.Exit, s *program.Seen) {
	if e.Status == 0 && !e.Flooded {
		s.End()
	}
}
