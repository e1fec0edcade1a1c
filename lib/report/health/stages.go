package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/record/run"
)

// stages returns the programs that should run permanently, and tri-watch if it is run by hand.
func (x *checker) stages() []config.Stage {
	cfg := x.config
	if cfg == nil {
		cfg = config.Default()
	}
	stages := cfg.Stages(x.home.Dir())
	const lock = "locks/watch"
	if slices.ContainsFunc(stages, func(s config.Stage) bool { return s.Lock == lock }) {
		return stages
	}
	if _, held, err := x.holder(lock); err == nil && held {
		stages = slices.Insert(stages, 0,
			config.Stage{Name: "watch", Lock: lock, Command: []string{"tri-watch"}})
	}
	return stages
}

// title returns the displayed name of a stage: its program, unless the team defined it.
func title(s config.Stage) string {
	switch {
	case s.Lock == "":
		return "stage " + s.Name
	case s.Name == "chat" || s.Name == "web":
		return "tri-approve " + s.Name
	}
	return "tri-" + s.Name
}

// supervision is supervise.json, as tri-supervise writes it.
type supervision struct {
	Stages []life `json:"stages"`
	alive  bool
	pid    int
	some   bool // at least one stage runs
}

// life is the state of one stage in it.
type life struct {
	Name     string `json:"name"`
	State    string `json:"state"` // starting, up, waiting, down
	PID      int    `json:"pid"`
	Since    string `json:"since"`
	Restarts int    `json:"restarts"`
	Ended    string `json:"ended"`
	Next     string `json:"next"`
}

const (
	supervisorLock = "locks/supervise"
	supervisorFile = "supervise.json"
)

// How long the restart of a stage may take, and how often it may end before that counts as a loop.
const (
	soon = 15 * time.Second
	loop = 3
)

func (x *checker) supervision() (*supervision, error) {
	s := new(supervision)
	pid, held, err := x.holder(supervisorLock)
	if err != nil || !held {
		return s, err
	}
	text, err := x.home.ReadFile(supervisorFile)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("{}"), nil // it has just started
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", supervisorFile, err)
	}
	s.alive, s.pid = true, pid
	return s, nil
}

func (s *supervision) of(name string) *life {
	for i := range s.Stages {
		if s.Stages[i].Name == name {
			return &s.Stages[i]
		}
	}
	return nil
}

// alive reports which stages run, and whether they are supervised. A stage runs if it holds its
// lock.
func (x *checker) alive() {
	sup, err := x.supervision()
	if err != nil {
		x.failed("tri-supervise", "tri down, then tri up", err)
	}
	stages := x.stages()
	sup.some = slices.ContainsFunc(stages, func(s config.Stage) bool {
		_, held, err := x.holder(s.Lock)
		return s.Lock != "" && held && err == nil
	})
	if !sup.alive && !sup.some && x.unused(stages) {
		x.ok("pipeline", "was never started: tri up starts it")
		return
	}
	var running []string
	for _, s := range stages {
		if x.stage(s, sup) {
			running = append(running, title(s))
		}
	}
	x.older(stages)
	x.supervisor(sup, len(running), len(stages))
}

// unused reports whether no stage has ever run in the home.
func (x *checker) unused(stages []config.Stage) bool {
	return !slices.ContainsFunc(stages, func(s config.Stage) bool {
		return s.Lock == "" || x.home.Exists(s.Lock) || x.home.Exists("logs/"+s.Name+".log")
	}) && !x.home.Exists("events.ndjson") && !x.home.Exists("dispatch.ndjson")
}

// older reports the stages that started before the configuration was changed, since they read it at
// their start.
func (x *checker) older(stages []config.Stage) {
	if x.config == nil || x.config.Path == "" {
		return
	}
	info, err := os.Stat(x.config.Path)
	if err != nil {
		return // reported elsewhere
	}
	var names []string
	for _, s := range stages {
		if s.Lock == "" {
			continue
		}
		pid, held, err := x.holder(s.Lock)
		if began, known := began(pid); held && err == nil && known && began.Before(info.ModTime()) {
			names = append(names, title(s))
		}
	}
	if len(names) > 0 {
		x.warn("stages", "tri down, then tri up",
			"the configuration was changed %s ago, and %s began before that",
			ago(time.Since(info.ModTime())), strings.Join(names, ", "))
	}
}

// began returns when a process was started.
func began(pid int) (at time.Time, known bool) {
	const ticks = 100 // per second: USER_HZ, proc(5)
	up, err := os.ReadFile("/proc/uptime")
	var sec float64
	if err == nil {
		_, err = fmt.Sscan(string(up), &sec)
	}
	p := run.ProcessOf(pid)
	if err != nil || p.Start == 0 {
		return time.Time{}, false
	}
	return time.Now().Add(-time.Duration((sec - float64(p.Start)/ticks) * float64(time.Second))), true
}

// supervisor reports whether stages that end are restarted.
func (x *checker) supervisor(sup *supervision, running, stages int) {
	const name = "tri-supervise"
	again := 0
	for _, l := range sup.Stages {
		again += l.Restarts
	}
	switch {
	case sup.alive && stopped(sup.pid):
		x.fail(name, fmt.Sprintf("kill -CONT %d", sup.pid),
			"process %d is stopped: stages that end now are not restarted", sup.pid)
	case sup.alive:
		x.ok(name, "process %d, %d stages, %d restarts", sup.pid, len(sup.Stages), again)
	case running == 0:
		x.warn(name, "tri up", "nothing runs")
	case running < stages:
		x.warn(name, "tri up, once the stages that were started by hand have ended",
			"a stage that ends is not restarted")
	default:
		x.ok(name, "not used: the stages were started by hand")
	}
}

// stage reports the state of one stage, and returns whether it runs.
func (x *checker) stage(s config.Stage, sup *supervision) (runs bool) {
	name, l := title(s), sup.of(s.Name)
	if s.Lock == "" {
		return x.own(s, l)
	}
	pid, held, err := x.holder(s.Lock)
	switch {
	case err != nil:
		x.failed(name, "", err)
	case held && stopped(pid):
		x.fail(name, fmt.Sprintf("kill -CONT %d", pid),
			"is stopped, process %d: it holds its lock and does nothing", pid)
	case held && l != nil && x.loops(l):
		x.fail(name, x.says(s), "runs, process %d, and has ended %d times, the last time %s ago: %s", pid,
			l.Restarts, x.since(l.Since), l.Ended)
	case held && s.Name == "watch":
		x.watching(pid)
	case held && s.Name == "web":
		x.serving(pid)
	case held:
		x.ok(name, "runs, process %d", pid)
	case l != nil:
		x.absent(s, l)
	case x.leftOut(s.Name):
	case !sup.some:
		x.warn(name, "tri up", "does not run")
	default:
		x.warn(name, "tri up starts all; this one alone, in "+x.home.Dir()+": "+strings.Join(s.Command, " "),
			"does not run")
	}
	return held
}

// own reports the state of a stage that the team defined: its lock is not known, so only its
// supervisor can tell.
func (x *checker) own(s config.Stage, l *life) (runs bool) {
	switch {
	case l == nil:
		return true // not known
	case l.State == "up" && stopped(l.PID):
		x.fail(title(s), fmt.Sprintf("kill -CONT %d", l.PID), "is stopped, process %d", l.PID)
	case l.State == "up" && x.loops(l):
		x.fail(title(s), x.says(s), "has ended %d times: %s", l.Restarts, l.Ended)
	case l.State == "up":
		x.ok(title(s), "runs, process %d", l.PID)
	default:
		x.absent(s, l)
	}
	return l.State == "up"
}

// loops reports whether a running stage has recently ended by itself, and not for the first time.
func (x *checker) loops(l *life) bool {
	at, err := time.Parse(time.RFC3339, l.Since)
	return err == nil && l.Restarts >= loop && x.Now().Sub(at) < time.Minute && failing(l)
}

// failing reports whether the stage's last end was a failure, and not a stop from outside, which
// does not predict another.
func failing(l *life) bool {
	return l.Ended != "" && !strings.HasPrefix(l.Ended, "ended by ") && l.Ended != "ended with status 0"
}

// absent reports that a supervised stage is not running.
func (x *checker) absent(s config.Stage, l *life) {
	at, err := time.Parse(time.RFC3339, l.Since)
	long := err != nil || x.Now().Sub(at) > soon
	next, err := time.Parse(time.RFC3339, l.Next)
	overdue := err == nil && x.Now().Sub(next) > soon
	switch {
	case l.State == "waiting" && overdue:
		x.fail(title(s), "tri down, then tri up", "has ended, and its supervisor does not start it again: %s",
			l.Ended)
	case l.State == "starting" && long:
		x.fail(title(s), "is another one at work? "+x.says(s),
			"has been starting for %s and does not hold its lock", x.since(l.Since))
	case l.Restarts >= loop && failing(l):
		x.fail(title(s), x.says(s), "ends after every start, %d times so far: %s",
			l.Restarts, l.Ended)
	case l.State == "down":
		x.fail(title(s), "tri down, then tri up", "is not started by its supervisor")
	default:
		x.warn(title(s), x.says(s), "is being started again: %s", l.Ended)
	}
}

// says returns where a stage logs.
func (x *checker) says(s config.Stage) string {
	return "tail " + x.home.Path("logs/"+s.Name+".log")
}

func (x *checker) since(stamp string) string {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return "?"
	}
	return ago(x.Now().Sub(at))
}
