package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
		home, code, none, some := filepath.Join(dir, "home"), filepath.Join(dir, "code"),
			filepath.Join(dir, "none"), filepath.Join(dir, "some")
		if err := errors.Join(threads(home, n), codebase(code), os.WriteFile(none, nil, 0o600),
			os.WriteFile(some, []byte(remarks(events, n)), 0o600)); err != nil {
			return err
		}
		start, each := b.sized("start", seconds, n, "threads"),
			b.sized("event in a closed thread", seconds, n, "threads")
		memory := b.sized("memory", bytesOf, n, "threads")
		for range b.rounds {
			var t [2]took
			for i, file := range []string{none, some} {
				if err := forget(home); err != nil {
					return err
				}
				var err error
				if t[i], err = process(nil, b.ours("tri-dispatch"), "--once", "--home", home, "--codebase",
					code, file); err != nil {
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

// forget takes away what the dispatcher of the round before has read.
func forget(home string) error {
	for _, name := range []string{"dispatch.ndjson", "dispatch.json"} {
		if err := os.RemoveAll(filepath.Join(home, name)); err != nil {
			return err
		}
	}
	return nil
}

// remarks are classified events in closed threads, which ask nothing.
func remarks(n, closed int) string {
	var b strings.Builder
	for i := range n {
		line := message(i, fmt.Sprint("r", i), "that was it", int64(b.Len()))
		line = strings.Replace(line, `"thread_id":null`,
			fmt.Sprintf(`"thread_id":%q`, closedID(i*7919%closed)), 1)
		b.WriteString(strings.TrimSuffix(line, "}\n"))
		b.WriteString(`,"is_bot_mention":false,"is_question":false,"is_ack_or_emoji":false,"is_internal_chatter":false,"mentions_thread_with_inflight":false,"classification":"ambient","classifier_confidence":0.8,"classifier_version":"x","classified_at":"2026-11-21T10:00:00Z","reasons":["nothing-asked"]}` + "\n")
	}
	return b.String()
}
