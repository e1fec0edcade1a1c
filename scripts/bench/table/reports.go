package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tiktoken-go/tokenizer"

	"tri/lib/record/thread"
)

var reportNames = []string{"brief", "week", "acceptance", "cost", "trust", "verify", "html", "why", "thread"}

// reports measures tri-report on a home of three months that scripts/bench/history
// has written, beside cat of its logs; and how many tokens of a real tokenizer the
// dispatcher prints for an investigation, beside the bytes that tri-report acceptance
// gives as their bound.
func (b *bench) reports() error {
	home := filepath.Join(b.work, "months")
	if _, err := process(nil, b.ours("history"), "-home", home); err != nil {
		return err
	}
	key, message, err := lastAnswered(home)
	if err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(home, "*.ndjson"))
	if err != nil {
		return err
	}
	wall, cpu := b.group("time", seconds), b.group("processor time", seconds)
	all := []contender{{"cat of the logs", append([]string{"cat"}, logs...)}}
	for _, name := range reportNames {
		argv := []string{b.ours("tri-report"), name, "--home", home}
		switch name {
		case "why":
			argv = append(argv, message)
		case "thread":
			argv = append(argv, key)
		}
		all = append(all, contender{"tri-report " + name, argv})
	}
	if err := race(min(b.rounds, 3), nil, wall, cpu, all...); err != nil {
		return err
	}
	return printedTokens(b.group("printed for an investigation", tokensOf), home)
}

// inputs calls fn with each line of the journal.
func inputs(home string, fn func(thread.Input)) error {
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

// lastAnswered is the thread that was answered last, and the message that it answers.
func lastAnswered(home string) (key, message string, err error) {
	err = inputs(home, func(in thread.Input) {
		if in.Reply != nil {
			key, message = in.Key, in.Reply.ReplyToMessageID
		}
	})
	return key, message, err
}

// printedTokens counts what the dispatcher prints for each cycle.
func printedTokens(g *group, home string) error {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return err
	}
	type cycle struct {
		key string
		n   int
	}
	threads, text := map[string]thread.Thread{}, map[cycle]string{}
	err = inputs(home, func(in thread.Input) {
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
	if len(text) == 0 {
		return fmt.Errorf("nothing was investigated in %s", home)
	}
	for _, s := range text {
		ids, _, err := codec.Encode(s)
		if err != nil {
			return err
		}
		if len(ids) > len(s) {
			return fmt.Errorf("%d tokens in %d bytes: the bound does not hold", len(ids), len(s))
		}
		g.add("tri-dispatch", float64(len(ids)))
		g.add("the bound by bytes", float64(len(s)))
	}
	return nil
}
