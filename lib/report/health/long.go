package health

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tri/lib/base/lazyregexp"
	"tri/lib/base/text"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// fresh is how long after its start or end a run may be left unattended.
const fresh = 10 * time.Minute

// escalations checks the long runs: those that ended without a result, those that make no progress,
// and those that were not taken up after their end.
func (x *checker) escalations() {
	const name = "long runs"
	ids, err := run.IDs(x.home)
	if err != nil {
		x.failed(name, "", err)
		return
	}
	before, running := len(x.checks), 0
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return !x.home.Exists(run.Folder(x.home, id) + "/request.json")
	})
	for _, id := range ids {
		under, err := x.escalation(id)
		if err != nil {
			x.failed(name, "tri-escalate list shows them", err)
		}
		if under {
			running++
		}
	}
	if running > 0 && len(x.checks) == before {
		x.ok(name, "%d under way", running)
	}
}

func (x *checker) escalation(id string) (running bool, err error) {
	const name = "long runs"
	asked, key, err := run.Asked(x.home, id)
	if err != nil {
		return false, err
	}
	res, err := run.Load(x.home, id)
	if err != nil {
		return false, err
	}
	if res != nil {
		return false, x.takenUp(id, res)
	}
	_, held, err := x.holder(run.Folder(x.home, id) + "/lock")
	if err != nil {
		return false, err
	}
	age := x.Now().Sub(text.ParseTime(asked.At))
	state := x.stateOf(run.Folder(x.home, id))
	switch {
	case !held && age > fresh && asked.By == run.Dispatcher:
		x.fail(name, "see that tri-dispatch runs: it starts it again",
			"%s of %s has ended unexpectedly", id, key)
	case !held && age > fresh:
		x.warn(name, "tri-escalate poll "+id+" records that it ended; tri-escalate start "+key+
			" starts it again", "%s of %s has ended unexpectedly", id, key)
	case held && state.Owner.Stopped():
		x.fail(name, fmt.Sprintf("kill -CONT %d continues it, tri-escalate kill %s ends it", state.Owner.PID,
			id), "%s of %s: its runner, process %d, is stopped, and the run is not supervised", id, key,
			state.Owner.PID)
	case held && state.Status == run.Stalled:
		x.fail(name, "tri-escalate attach "+id+" shows it, tri-escalate kill "+id+" ends it",
			"%s of %s is alive and does nothing", id, key)
	case held && age > x.longest()+fresh:
		x.warn(name, "tri-escalate attach "+id+" shows it, tri-escalate kill "+id+" ends it",
			"%s of %s has run for %s", id, key, ago(age))
	}
	return held, nil
}

// longest returns the maximum duration of a long run.
func (x *checker) longest() time.Duration {
	if x.config == nil {
		return 30 * time.Minute
	}
	return time.Duration(x.config.Escalation.MaxMin * float64(time.Minute))
}

// takenUp checks whether the dispatcher has processed a long run that it had started and that ended
// a while ago.
func (x *checker) takenUp(id string, res *run.Result) error {
	if res.By != run.Dispatcher || x.Now().Sub(text.ParseTime(res.EndedAt)) < fresh {
		return nil
	}
	text, err := x.home.ReadFile("open/" + res.Key + ".json")
	if err != nil {
		return nil // closed since
	}
	var t thread.Thread
	if err := json.Unmarshal(text, &t); err != nil {
		return nil // the threads' row reports it
	}
	waits := t.InvestigatorTaskID != nil && *t.InvestigatorTaskID == id && !t.AtRest() &&
		t.Status != thread.AwaitingValidation
	if waits {
		x.fail("long runs", "see that tri-dispatch runs: it takes it up",
			"%s of %s ended %s ago and was not taken up", id, res.Key, x.since(res.EndedAt))
	}
	return nil
}

// stateOf returns a run's state.json in a folder of the home, the zero State if it cannot be read.
func (x *checker) stateOf(folder string) (s run.State) {
	text, err := x.home.ReadFile(folder + "/state.json")
	if err != nil || json.Unmarshal(text, &s) != nil {
		return run.State{}
	}
	return s
}

var boxName = lazyregexp.New(`^[a-z0-9][a-zA-Z0-9._-]{0,127}$`)

// maxBoxed is how many runs of a box are checked, newest first by name.
const maxBoxed = 200

// boxes checks the runs in the box of each codebase.
func (x *checker) boxes() {
	for _, b := range x.config.Codebases {
		root, err := os.OpenRoot(filepath.Join(b.Path, ".agents"))
		if err != nil {
			continue // no run yet
		}
		x.box("box "+b.Name, root)
		root.Close()
	}
}

func (x *checker) box(name string, root *os.Root) {
	dir, err := root.Open("runs")
	if err != nil {
		return
	}
	runs, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		x.failed(name, "", err)
		return
	}
	slices.Sort(runs)
	active, review := 0, 0
	var still, alone []string
	for _, r := range runs[max(0, len(runs)-maxBoxed):] {
		if !boxName.MatchString(r) {
			continue
		}
		switch s := boxed(root, r); {
		case s.Status == run.Review || s.Status == run.Proposed:
			review++
		case s.Status == run.Stalled:
			still = append(still, r)
		case s.Status == run.Active && (s.Owner.Stopped() || !s.Owner.Alive()):
			alone = append(alone, r)
		case s.Status == run.Active:
			active++
		}
	}
	switch {
	case len(alone) > 0:
		x.warn(name, "tri-box tail --once "+alone[0]+" says why, and what to do", "not supervised: %s",
			strings.Join(alone, ", "))
	case len(still) > 0:
		x.warn(name, "tri-box tail "+still[0]+" shows it; end its tri-box to stop it",
			"alive and doing nothing: %s", strings.Join(still, ", "))
	case len(runs) > 0:
		x.ok(name, "%d runs under way, %d patches wait for a person", active, review)
	}
}

// maxState limits how much is read of a file in a checkout, which is not trusted.
const maxState = 1 << 20

// boxed returns the state of a run in a box, the zero State if it cannot be read.
func boxed(root *os.Root, name string) (s run.State) {
	f, err := root.OpenFile("runs/"+name+"/state.json", os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would hang
	if err != nil {
		return s
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil || json.Unmarshal(text, &s) != nil {
		return run.State{}
	}
	return s
}
