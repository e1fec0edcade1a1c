// Reports measures tri-report on a home of some months that scripts/bench/history
// has written: each report's time, and how many tokens of a real tokenizer the
// orchestrator prints for an investigation, beside the bytes that tri-report
// acceptance gives as their bound.
//
//	reports -home DIR [-program tri-report] [-rounds 3]
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"tri/lib/thread"
)

var reports = []string{"brief", "week", "acceptance", "cost", "trust", "verify", "html", "why", "thread"}

func main() {
	log.SetFlags(0)
	home := flag.String("home", "", "measure on `DIR`")
	program := flag.String("program", "tri-report", "the program")
	rounds := flag.Int("rounds", 3, "take the best of `N`")
	flag.Parse()
	key, message, err := last(*home)
	if err != nil {
		log.Fatal("reports: ", err)
	}
	fmt.Printf("%-12s %8s %8s %8s\n", "report", "seconds", "cpu s", "MB")
	for _, name := range reports {
		args := []string{name, "--home", *home}
		switch name {
		case "why":
			args = append(args, message)
		case "thread":
			args = append(args, key)
		}
		if err := measure(*program, name, args, *rounds); err != nil {
			log.Fatalf("reports: %s: %v", name, err)
		}
	}
	if err := printed(*home); err != nil {
		log.Fatal("reports: ", err)
	}
}

// measure runs a report and prints the best of its times.
func measure(program, name string, args []string, rounds int) error {
	best, cpu, memory := time.Hour, time.Hour, int64(0)
	for range rounds {
		c := exec.Command(program, args...)
		c.Stderr = os.Stderr
		began := time.Now()
		if err := c.Run(); err != nil {
			return err
		}
		best, cpu = min(best, time.Since(began)), min(cpu, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
		memory = max(memory, resident(c.ProcessState))
	}
	fmt.Printf("%-12s %8.2f %8.2f %8d\n", name, best.Seconds(), cpu.Seconds(), memory>>20)
	return nil
}

// lines calls fn with each line of the journal.
func lines(home string, fn func(thread.Input)) error {
	f, err := os.Open(filepath.Join(home, "dispatch.ndjson"))
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var input thread.Input
		if err := json.Unmarshal(in.Bytes(), &input); err != nil {
			return err
		}
		fn(input)
	}
	return in.Err()
}

// last is the thread that was answered last, and the message that it answers.
func last(home string) (key, message string, err error) {
	err = lines(home, func(in thread.Input) {
		if in.Reply != nil {
			key, message = in.Key, in.Reply.ReplyToMessageID
		}
	})
	return key, message, err
}

// printed counts tokens and bytes of what the orchestrator prints for each cycle.
func printed(home string) error {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	type cycle struct {
		key string
		n   int
	}
	threads, text := map[string]thread.Thread{}, map[cycle]string{}
	err = lines(home, func(in thread.Input) {
		if len(threads) > 400 && threads[in.Key].Key == "" {
			return
		}
		old := threads[in.Key]
		next, _ := thread.Apply(old, in)
		threads[in.Key] = next
		for _, m := range next.Moves(&old) {
			b, _ := json.Marshal(m) // of strings and a number
			text[cycle{in.Key, m.Cycle}] += string(b) + "\n"
		}
	})
	if err != nil {
		return err
	}
	var tokens, bytes []int
	for _, s := range text {
		ids, _, err := codec.Encode(s)
		if err != nil {
			return err
		}
		if len(ids) > len(s) {
			return fmt.Errorf("%d tokens in %d bytes: the bound does not hold", len(ids), len(s))
		}
		tokens, bytes = append(tokens, len(ids)), append(bytes, len(s))
	}
	if len(tokens) == 0 {
		return fmt.Errorf("nothing was investigated in %s", home)
	}
	slices.Sort(tokens)
	slices.Sort(bytes)
	fmt.Printf("printed for an investigation: median %d tokens (o200k), most %d, of %d; the bound by bytes is %d\n", tokens[len(tokens)/2], tokens[len(tokens)-1], len(tokens), bytes[len(bytes)/2])
	return nil
}
