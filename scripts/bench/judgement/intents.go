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
	"slices"
	"strings"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/judge/classify"
	"tri/lib/judge/intent"
	"tri/lib/record/event"
)

func init() {
	parts = append(parts,
		part{"intents", "intents: what 300 made-up messages to an inbox want, and what 3,000 of ordinary chat are taken for", intents})
}

// acting are the intents that change something: on a message that wants none of them they are false.
var acting = []string{intent.CodeChange, intent.Reminder, intent.Todo, intent.TodoComplete}

// ordinary is how many messages of ordinary chat are judged.
const ordinary = 3000

func intents(out io.Writer, in inputs) error {
	fmt.Fprintf(out, "%-10s %8s  %8s  %7s  %s\n", "half", "language", "messages", "right",
		"false actions on what wants none")
	for _, half := range []string{"tuned", "untouched"} {
		if err := intentsOf(out, filepath.Join(in.data, "intents", half+".tsv"), half); err != nil {
			return err
		}
	}
	return intentsInChat(out, in.chat)
}

// wanted are the counts of one language, or of all.
type wanted struct{ right, n, fake, none int }

func (w *wanted) add(want, got string) {
	w.n++
	if want == got {
		w.right++
	}
	if !slices.Contains(acting, want) {
		w.none++
		if slices.Contains(acting, got) {
			w.fake++
		}
	}
}

func intentsOf(out io.Writer, file, half string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var events bytes.Buffer
	var want [][]string
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) < 3 || !slices.Contains(intent.Names, fields[1]) {
			return fmt.Errorf("%s: %q is not a language, intent and text", file, line)
		}
		want = append(want, fields)
		fmt.Fprintf(&events,
			`{"platform":"p","chat_id":"%d","message_id":"m","create_time":"2026-01-01T00:00:00Z","sender":{"id":"a","type":"user"},"content":%s}`+"\n",
			len(want), ndjson.AppendString(nil, fields[2]))
	}
	said, err := filtered(&events)
	if err != nil {
		return err
	}
	counts := map[string]*wanted{}
	for i, e := range said {
		got := intent.Judge(intent.Message{Text: e.Content, Asks: e.IsQuestion})
		for _, of := range []string{want[i][0], "all"} {
			if counts[of] == nil {
				counts[of] = &wanted{}
			}
			counts[of].add(want[i][1], got.Name)
		}
		if *mistaken && half == "tuned" && got.Name != want[i][1] {
			fmt.Fprintf(out, "%s, not %s: %q %v, then %s\n", got.Name, want[i][1], e.Content,
				got.Reasons, got.Next)
		}
	}
	for _, of := range []string{"en", "ja", "id", "zh", "all"} {
		w := counts[of]
		p, low, high := interval(w.right, w.n)
		fmt.Fprintf(out, "%-10s %8s  %8d  %6.1f%%  (%.1f to %.1f)  %d of %d\n", half, of, w.n, 100*p, 100*low,
			100*high, w.fake, w.none)
	}
	return nil
}

// intentsInChat judges messages of people in rooms that are not inbox, every k-th of each file.
func intentsInChat(out io.Writer, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.ndjson"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("no chat in %s", folder))
	}
	var all []*event.Classified
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		said, err := filtered(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, slices.DeleteFunc(said, func(e *event.Classified) bool {
			return e.Sender.Type == "bot"
		})...)
	}
	n, acts := 0, 0
	found := map[string]int{}
	for i := 0; i < len(all) && n < ordinary; i += max(1, len(all)/ordinary) {
		e := all[i]
		n++
		got := intent.Judge(intent.Message{Text: e.Content, Asks: e.IsQuestion,
			Elsewhere: len(e.Mentions) > 0})
		found[got.Name]++
		if slices.Contains(acting, got.Name) {
			acts++
			if *mistaken {
				fmt.Fprintf(out, "%s: %s %q %v\n", got.Name, e.MessageID, e.Content, got.Reasons)
			}
		}
	}
	p, low, high := interval(acts, n)
	fmt.Fprintf(out, "ordinary chat: %d of %d messages are taken for an action, %.2f%% (%.2f to %.2f)\n",
		acts, n, 100*p, 100*low, 100*high)
	for _, name := range intent.Names {
		fmt.Fprintf(out, "  %-14s %5d\n", name, found[name])
	}
	return nil
}

// filtered returns the records of tri-classify for events.
func filtered(events io.Reader) (all []*event.Classified, err error) {
	c, err := classify.New(classify.Options{})
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	in := stream.Input{Stdin: events, After: -1, Window: classify.Window}
	if _, err := stream.Run(context.Background(), in, stream.Output{Stdout: &said}, c.Stage()); err != nil {
		return nil, err
	}
	for lines := json.NewDecoder(&said); ; {
		e := new(event.Classified)
		switch err := lines.Decode(e); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, e)
	}
}
