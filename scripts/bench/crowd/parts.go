package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/stream"
	"tri/lib/flow/dispatch"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// atOnce has n people each ask one thing at the same time, and looks at when and in which order the
// drafts wait for a person.
func atOnce(p *place, n int) error {
	var said bytes.Buffer
	order := map[string]int{}
	for i := range n {
		order[event.Key("local", "dev", strconv.Itoa(said.Len()))] = i
		fmt.Fprintf(&said, "asker%d: where is RetryLimit%03d set?\n", i, i%100)
	}
	if err := os.WriteFile(filepath.Join(p.chat, "dev"), said.Bytes(), 0o600); err != nil {
		return err
	}
	fmt.Printf("%d questions at once\n", n)
	classified := p.path("events-classified.ndjson")
	_, _, err1 := p.timed("tri-watch", "--once", "local", p.chat)
	_, _, err2 := p.timed("tri-classify", "--out", classified, p.path("events.ndjson"))
	began := time.Now()
	out, took, err3 := p.timed("tri-dispatch", "--once", classified)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	offered, moved, half := 0, 0, time.Duration(0)
	for line := range bytes.Lines(out) {
		var m thread.Move
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.To != thread.PendingUser {
			continue
		}
		moved = max(moved, order[m.Key]-offered, offered-order[m.Key])
		if offered++; offered == n/2 {
			at, err := time.Parse(time.RFC3339Nano, m.At)
			if err != nil {
				return err
			}
			half = at.Sub(began)
		}
	}
	fmt.Printf("  %d drafts, half of them after %.0f%% of the time; none more than %d places from where it was asked\n",
		offered, 100*half.Seconds()/took.Seconds(), moved)
	if offered != n || moved > 10 || half > took*3/4 {
		return fmt.Errorf("%d drafts of %d, half of them after %v of %v, moved by %d", offered, n,
			half, took, moved)
	}
	return nil
}

// waiting has n drafts wait for a person.
func waiting(p *place, n int) error {
	if err := p.fill(n); err != nil {
		return err
	}
	fmt.Printf("%d drafts wait\n", n)
	_, start, err1 := p.timed("tri-dispatch", "--once", p.path("events-classified.ndjson"))
	list, listed, err2 := p.timed("tri-approve", "list")
	lines := bytes.Count(list, []byte("\n"))
	fmt.Printf("  the list has %d lines\n", lines)
	return errors.Join(err1, err2, over("tri-dispatch", start, 5*time.Second),
		over("tri-approve list", listed, 2*time.Second))
}

// fill makes the home with the dispatcher's own code and the shortest runs.
func (p *place) fill(n int) error {
	h, err := durable.Open(p.home)
	if err != nil {
		return err
	}
	defer h.Close()
	log, err := h.OpenLog("events-classified.ndjson")
	if err != nil {
		return err
	}
	defer log.Close()
	for i := range n {
		_, err := log.Append(func(at int64) ([]byte, error) {
			line, err := json.Marshal(&event.Classified{Event: event.Event{
				Seq: &at, Platform: "local", ChatID: "dev", ChatName: "dev", MessageID: strconv.Itoa(i),
				CreateTime: "2026-11-21T10:00:00Z", MsgType: "text",
				Content: fmt.Sprintf("where is RetryLimit%03d set?", i%100),
				Sender:  event.Sender{ID: fmt.Sprint("asker", i), Type: "user"}, Mentions: []string{},
			}, Classification: event.Actionable, IsQuestion: true})
			return append(line, '\n'), err
		})
		if err != nil {
			return err
		}
	}
	c, err := config.Load(p.path("config.yaml"))
	if err != nil {
		return err
	}
	prompts, err := prompt.Load("")
	if err != nil {
		return err
	}
	return dispatch.Run(context.Background(), dispatch.Options{
		Home: h, Config: c, Prompts: prompts, Once: true, Out: io.Discard, Now: time.Now,
		Say:   func(string, ...any) {},
		Input: stream.Input{Files: []string{p.path("events-classified.ndjson")}},
		Investigate: func(_ context.Context, t *thread.Thread, _ []dispatch.Hint,
			_ *run.Run) (*draft.Return, error) {
			name := strings.Fields(t.Messages[0].Content)[2]
			return &draft.Return{
				Confidence: "medium", DraftReply: "It is set in the loader: `const " + name + "`.",
				SummaryForOrchestrator: name + " is set in its loader.",
				EvidenceRefs: []draft.Ref{{Kind: "code",
					Ref:   "loader" + strings.TrimPrefix(name, "RetryLimit") + ".go:4-4",
					Quote: "const " + name}},
			}, nil
		},
		Validate: func(context.Context, *thread.Thread, []dispatch.Hint, *run.Run) (*verdict.Verdict, error) {
			return &verdict.Verdict{Verdict: verdict.Pass, Proved: verdict.Quotes}, nil
		},
	})
}

// idle has n rooms, in each of which one message was written, and nobody speak any more.
func idle(p *place, n int) error {
	for i := range n {
		if err := os.WriteFile(filepath.Join(p.chat, fmt.Sprint("room", i)), []byte("ana: good morning\n"),
			0o600); err != nil {
			return err
		}
	}
	fmt.Printf("%d rooms\n", n)
	if _, _, err := p.timed("tri-watch", "--once", "local", p.chat); err != nil {
		return err
	}
	cmd := p.command("tri-watch", "local", p.chat)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill() // it has nothing to lose
		_ = cmd.Wait()
	}()
	// It is at rest when five seconds in a row have each taken less than a tenth of one: beside other
	// work a start may wait for a processor for a second.
	used, quiet := time.Duration(0), 0
	for quiet < 5 {
		time.Sleep(time.Second)
		now, err := processor(cmd.Process.Pid)
		if err != nil {
			return err
		}
		if quiet++; now-used >= time.Second/10 || now == 0 {
			quiet = 0
		}
		used = now
		if time.Since(began) > 3*time.Minute {
			return errors.New("tri-watch is not at rest after three minutes")
		}
	}
	const look = 30 * time.Second
	fmt.Printf("  at rest after %.0f s\n", time.Since(began).Seconds())
	time.Sleep(look)
	now, err := processor(cmd.Process.Pid)
	if err != nil {
		return err
	}
	share := (now - used).Seconds() / look.Seconds()
	fmt.Printf("  idle at %.2f%% of a core, %s\n", 100*share, memory(cmd.Process.Pid))
	if share > 0.01 {
		return fmt.Errorf("tri-watch uses %.2f%% of a core for %d rooms, at most 1%%", 100*share, n)
	}
	return nil
}

// processor returns the processor time that a process has used.
func processor(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q", b)
	}
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2) // 100 ticks a second
}

func memory(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
