package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/record/event"
	"tri/lib/record/outbox"
	"tri/lib/record/presence"
	"tri/lib/record/thread"
)

func kill(o options) error {
	w, err := newWorld(o)
	if err != nil {
		return err
	}
	defer w.close()
	if o.chat == "local" {
		if err := w.withInbox(); err != nil {
			return err
		}
	}
	return w.slaughter(nil)
}

// slaughter kills the stages while people talk, until all is said, and judges what is left; with
// more it does more than that.
func (w *world) slaughter(more *disturber) error {
	stages, err := w.up()
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range stages {
			s.kill()
		}
	}()
	stop := make(chan struct{})
	var approver sync.WaitGroup
	approver.Go(func() { w.approve(stop) })
	deaths, err := w.rage(stages, more)
	if err == nil {
		err = w.settle(stages)
	}
	close(stop)
	approver.Wait()
	for _, s := range stages {
		s.kill()
	}
	if err != nil {
		w.keep = true
		return err
	}
	return w.judge(deaths)
}

// rage talks and kills until both are done.
func (w *world) rage(stages []*stage, more *disturber) (map[string]int, error) {
	deaths := map[string]int{}
	for round := range w.rounds {
		for w.said*w.rounds < (round+1)*w.messages {
			if err := w.talk(); err != nil {
				return deaths, err
			}
		}
		if err := w.types(); err != nil {
			return deaths, err
		}
		time.Sleep(time.Duration(w.rng.IntN(40)) * time.Millisecond)
		s := stages[w.rng.IntN(len(stages))]
		last := s.kept.String()
		if s.kill() {
			deaths[s.name]++
		} else if !more.excuses(s) {
			return deaths, fmt.Errorf("%s had ended by itself with %d: %s", s.name, s.status, last)
		}
		if err := more.disturb(s); err != nil {
			return deaths, err
		}
		if err := s.start(w); err != nil {
			return deaths, err
		}
	}
	return deaths, more.calm(stages)
}

// types sends typing indicators for up to a second. A batch without any has to be filtered to the same
// output (checkBatch).
func (w *world) types() error {
	now := time.Now()
	text, err := json.Marshal([]presence.Typing{{Platform: w.options.chat, ChatID: "dev", Kind: "typing",
		UserID: fmt.Sprint("asker", w.rng.IntN(len(w.questions)+1)), ReceivedAt: now,
		ExpiresAt: now.Add(time.Duration(w.rng.IntN(1000)) * time.Millisecond)}})
	name := filepath.Join(w.path(presence.Folder), "torture.json")
	return errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, text, 0o600))
}

// approve says yes to every draft, as a person would, and is killed now and then.
func (w *world) approve(stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(30 * time.Millisecond):
		}
		out, _ := w.command("tri-approve", "list", "--json").Output() // 1: nothing waits
		for _, line := range bytes.Split(out, []byte("\n")) {
			var item struct {
				Key    string `json:"key"`
				Kind   string `json:"kind"`
				SHA256 string `json:"draft_sha256"`
			}
			if json.Unmarshal(line, &item) != nil || item.SHA256 == "" {
				continue
			}
			cmd := w.command("tri-approve", "approve", "--yes", item.Key)
			if err := cmd.Start(); err != nil {
				continue
			}
			if n%5 == 0 {
				time.AfterFunc(time.Duration(n%7)*time.Millisecond, func() { cmd.Process.Kill() })
			}
			cmd.Wait() // killed, refused because it is stale, or done: the log tells
		}
	}
}

// settle waits until nothing moves any more.
func (w *world) settle(stages []*stage) error {
	deadline := time.Now().Add(w.wait)
	why := ""
	for calm := 0; calm < 5; time.Sleep(200 * time.Millisecond) {
		if why = w.restless(); why == "" {
			calm++
			continue
		}
		calm = 0
		if time.Now().After(deadline) {
			for _, s := range stages {
				fmt.Printf("%s says: %.600s\n", s.name, s.kept.String())
			}
			return fmt.Errorf("stuck: %s", why)
		}
	}
	return nil
}

// restless says what is still to be done.
func (w *world) restless() string {
	ev, err1 := w.lines("events.ndjson")
	cl, err2 := w.lines("events-classified.ndjson")
	if err := errors.Join(err1, err2); err != nil {
		return err.Error()
	}
	if len(ev) != len(cl) {
		return fmt.Sprintf("%d events, %d classified", len(ev), len(cl))
	}
	if len(cl) > 0 && !w.taken(cl[len(cl)-1]) {
		return "tri-dispatch has not taken the last event"
	}
	if missing := w.missing(ev); missing > 0 {
		return fmt.Sprintf("%d messages are in no event", missing)
	}
	if why := w.untaken(cl); why != "" {
		return why
	}
	open, err := filepath.Glob(w.path("open/*.json"))
	open = slices.DeleteFunc(open, w.idle)
	if err != nil || len(open) > 0 {
		return fmt.Sprintf("%d threads are open, as %s", len(open),
			strings.Join(open[:min(1, len(open))], ""))
	}
	intents, err := filepath.Glob(w.path("outbox/*.json"))
	if err != nil || len(intents) > 0 {
		return fmt.Sprintf("%d posts are in the outbox", len(intents))
	}
	return w.inbox.restless(w)
}

// idle reports whether an open thread has no question and waits for a person: the filter has taken
// chatter for a question, to which the investigator found nothing to say.
func (w *world) idle(name string) bool {
	var t thread.Thread
	return readJSON(name, &t) == nil && t.Status == thread.PendingUser && t.DraftSHA256 == "" &&
		!slices.ContainsFunc(t.Messages, func(m thread.Message) bool {
			return slices.ContainsFunc(w.questions, func(q *question) bool { return q.id == m.MessageID })
		})
}

// untaken says how far behind the dispatcher is, which says itself, once a second,
// how far it has come.
func (w *world) untaken(classified [][]byte) string {
	if len(classified) == 0 {
		return ""
	}
	var mark, last struct{ Seq int64 }
	text, err := os.ReadFile(w.path("dispatch.json"))
	err = errors.Join(err, json.Unmarshal(text, &mark), json.Unmarshal(classified[len(classified)-1], &last))
	if err != nil || mark.Seq < last.Seq {
		return fmt.Sprintf("the dispatcher has come to %d of %d: %v", mark.Seq, last.Seq, err)
	}
	return ""
}

// taken reports whether tri-dispatch has come to an event and beyond. It says so
// every second.
func (w *world) taken(line []byte) bool {
	var last, mark struct {
		Seq int64 `json:"seq"`
	}
	return json.Unmarshal(line, &last) == nil && readJSON(w.path("dispatch.json"), &mark) == nil &&
		mark.Seq >= last.Seq
}

// missing counts the questions that no event tells of.
func (w *world) missing(lines [][]byte) int {
	seen := map[string]bool{}
	for _, line := range lines {
		if e, err := event.Parse(line); err == nil {
			seen[e.MessageID] = true
		}
	}
	n := 0
	for _, q := range w.questions {
		if !seen[q.id] {
			n++
		}
	}
	return n
}

// judge counts everything and prints it.
func (w *world) judge(deaths map[string]int) error {
	var faults []string
	counted, err := w.count(func(format string, args ...any) {
		faults = append(faults, fmt.Sprintf(format, args...))
	})
	if err != nil {
		return err
	}
	fmt.Printf("chat %s: %d messages, %d questions, kills %v\n%s\n", w.options.chat, w.said, len(w.questions),
		deaths, counted)
	if len(faults) > 0 {
		w.keep = true
		return errors.New(strings.Join(faults, "\n  "))
	}
	return nil
}

// count looks at everything that has come to rest.
func (w *world) count(fault func(string, ...any)) (string, error) {
	doubled := w.checkEvents(fault)
	posts, err := w.chat.posts()
	if err != nil {
		return "", err
	}
	more := ""
	if w.inbox != nil {
		if more, err = w.inbox.check(w, posts, fault); err != nil {
			return "", err
		}
		posts = slices.DeleteFunc(posts, func(p post) bool { return p.text == "On it." })
		more = "\n" + more
	}
	swapped, unanswered := w.checkPosts(posts, fault)
	w.checkReplies(posts, fault)
	w.checkClassified(fault)
	w.thread(fault)
	w.checkThreaded(fault)
	w.checkTurned(fault)
	w.checkRebuild(fault)
	stuck := w.checkThreads(fault)
	keys := map[string]int{}
	twice := 0
	for _, p := range posts {
		if keys[p.key]++; keys[p.key] == 2 {
			twice++
		}
	}
	if twice > 0 {
		fault("%d posts stand twice", twice)
	}
	count(counts{w.said, len(posts), unanswered, doubled + twice})
	return fmt.Sprintf("events doubled %d, posts %d, posted twice %d, swapped %d, unanswered %d, stuck %d%s",
		doubled, len(posts), twice, swapped, unanswered, stuck, more), nil
}

func (w *world) checkEvents(fault func(string, ...any)) (doubled int) {
	lines, err := w.lines("events.ndjson")
	if err != nil {
		fault("%v", err)
	}
	seen := map[string]bool{}
	offset := int64(0)
	for n, line := range lines {
		e, err := event.Parse(line)
		if err != nil {
			fault("events.ndjson:%d: %v", n+1, err)
			continue
		}
		if e.Seq == nil || *e.Seq != offset {
			fault("events.ndjson:%d: seq is not its offset %d", n+1, offset)
		}
		if seen[e.Identity()] {
			doubled++
			fault("events.ndjson:%d: %s is there twice", n+1, e.MessageID)
		}
		seen[e.Identity()] = true
		offset += int64(len(line)) + 1
	}
	if missing := w.missing(lines); missing > 0 {
		fault("%d messages are lost", missing)
	}
	return doubled
}

// checkPosts: every question that stands is answered with what it asked for.
func (w *world) checkPosts(posts []post, fault func(string, ...any)) (swapped, unanswered int) {
	for _, q := range w.questions {
		var answers []post
		for _, p := range posts {
			if p.thread == q.id {
				answers = append(answers, p)
			}
		}
		if len(answers) == 0 && !q.deleted {
			unanswered++
			fault("question %s (%v) has no answer", q.id, q.tokens)
		}
		for _, a := range answers {
			if !slices.ContainsFunc(q.tokens, func(t string) bool { return strings.Contains(a.text, t) }) {
				swapped++
				fault("question %s (%v) got: %.200s", q.id, q.tokens, a.text)
			}
		}
	}
	return swapped, unanswered
}

// checkReplies: what stands in the chat is what replies.ndjson says. Threads
// whose question was deleted are left out: a platform may take the answers away
// with it.
func (w *world) checkReplies(posts []post, fault func(string, ...any)) {
	lines, err := w.lines("replies.ndjson")
	if err != nil {
		fault("%v", err)
	}
	gone := map[string]bool{}
	for _, q := range w.questions {
		gone[q.id] = q.deleted
	}
	posts = slices.DeleteFunc(slices.Clone(posts), func(p post) bool { return gone[p.thread] })
	parts := 0
	seen := map[string]bool{}
	for n, line := range lines {
		var r outbox.Reply
		if err := json.Unmarshal(line, &r); err != nil {
			fault("replies.ndjson:%d: %v", n+1, err)
		}
		id := fmt.Sprint(r.Key, r.Cycle, r.DraftSHA256)
		if seen[id] {
			fault("replies.ndjson:%d: the same reply again", n+1)
		}
		seen[id] = true
		if r.ChatID == "inbox" || r.ValidatorVerdict == outbox.Notice {
			continue
		}
		if r.Outcome == outbox.Posted && !gone[r.ReplyToMessageID] {
			parts += max(1, len(r.PostedMessageIDs))
		}
	}
	if parts != len(posts) {
		fault("%d posts stand in the chat, replies.ndjson tells of %d", len(posts), parts)
	}
}

func (w *world) checkRebuild(fault func(string, ...any)) {
	out, err := w.command("tri-dispatch", "--rebuild", "--config", w.configFile()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 0 rewritten, 0 unknown removed") {
		fault("rebuild: %v: %s", err, out)
	}
}

func (w *world) checkThreads(fault func(string, ...any)) (stuck int) {
	files, err := filepath.Glob(w.path("*/*.json"))
	deeper, err2 := filepath.Glob(w.path("closed/*/*.json"))
	if err := errors.Join(err, err2); err != nil {
		fault("%v", err)
	}
	for _, name := range append(files, deeper...) {
		if !strings.Contains(name, "/open/") && !strings.Contains(name, "/closed/") {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			fault("%v", err)
			continue
		}
		var t thread.Thread
		if err := json.NewDecoder(bufio.NewReader(f)).Decode(&t); err != nil {
			fault("%s: %v", name, err)
		}
		f.Close()
		if !t.AtRest() {
			stuck++
			fault("%s is %s", name, t.Status)
		}
	}
	return stuck
}
