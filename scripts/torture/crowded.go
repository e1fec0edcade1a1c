package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// crowd has one tri-dispatch with 8 workers investigate many questions at once, and kills it and its
// agents. An agent that finds another one at work on the same question says so. In the end each question
// has one draft that waits, and one offer. Then one person's flood delays others at most twofold.
func crowd(o options) error {
	return errors.Join(crowded(o), flooded(o))
}

// crowdHome returns the folder of a home with questions and 8 workers, whose agents are at work for ms
// milliseconds or more.
func crowdHome(ms int, questions string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "torture-crowd"); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return dir, err
	}
	config := fmt.Sprintf("sandbox: off\nteam: {approvers: [op]}\ncodebases: [{name: code, path: ../code}]\n"+
		"turn: {hold_s: 0}\ndispatch: {concurrency: 8}\n"+
		"budget: {investigations_per_day: 0, investigations_per_person_per_day: 0, per_thread: {runs: 0}, "+
		"per_person: {runs: 0}}\n"+
		"investigator: {agent: exec, command: [%q, words-part, claim, %q, '%d'], max_rounds: 1}\n", self, dir, ms)
	for name, text := range map[string]string{"home/config.yaml": config, "code/code.go": "package code\n",
		"home/events-classified.ndjson": questions, "claims/0": "", "live/0": ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

func crowded(o options) error {
	dir, err := crowdHome(2, questionsOf(0, 1, o.messages, 40))
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return err
	}
	began, rng, killed := time.Now(), rand.New(rand.NewPCG(o.seed, 13)), [2]int{}
	for ended := false; !ended; {
		cmd := exec.Command(filepath.Join(o.bin, "tri-dispatch"), "--once",
			filepath.Join(dir, "home/events-classified.ndjson"))
		cmd.Env = append(os.Environ(), "TRI_HOME="+filepath.Join(dir, "home"))
		cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			return err
		}
		for living := true; living; {
			switch ended = gone(cmd); {
			case ended:
			case time.Since(began) > o.wait:
				_ = cmd.Process.Kill() // it may have ended
				_ = cmd.Wait()
				return fmt.Errorf("it has not come to rest after %v", o.wait)
			case killed[0]+killed[1] >= o.rounds:
				time.Sleep(50 * time.Millisecond)
				continue
			case rng.IntN(3) > 0:
				time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
				killed[1] += killOne(filepath.Join(dir, "live"), rng)
				continue
			default:
				time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
				killed[0]++
				_ = cmd.Process.Kill() // it may have ended
			}
			living = false
			_ = cmd.Wait() // the files say what became of it
			// That a child of the one before still has its lock is not an end.
			ended = ended && cmd.ProcessState.ExitCode() != sysexit.TempFail
		}
	}
	return judgeCrowd(o, dir, killed, time.Since(began))
}

// flooded compares how long 20 people wait for an offer, alone and behind one person's 1000 questions, all
// written at once.
func flooded(o options) error {
	alone, err1 := waits(o, 0)
	behind, err2 := waits(o, 1000)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	fmt.Printf("crowd: 20 people's offers, 8 workers: alone p50 %.1f s, p95 %.1f s; behind 1000 "+
		"questions of one person p50 %.1f s, p95 %.1f s\n", alone[10], alone[18], behind[10], behind[18])
	if behind[18] > 2*alone[18] {
		return errors.New("one person's flood delays others more than twofold")
	}
	return nil
}

// others is the id of the first question of the 20.
const others = 500000

var othersOffer = regexp.MustCompile(`"kind":"offer"[^\n]*"key":"local\.dev\.5000\d\d"`)

// waits returns for how many seconds 20 people wait, in ascending order.
func waits(o options, flood int) ([]float64, error) {
	dir, err := crowdHome(3000, questionsOf(0, 1, 1, 1))
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		return nil, err
	}
	at := len(questionsOf(0, 1, 1, 1))
	more := questionsOf(at, 1000, flood, 1)
	more += questionsOf(at+len(more), others, 20, 20)
	log := filepath.Join(dir, "home/events-classified.ndjson")
	cmd := exec.Command(filepath.Join(o.bin, "tri-dispatch"), log)
	cmd.Env = append(os.Environ(), "TRI_HOME="+filepath.Join(dir, "home"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }() // it may have ended
	var all []float64
	var began time.Time
	for end := time.Now().Add(o.wait); len(all) < 20; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return nil, fmt.Errorf("%d of 20 have an offer after %v", len(all), o.wait)
		}
		text, err := os.ReadFile(filepath.Join(dir, "home/decisions.ndjson"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if began.IsZero() && len(text) > 0 { // it has answered the first
			f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				return nil, err
			}
			_, err = f.WriteString(more)
			if err = errors.Join(err, f.Close()); err != nil {
				return nil, err
			}
			began = time.Now()
		}
		for range len(othersOffer.FindAll(text, -1)) - len(all) {
			all = append(all, time.Since(began).Seconds())
		}
	}
	return all, nil
}

// questionsOf returns n questions of some people by turns, each in a thread of its own, with ids from first,
// as lines from an offset on.
func questionsOf(offset, first, n, people int) string {
	var text []byte
	for i := range n {
		e := event.Classified{Classification: event.Actionable, IsQuestion: true}
		e.Seq, e.Platform, e.ChatID, e.ChatName = new(int64(offset+len(text))), "local", "dev", "dev"
		e.MessageID, e.MsgType, e.Mentions = fmt.Sprint(first+i), "text", []string{}
		e.CreateTime = time.Now().UTC().Format(time.RFC3339)
		e.Content = fmt.Sprintf("why is it CLAIM-%d ?", first+i)
		e.Sender = event.Sender{ID: fmt.Sprint("asker", first+i%people), Type: "user"}
		line, _ := json.Marshal(e) // plain values
		text = append(append(text, line...), '\n')
	}
	return string(text)
}

// claims matches the command line of an agent.
var claims = regexp.MustCompile(`\x00claim\x00`)

// killOne kills one of the agents at work, and reports how many that were.
func killOne(live string, rng *rand.Rand) int {
	var entries []os.DirEntry
	for end := time.Now().Add(time.Second); len(entries) == 0; time.Sleep(time.Millisecond) {
		if entries, _ = os.ReadDir(live); time.Now().After(end) { // it is there
			return 0
		}
	}
	pid, err := strconv.Atoi(entries[rng.IntN(len(entries))].Name())
	if err != nil {
		return 0
	}
	if args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); !claims.Match(args) {
		_ = os.Remove(filepath.Join(live, strconv.Itoa(pid))) // it was killed with its dispatcher
		return 0
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	return 1
}

// claim is an agent program that is alone on its question as long as it works, for ms milliseconds or more.
func claim(dir, ms string) error {
	text, err := io.ReadAll(bufio.NewReader(os.Stdin))
	if err != nil {
		return err
	}
	question := regexp.MustCompile(`CLAIM-\d+`).FindString(string(text))
	f, err := os.OpenFile(filepath.Join(dir, "claims", question), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return os.WriteFile(filepath.Join(dir, "double-"+question), nil, 0o600)
	}
	mine := filepath.Join(dir, "live", strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		return err
	}
	least, err := strconv.Atoi(ms)
	time.Sleep(time.Duration(least+rand.IntN(80)) * time.Millisecond)
	b, err2 := json.Marshal(draft.Return{Confidence: "low", ConfidenceReason: "r", SummaryForOrchestrator: "s",
		DraftReply: question + " .", DraftLanguage: "en", EvidenceRefs: []draft.Ref{}, OpenQuestions: []string{},
		InvestigatorRound: 1})
	fmt.Println(string(b))
	return errors.Join(err, err2, os.Remove(mine))
}

func judgeCrowd(o options, dir string, killed [2]int, took time.Duration) error {
	doubles, err := filepath.Glob(filepath.Join(dir, "double-*"))
	if err != nil {
		return err
	}
	waits, failed, stuck := 0, 0, 0
	names, _ := filepath.Glob(filepath.Join(dir, "home/open/*.json")) // the pattern is good
	offers := map[string]int{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		t := new(thread.Thread)
		if err := json.Unmarshal(text, t); err != nil {
			return err
		}
		switch {
		case t.Status != thread.PendingUser:
			stuck++
		case t.DraftPending == nil:
			failed++ // its agent was killed too often, and a person sees that
		default:
			offers[t.Key] = 0
			waits++
		}
	}
	stuck += o.messages - len(names)
	f, err := os.Open(filepath.Join(dir, "home/decisions.ndjson"))
	if err != nil {
		return err
	}
	defer f.Close()
	wrong := 0
	for d := json.NewDecoder(f); ; {
		var r decision.Record
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if r.Kind == decision.Offer {
			offers[r.Key]++
		}
	}
	for _, n := range offers {
		if n != 1 {
			wrong++
		}
	}
	count(counts{messages: o.messages, lost: stuck, doubled: len(doubles) + wrong})
	fmt.Printf("crowd: %d questions, 8 workers, killed: %d dispatchers, %d agents, %.0f s: double claims %d, "+
		"stuck %d, offered other than once %d, waiting %d, failed for a person to see %d\n", o.messages, killed[0], killed[1],
		took.Seconds(), len(doubles), stuck, wrong, waits, failed)
	if len(doubles)+stuck+wrong > 0 {
		return errors.New("claimed twice, stuck, or offered other than once")
	}
	return nil
}
