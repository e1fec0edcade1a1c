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
	"strings"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/judge/classify"
	"tri/lib/record/event"
)

func init() {
	parts = append(parts,
		part{"languages",
			"language packs, on made-up messages of 14 languages that no native reader has checked",
			languages})
}

// spoken is what was found of one language, or of all.
type spoken struct {
	question, ack  counts
	problems, told int // that something does not work; of those, taken for a question or a problem
	named, n       int // whose language was told rightly, of n
}

// languages prints how right the packs are on lib/judge/classify/testdata/languages.
func languages(out io.Writer, in inputs) error {
	c, err := classify.New(classify.Options{})
	if err != nil {
		return err
	}
	for _, half := range []string{"tuned", "untouched"} {
		files, err := filepath.Glob(filepath.Join(in.data,
			"../../../../lib/judge/classify/testdata/languages/*."+half+".tsv"))
		if err != nil || len(files) == 0 {
			return errors.Join(err, fmt.Errorf("no messages of the %s half", half))
		}
		fmt.Fprintf(out, "%-9s language  messages  F1 question  F1 ack  problems heard  language told\n",
			half)
		var all spoken
		for _, file := range files {
			lang, _, _ := strings.Cut(filepath.Base(file), ".")
			one, err := hear(c, file, lang, &all)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-9s %-9s %8d  %11.2f  %6.2f  %11d/%-2d  %10d/%d\n", "", lang, one.n,
				one.question.f1(), one.ack.f1(), one.told, one.problems, one.named, one.n)
		}
		all.print(out)
	}
	return nil
}

func (s *spoken) print(out io.Writer) {
	fmt.Fprintf(out, "%-9s all       %8d  %11.2f  %6.2f\n", "", s.n, s.question.f1(), s.ack.f1())
	for _, share := range []struct {
		name    string
		hits, n int
	}{
		{"questions found", s.question.both, s.question.both + s.question.missed},
		{"of what was called a question, is one", s.question.both, s.question.both + s.question.only},
		{"acknowledgements found", s.ack.both, s.ack.both + s.ack.missed},
		{"of what was called one, is one", s.ack.both, s.ack.both + s.ack.only},
		{"problems heard", s.told, s.problems}, {"language told rightly", s.named, s.n},
	} {
		p, low, high := interval(share.hits, share.n)
		fmt.Fprintf(out, "          %-40s %3d of %3d  %5.1f%%  (%.1f to %.1f)\n", share.name, share.hits,
			share.n, 100*p, 100*low, 100*high)
	}
}

// hear classifies the messages of a file, each in a chat of its own.
func hear(c *classify.Classifier, file, lang string, all *spoken) (one spoken, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return one, err
	}
	var kinds []string
	var events, said bytes.Buffer
	for line := range strings.Lines(string(text)) {
		kind, message, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			return one, fmt.Errorf("%s: %q has no tab", file, line)
		}
		kinds = append(kinds, kind)
		fmt.Fprintf(&events,
			`{"platform":"p","chat_id":"%d","message_id":"m","create_time":"2026-01-01T00:00:00Z","sender":{"id":"a","type":"user"},"content":%s}`+"\n",
			len(kinds), ndjson.AppendString(nil, message))
	}
	in := stream.Input{Stdin: &events, After: -1, Window: classify.Window}
	if _, err := stream.Run(context.Background(), in, stream.Output{Stdout: &said}, c.Stage()); err != nil {
		return one, fmt.Errorf("%s: %w", file, err)
	}
	lines := json.NewDecoder(&said)
	for _, kind := range kinds {
		var e event.Classified
		if err := lines.Decode(&e); err != nil {
			return one, fmt.Errorf("%s: %w", file, err)
		}
		one.add(kind, lang, &e)
		all.add(kind, lang, &e)
	}
	return one, nil
}

func (s *spoken) add(kind, lang string, e *event.Classified) {
	s.n++
	if e.Lang == lang {
		s.named++
	}
	if kind == "problem" {
		s.problems++
		if e.Classification == event.Actionable {
			s.told++
		}
		return
	}
	asks := kind == "mark" || kind == "bare" || kind == "request" || kind == "mixed"
	s.question.add(e.IsQuestion && !e.IsAckOrEmoji, asks)
	s.ack.add(e.IsAckOrEmoji, kind == "ack" || kind == "thanks")
}
