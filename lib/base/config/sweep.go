package config

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"tri/lib/base/lazyregexp"
)

// PlatformSweep is the platform of the findings of sweeps. It is not a chat: nothing is posted to it.
const PlatformSweep = "sweep"

// Sweep is what the operator has looked at in a codebase at intervals: by a command in the sandbox, of whose
// output each line that names a file and a line is a finding, or by the forge's failing checks.
type Sweep struct {
	Name     string   `yaml:"name"`
	Command  []string `yaml:"command"`
	Kind     string   `yaml:"kind" default:"concern"` // of SweepKinds
	Codebase string   `yaml:"codebase"`               // name of one of Codebases; default: the first
	EveryH   float64  `yaml:"every_h" default:"24"`   // hours between two runs
	Most     int      `yaml:"most" default:"3"`       // new findings of one run
	Read     []string `yaml:"read" is:"path"`         // further files and folders that the command may read
	MinAgeD  float64  `yaml:"min_age_d"`              // only lines that were last changed this many days ago
	Checks   bool     `yaml:"checks"`                 // in place of a command: the failing checks of the target branch
}

// SweepKinds has what is asked about a finding of each kind.
var SweepKinds = map[string]string{
	"concern":     "Is this a fault, and what follows from it?",
	"suggestion":  "What would be better here, and why?",
	"observation": "What does the code do here?",
	"priority":    "Why is this here, and is it still wanted?",
	"task":        "What is left to do here?",
	"slice":       "Which steps does this need?",
}

// Every returns EveryH as a duration.
func (s *Sweep) Every() time.Duration { return time.Duration(s.EveryH * float64(time.Hour)) }

var sweepName = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,30}$`)

func (c *Config) fillSweep() {
	for i := range c.Sweep {
		if s := &c.Sweep[i]; s.Codebase == "" && len(c.Codebases) > 0 {
			s.Codebase = c.Codebases[0].Name
		}
	}
}

// compileSweep reports, with line numbers, errors that the schema cannot express.
func (c *Config) compileSweep(f *faults) {
	seen := map[string]bool{}
	for i, s := range c.Sweep {
		switch {
		case s.Checks && (len(s.Command) > 0 || s.MinAgeD > 0):
			f.add(errors.New("checks needs no command and no age"), "sweep", i, "checks")
		case !s.Checks && (len(s.Command) == 0 || s.Command[0] == ""):
			f.add(errors.New("needs a program"), "sweep", i, "command")
		}
		switch {
		case !sweepName.MatchString(s.Name):
			f.add(fmt.Errorf("%q: want a to z, 0 to 9 and -", s.Name), "sweep", i, "name")
		case seen[s.Name]:
			f.add(fmt.Errorf("two sweeps are called %q", s.Name), "sweep", i, "name")
		case c.codebase(s.Codebase) == nil:
			f.add(fmt.Errorf("no codebase is called %q", s.Codebase), "sweep", i)
		case c.BotName() == "":
			f.add(errors.New("needs classifier.bot_id: a finding is addressed to the bot"), "sweep", i)
		}
		seen[s.Name] = true
	}
}

// BotName returns the first id of the bot, "" if none is configured.
func (c *Config) BotName() string {
	return cmp.Or(append([]string{c.Classifier.BotID}, c.Classifier.BotIDs...)...)
}
