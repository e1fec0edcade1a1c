package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/outbox"
	"tri/lib/record/todo"
)

// inbox is a second room of the local chat, in which every message is a request: entries of lists, their
// ends, reminders, questions with answers in two messages, entries that an operator adds, and an approved
// form of notices.
type inbox struct {
	room, cards      *local
	wanted           []string // texts of the entries that the list must have, once each
	done             []string // those that must be done
	reminders, asked int
}

const inboxConfig = `watched_chats: [{chat_id: dev}, {chat_id: inbox, inbox: true}]
voice: {enabled: true}
`

// withInbox adds the room and what its questions are about, before any stage runs.
func (w *world) withInbox() error {
	dir := filepath.Join(w.dir, "chat")
	w.inbox = &inbox{room: &local{dir, "inbox"}, cards: &local{dir, "operators"}}
	for _, room := range []*local{w.inbox.room, w.inbox.cards} {
		if err := os.WriteFile(room.file(), nil, 0o600); err != nil {
			return err
		}
	}
	for n := range w.messages + 1 {
		limit := fmt.Sprintf("ShardLimit%03d", n)
		for file, code := range map[string]string{
			"shard": "// " + limit + " is how many shards the index has before it splits one. " +
				strings.Repeat("A shard is a file of sorted keys, and a search reads each. ", 4) +
				fmt.Sprintf("\nconst %s = %d", limit, n),
			"split": fmt.Sprintf("// needsSplit%03d reports whether the index has come to %s. ", n, limit) +
				strings.Repeat("A split copies the upper half of the keys into its own file. ", 4) +
				fmt.Sprintf("\nfunc needsSplit%03d(n int) bool { return n >= %s }", n, limit),
		} {
			name := filepath.Join(w.codebase, "src", fmt.Sprintf("%s%03d.go", file, n))
			if err := os.WriteFile(name, []byte("package src\n\n"+code+"\n"), 0o644); err != nil {
				return err
			}
		}
	}
	w.gate = ", chat: {platform: local, chat_id: operators}"
	if err := errors.Join(w.configure(), w.addConfig(inboxConfig)); err != nil {
		return err
	}
	out, err := w.command("tri-approve", "notice", "add", "begun").CombinedOutput()
	if err != nil {
		return fmt.Errorf("approve a form: %w: %s", err, out)
	}
	return nil
}

// talk has one person ask for one thing. The entries of a list are done by whom they belong to.
func (i *inbox) talk(w *world) error {
	n := i.asked
	i.asked++
	who, text := fmt.Sprint("in", n), fmt.Sprintf("buy item%03d", n)
	switch n % 5 {
	case 0:
		i.wanted = append(i.wanted, text)
		_, err := i.room.say(who, "add "+text+" to my list")
		return err
	case 1:
		i.done = append(i.done, fmt.Sprintf("buy item%03d", n-1))
		_, err := i.room.say(fmt.Sprint("in", n-1), fmt.Sprintf("check off buy item%03d", n-1))
		return err
	case 2:
		i.reminders++
		i.wanted = append(i.wanted, fmt.Sprintf("call bank%03d", n))
		_, err := i.room.say(who, fmt.Sprintf("remind me in 1 minute to call bank%03d", n))
		return err
	case 3:
		_, err := i.room.say(who, fmt.Sprintf("where is ShardLimit%03d set?", n))
		return err
	}
	// An act of an operator, who may be killed: only what ended well must be there.
	cmd := w.command("tri-task", "todo", "add", text)
	if err := cmd.Start(); err != nil {
		return err
	}
	if n%10 == 4 {
		time.AfterFunc(time.Duration(w.rng.IntN(30))*time.Millisecond, func() { cmd.Process.Kill() })
	}
	if cmd.Wait() == nil {
		i.wanted = append(i.wanted, text)
	}
	return nil
}

// restless says what of the inbox is still to be done.
func (i *inbox) restless(w *world) string {
	if i == nil {
		return ""
	}
	faults := i.lists(w)
	if cards := i.shown(); cards < i.reminders {
		faults = append(faults, fmt.Sprintf("%d of %d reminders were shown", cards, i.reminders))
	}
	return strings.Join(faults, "; ")
}

func (i *inbox) shown() int {
	b, _ := os.ReadFile(i.cards.file()) // none yet
	return bytes.Count(b, []byte("Reminder for "))
}

// lists compares todos.ndjson with what was asked for.
func (i *inbox) lists(w *world) (faults []string) {
	lines, err := w.lines(todo.Name)
	if err != nil {
		return []string{err.Error()}
	}
	counts := map[string]int{}
	texts := map[string]string{} // by id
	for _, line := range lines {
		var l todo.Line
		if err := json.Unmarshal(line, &l); err != nil {
			return []string{err.Error()}
		}
		if l.Kind == todo.Add {
			texts[l.ID] = l.Text
		}
		counts[l.Kind+" "+l.ID]++
		for _, text := range append(i.wanted, i.done...) {
			if strings.Contains(texts[l.ID], text) {
				counts[l.Kind+" "+text]++
				break
			}
		}
	}
	for what, n := range counts {
		if n > 1 {
			faults = append(faults, fmt.Sprintf("todos.ndjson has %q %d times", what, n))
		}
	}
	for kind, all := range map[string][]string{todo.Add: i.wanted, todo.Done: i.done} {
		for _, text := range all {
			if counts[kind+" "+text] == 0 {
				faults = append(faults, fmt.Sprintf("todos.ndjson has no %s of %q", kind, text))
			}
		}
	}
	return faults
}

// check compares the posts of all rooms with what was claimed: each claimed part is there once, and nothing
// else. It reads the log by itself, without lib/record/decision's fold.
func (i *inbox) check(w *world, posts []post, fault func(string, ...any)) (string, error) {
	for _, why := range i.lists(w) {
		fault("%s", why)
	}
	if cards := i.shown(); cards != i.reminders {
		fault("%d reminders, %d cards", i.reminders, cards)
	}
	claimed, parted, err := claimedTexts(w)
	if err != nil {
		return "", err
	}
	own, err := i.room.posts()
	if err != nil {
		return "", err
	}
	notices := 0
	for _, p := range append(own, posts...) {
		text := strings.TrimSpace(strings.ReplaceAll(p.text, " \\\n\t", "\n"))
		if claimed[text]--; claimed[text] < 0 {
			fault("posted and not claimed: %.200s", text)
		}
		if text == "On it." {
			notices++
		}
	}
	lines, err := w.lines("replies.ndjson")
	if err != nil {
		return "", err
	}
	for _, line := range lines {
		var r outbox.Reply
		if err := json.Unmarshal(line, &r); err != nil {
			return "", err
		}
		// A question may be deleted between a claim and its post.
		if r.Outcome == outbox.Refused && strings.Contains(r.Why, "is not in room") {
			claimed[strings.TrimSpace(r.ReplyText)]--
		}
	}
	for text, n := range claimed {
		if n > 0 {
			fault("claimed and not posted: %.200s", text)
		}
	}
	return fmt.Sprintf("inbox: %d requests, %d entries, %d cards, %d posts, %d answers in parts, %d notices",
		i.asked, len(i.wanted), i.reminders, len(own), parted, notices), nil
}

// claimedTexts counts the texts of claims, part by part, and the claims of more than one part.
func claimedTexts(w *world) (claimed map[string]int, parted int, err error) {
	lines, err := w.lines(decision.LogName)
	if err != nil {
		return nil, 0, err
	}
	yes, claimed := map[string]decision.Record{}, map[string]int{}
	for _, line := range lines {
		var r decision.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, 0, err
		}
		switch r.Kind {
		case decision.Approve, decision.Notify:
			yes[r.ID()] = r
		case decision.Claim:
			parts, err := draft.Cut(yes[r.ID()].Text, yes[r.ID()].Cuts)
			if err != nil {
				return nil, 0, err
			}
			if len(parts) > 1 {
				parted++
			}
			for _, p := range parts {
				claimed[strings.TrimSpace(p)]++
			}
		}
	}
	return claimed, parted, nil
}
