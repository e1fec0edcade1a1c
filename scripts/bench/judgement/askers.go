package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tri/lib/base/stream"
	"tri/lib/judge/conversation"
	"tri/lib/record/event"
)

func init() {
	parts = append(parts, part{"askers", "Interleaved askers: openings of strangers, 2 to 8 in one room", askers})
}

// opening is the first message of a conversation, which asks, and the next of its asker, "" if there is none.
type opening struct{ asks, then string }

// askers writes openings of real rooms into invented ones, 2 to 60 s apart, each by another person, then
// their follow-ups in the same order, and counts whose thread tri-thread gives each.
func askers(out io.Writer, in inputs) error {
	openings, err := openingsOf(in.chat)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(14, 14))
	rng.Shuffle(len(openings), func(i, j int) { openings[i], openings[j] = openings[j], openings[i] })
	var own, joined, strange, followed int
	for rest := openings; len(rest) > 1; {
		n := min(2+rng.IntN(7), len(rest))
		threads, err := threadsOf(interleaved(rest[:n], rng))
		if err != nil {
			return err
		}
		for i, o := range rest[:n] {
			first := fmt.Sprint(i)
			if threads[first] == first {
				own++
			}
			if o.then == "" {
				continue
			}
			followed++
			switch then := first + "f"; threads[then] {
			case threads[first]:
				joined++
			case then:
			default:
				strange++
			}
		}
		rest = rest[n:]
	}
	for _, row := range []struct {
		what string
		k, n int
	}{
		{"openings with a thread of their own", own, len(openings)},
		{"follow-ups that join their asker's", joined, followed},
		{"follow-ups that join a stranger's", strange, followed},
	} {
		share, low, high := interval(row.k, row.n)
		fmt.Fprintf(out, "%-36s %4d of %4d  %6.2f%%   (%.1f to %.1f)\n", row.what, row.k, row.n,
			100*share, 100*low, 100*high)
	}
	fmt.Fprintln(out, "An opening has a \"?\" outside links and code. A follow-up is said after all openings.")
	return nil
}

// noQuestion is a question mark that asks nothing: in a link or in code.
var noQuestion = regexp.MustCompile(`\S*://\S*|\w+\?[` + "`" + `\w]`)

// openingsOf returns the first questions of the annotated conversations of the chat's rooms and, of the Slack
// channels beside them, those of people who had said nothing for a day.
func openingsOf(chat string) (all []opening, err error) {
	for _, folder := range []string{chat, filepath.Join(filepath.Dir(chat), "slack")} {
		files, err := filepath.Glob(filepath.Join(folder, "*.ndjson"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if all, err = openingsIn(all, file, folder == chat); err != nil {
				return nil, err
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no chat to take openings from")
	}
	return all, nil
}

func openingsIn(all []opening, file string, annotated bool) ([]opening, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	begun, spoke := map[string]int{}, map[string]time.Time{} // by thread and asker; by person
	for line := range bytes.Lines(text) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		at, err := time.Parse(time.RFC3339, e.CreateTime)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		key := ""
		if annotated && e.ThreadID != nil {
			key = *e.ThreadID
		}
		before := spoke[e.Sender.ID]
		spoke[e.Sender.ID] = at
		asks := strings.Contains(noQuestion.ReplaceAllString(e.Content, ""), "?") && len(e.Mentions) == 0
		switch i, known := begun[key+" "+e.Sender.ID]; {
		case annotated && key == "":
		case annotated && known && i >= 0:
			if all[i].then == "" && len(e.Mentions) == 0 {
				all[i].then = e.Content
			}
		case annotated:
			if _, opened := begun[key]; !opened && asks && len(e.Content) > 20 {
				begun[key+" "+e.Sender.ID] = len(all)
				all = append(all, opening{asks: e.Content})
			}
			begun[key] = -1
		case asks && len(e.Content) > 40 && at.Sub(before) > 24*time.Hour:
			all = append(all, opening{asks: e.Content})
		}
	}
	return all, nil
}

// interleaved returns a room in which each opening is said by another person.
func interleaved(openings []opening, rng *rand.Rand) io.Reader {
	var room bytes.Buffer
	at, n := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC), 0
	say := func(id string, who int, content string) {
		at = at.Add(time.Duration(2+rng.IntN(59)) * time.Second)
		b, err := json.Marshal(map[string]any{
			"seq": n, "platform": "irc", "chat_id": "#r", "chat_name": "#r", "message_id": id,
			"create_time": at.Format(time.RFC3339), "msg_type": "text", "content": content, "thread_id": nil,
			"sender":   map[string]string{"id": fmt.Sprint("u", who), "type": "user"},
			"mentions": []string{},
		})
		if err != nil {
			panic(err) // strings and numbers
		}
		n++
		room.Write(append(b, '\n'))
	}
	for i, o := range openings {
		say(fmt.Sprint(i), i, o.asks)
	}
	for i, o := range openings {
		if o.then != "" {
			say(fmt.Sprint(i, "f"), i, o.then)
		}
	}
	return &room
}

// threadsOf returns the thread of each message of a room by tri-thread: the id of its first message.
func threadsOf(room io.Reader) (map[string]string, error) {
	var threaded bytes.Buffer
	if _, err := stream.Run(context.Background(), stream.Input{Stdin: room, After: -1},
		stream.Output{Stdout: &threaded}, conversation.Stage()); err != nil {
		return nil, err
	}
	threads := map[string]string{}
	for line := range bytes.Lines(threaded.Bytes()) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("what tri-thread wrote: %w", err)
		}
		threads[e.MessageID] = e.MessageID
		if e.ThreadID != nil {
			threads[e.MessageID] = *e.ThreadID
		}
	}
	return threads, nil
}
