package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// dispatch measures the dispatcher beside closed threads: how long it takes to
// start and end with nothing to do, what an event in one of the threads takes, and
// how much memory it has.
func (b *bench) dispatch() error {
	const events, who = 2_000, "tri-dispatch --once"
	sizes := []int{100, 10_000}
	if b.long {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		dir := filepath.Join(b.work, "dispatch")
		home, code := filepath.Join(dir, "home"), filepath.Join(dir, "code")
		if err := codebase(code); err != nil {
			return err
		}
		if err := b.threads(home, code, n); err != nil {
			return err
		}
		start, each := b.sized("start", seconds, n, "threads"),
			b.sized("event in a closed thread", seconds, n, "threads")
		memory := b.sized("memory", bytesOf, n, "threads")
		for round := range b.rounds {
			var t [2]took
			for i := range t {
				if err := remark(filepath.Join(home, classifiedLog), i*events, n, round); err != nil {
					return err
				}
				var err error
				if t[i], err = process(nil, b.ours("tri-dispatch"), "--once", "--home", home, "--codebase",
					code, filepath.Join(home, classifiedLog)); err != nil {
					return err
				}
			}
			start.add(who, t[0].wall)
			each.add(who, max(t[1].wall-t[0].wall, 0)/events)
			memory.add(who, t[1].memory)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// remark appends n classified events in closed threads, which ask nothing.
func remark(log string, n, closed, round int) error {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range n {
		line := inThread(message(fmt.Sprintf("r%d-%d", round, i), "that was it", info.Size()+int64(b.Len())),
			closedID(i*7919%closed))
		b.WriteString(strings.TrimSuffix(line, "}\n"))
		fmt.Fprintf(&b, `,"is_bot_mention":false,"is_question":false,"is_ack_or_emoji":false,`+
			`"is_internal_chatter":false,"mentions_thread_with_inflight":false,"classification":"ambient",`+
			`"classifier_confidence":0.8,"classifier_version":"x","classified_at":%q,"reasons":["nothing-asked"]}`+"\n",
			time.Now().UTC().Format(time.RFC3339))
	}
	_, err = f.WriteString(b.String())
	return err
}
