package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/flow/validate"
	"tri/lib/record/verdict"
	"tri/lib/report/faults"
)

func init() {
	parts = append(parts, part{"attack", "The attack: faults planted in good returns, and false alarms",
		attack})
}

const (
	// attackCommit is the commit of this repository that returns about it cite: its
	// lines do not move when the code does.
	attackCommit  = "9b53308f1c9767a42fc927a8f5f762f9ba2a144d"
	plantsWanted  = 300                           // plants of each kind
	plantRounds   = 12                            // seeds tried for that many
	pythonic      = "python/"                     // begins the name of a codebase in Python
	plantedSecret = "Korridor-7-unter-der-Treppe" // stands for a secret of the team's own
)

// A half is tuned or untouched; returns are made by hand, by hand in pairs with their
// opposite, or by search.
var (
	halves = []string{"tuned", "untouched"}
	makers = []string{"hand", "pair", "search"}
)

// trial is a return that is judged: a good one, or a plant.
type trial struct {
	faults.Record
	half, maker, dir string
	verdict          *verdict.Verdict
}

// attack plants every kind of fault in good returns of three makers, over three
// codebases, and has each judged without its mark.
func attack(out io.Writer, in inputs) error {
	dirs, remove, err := locateAll()
	if err != nil {
		return err
	}
	defer remove()
	goods, err := goodReturns(filepath.Join(in.data, "returns"), dirs)
	if err != nil {
		return err
	}
	bare := make([]faults.Record, len(goods)) // to plant in
	for i, t := range goods {
		bare[i], t.Record = t.Record, (&faults.Drill{}).Good(t.Record, t.Key)
	}
	if err := judgeAll(goods); err != nil {
		return err
	}
	alarms(out, goods)
	var sound []*trial
	for i, t := range goods {
		if t.verdict.Verdict == verdict.Pass {
			sound = append(sound, &trial{Record: bare[i], half: t.half, maker: t.maker, dir: t.dir})
		}
	}
	plants, err := plantAll(sound)
	if err != nil {
		return err
	}
	if err := judgeAll(plants); err != nil {
		return err
	}
	catches(out, plants)
	return tell(goods, plants)
}

// attacked are the codebases that the returns cite, by the names in them.
var attacked = map[string]codebase{
	"tri":                                          {commit: attackCommit},
	"github.com/coder/websocket@v1.8.15":           {module: "github.com/coder/websocket@v1.8.15"},
	"github.com/fsnotify/fsnotify@v1.10.1":         {module: "github.com/fsnotify/fsnotify@v1.10.1"},
	"github.com/nxadm/tail@v1.4.11":                {module: "github.com/nxadm/tail@v1.4.11"},
	"github.com/gorilla/mux@v1.8.1":                {module: "github.com/gorilla/mux@v1.8.1"},
	"github.com/spf13/viper@v1.18.2":               {module: "github.com/spf13/viper@v1.18.2"},
	"github.com/hashicorp/memberlist@v0.5.0":       {module: "github.com/hashicorp/memberlist@v0.5.0"},
	"github.com/hashicorp/yamux@v0.1.1":            {module: "github.com/hashicorp/yamux@v0.1.1"},
	"github.com/hashicorp/go-retryablehttp@v0.7.8": {module: "github.com/hashicorp/go-retryablehttp@v0.7.8"},
	"github.com/spf13/cobra@v1.10.2":               {module: "github.com/spf13/cobra@v1.10.2"},
	"golang.org/x/time@v0.15.0":                    {module: "golang.org/x/time@v0.15.0"},
}

// locateAll finds their folders; remove takes away what was made for it.
func locateAll() (dirs map[string]string, remove func(), err error) {
	dirs = map[string]string{}
	var made []func()
	remove = func() {
		for _, f := range made {
			f()
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("find Go's own library: %w", err)
	}
	for _, name := range []string{"net", "runtime"} { // and of these
		attacked["go/"+name] = codebase{dir: filepath.Join(strings.TrimSpace(string(root)), "src", name)}
	}
	for _, c := range codebases { // some returns by hand are about these, where they are installed
		if _, err := os.Stat(c.dir); c.lang == "Python" && err == nil {
			dirs[pythonic+c.name] = c.dir
		}
	}
	for name, c := range attacked {
		dir, cleanup, err := c.locate()
		if err != nil {
			remove()
			return nil, nil, fmt.Errorf("find codebase %s: %w", name, err)
		}
		dirs[name], made = dir, append(made, cleanup)
	}
	return dirs, remove, nil
}

// judgeAll gives each its verdict, of code alone, with the mark of the drill kept
// from whoever judges.
func judgeAll(all []*trial) error {
	v := &validate.Validator{Secrets: []string{plantedSecret}, Now: time.Now}
	var group sync.WaitGroup
	next := make(chan *trial)
	errs := make([]error, 2)
	for i := range errs {
		group.Go(func() {
			for t := range next {
				ret := *t.Return
				ret.Drill = nil
				r := validate.Request{Return: &ret, Codebase: t.dir}
				for _, o := range t.Others {
					r.Others = append(r.Others, validate.Other{Key: o.Key, Summary: o.Summary})
				}
				got, err := v.Run(context.Background(), r)
				if err != nil {
					errs[i] = fmt.Errorf("judge %s: %w", t.Key, err)
					got = &verdict.Verdict{}
				}
				t.verdict = got
			}
		})
	}
	for _, t := range all {
		next <- t
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}

// plantAll plants, seed by seed, until there are enough different plants of each
// kind, of the decidable ones where a kind has both; each half with its own half
// of the phrases.
func plantAll(goods []*trial) ([]*trial, error) {
	found := make([][]*trial, len(faults.Faults)) // by kind
	errs := make([]error, workers)
	var group sync.WaitGroup
	next := make(chan int, len(faults.Faults))
	for i := range faults.Faults {
		next <- i
	}
	close(next)
	for w := range errs {
		group.Go(func() {
			drills, remove, err := drillsOf(goods)
			defer remove()
			for i := range next {
				if err == nil {
					found[i], err = plantKind(faults.Faults[i], goods, drills)
				}
			}
			errs[w] = err
		})
	}
	group.Wait()
	return slices.Concat(found...), errors.Join(errs...)
}

// workers is how many plant at a time, each with drills of its own.
const workers = 2

// drillsOf makes a drill for each half of each codebase.
func drillsOf(goods []*trial) (drills map[string]*faults.Drill, remove func(), err error) {
	drills = map[string]*faults.Drill{}
	remove = func() {
		for _, d := range drills {
			_ = d.Root.Close() // it was only read
		}
	}
	for _, t := range goods {
		if id := t.dir + t.half; drills[id] == nil {
			root, err := os.OpenRoot(t.dir)
			if err != nil {
				return nil, remove, err
			}
			drills[id] = &faults.Drill{Root: root, Half: 1 + slices.Index(halves, t.half),
				TeamSecret: plantedSecret}
		}
	}
	return drills, remove, nil
}

// plantKind plants one kind, in each good return once for each seed. Half of the
// plants go into returns written by hand, as far as those have places: a claim in
// other words than its line's is the harder one to see through.
func plantKind(fault string, goods []*trial, drills map[string]*faults.Drill) ([]*trial, error) {
	var all []*trial
	seen := map[uint64]bool{}
	decidable := 0
	byHand := func(t *trial) bool { return t.maker == "hand" || t.maker == "pair" }
	for _, turn := range []struct {
		of   func(*trial) bool
		most int
	}{{byHand, plantsWanted / 2}, {func(*trial) bool { return true }, plantsWanted}} {
		for seed := int64(1); seed <= plantRounds && decidable < turn.most; seed++ {
			before := len(all)
			for _, at := range rand.New(rand.NewPCG(uint64(seed), 0)).Perm(len(goods)) {
				t := goods[at]
				if !turn.of(t) || decidable == turn.most {
					continue
				}
				d := drills[t.dir+t.half]
				d.Seed = seed
				bad, err := d.Plant(t.Record, fault, t.Key, uint64(at))
				if errors.Is(err, faults.ErrNoPlace) {
					continue
				}
				if err != nil {
					return nil, err
				}
				if id := identity(bad); !seen[id] {
					seen[id] = true
					all = append(all, &trial{Record: bad, half: t.half, maker: t.maker, dir: t.dir})
					if bad.Drill.Decidable {
						decidable++
					}
				}
			}
			if len(all) == before {
				break
			}
		}
	}
	return all, nil
}

// identity tells plants apart by what they say, not by their seed.
func identity(r faults.Record) uint64 {
	ret := *r.Return
	ret.Drill = nil
	r.Return = &ret
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // it was read from JSON
	}
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// tell writes the false alarms and the misses of the tuned half to a file below
// $ATTACK_MISSES, for whoever mends the checks; never those of the other half.
func tell(goods, plants []*trial) error {
	dir := os.Getenv("ATTACK_MISSES")
	if dir == "" {
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, t := range append(slices.Clone(goods), plants...) {
		good := i < len(goods)
		if t.half != "tuned" || (t.verdict.Verdict == verdict.Pass) == good {
			continue
		}
		why := "a good return is refused"
		if !good {
			why = "passed: " + t.Drill.Where + ": " + t.Drill.What
		}
		err := enc.Encode(map[string]any{
			"kind": t.Drill.Fault, "decidable": t.Drill.Decidable, "why": why, "maker": t.maker,
			"codebase": t.dir,
			"verdict":  t.verdict.Verdict, "reasons": t.verdict.Reasons, "return": t.Record,
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "tuned.ndjson"), b.Bytes(), 0o644)
}
