package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tiktoken-go/tokenizer"

	"tri/lib/agent"
	"tri/lib/agent/search"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/flow/investigate"
	"tri/lib/judge/codesearch"
	"tri/lib/record/draft"
	"tri/lib/record/event"
)

// foreign asks codebases what people asked in rooms about other products. Every
// draft is a false answer; beside it stands how many of the questions that the
// codebase does answer get one. The rooms are parted as the questions are.
func foreign(out io.Writer, in inputs) error {
	for _, half := range []struct {
		name  string
		rooms []string
	}{{"tuned", []string{"stripe.0", "ubuntu"}}, {"untouched", []string{"mediawiki.0", "rust.0"}}} {
		var asked []string
		for _, room := range half.rooms {
			some, err := wondering(in.chat + "/" + room + ".ndjson")
			if err != nil {
				return err
			}
			asked = append(asked, some...)
		}
		var strangers, own confidences
		for _, c := range codebases {
			if c.alone {
				continue
			}
			dir, cleanup, err := c.locate()
			defer cleanup()
			if err != nil {
				continue // said above
			}
			all, err := questions(in.data, dir, c.name, half.name)
			if err != nil {
				return err
			}
			finder := search.New()
			for _, q := range asked {
				if err := strangers.add(finder, dir, q); err != nil {
					return err
				}
			}
			for _, q := range all {
				if err := own.add(finder, dir, q.Question); err != nil {
					return err
				}
			}
		}
		figure := func(what string, hits, n int) {
			share, low, high := interval(hits, n)
			fmt.Fprintf(out, "%s, %s: %d of %d, %.1f%% (%.1f-%.1f)\n", half.name, what, hits, n, 100*share,
				100*low, 100*high)
		}
		figure("foreign questions that get a draft", strangers.drafts, strangers.n)
		figure("foreign questions that get more than a low one", strangers.sure, strangers.n)
		figure("own questions that get a draft", own.drafts, own.n)
	}
	return nil
}

// confidences counts questions, those that get a draft, and those whose draft has more than low confidence.
type confidences struct{ n, drafts, sure int }

func (c *confidences) add(finder *search.Client, dir, question string) error {
	c.n++
	res, err := finder.Run(context.Background(), agent.Task{Question: question, Codebase: dir})
	if errors.Is(err, agent.ErrNothing) {
		return nil
	}
	var ret draft.Return
	if err == nil {
		err = json.Unmarshal(res.Value, &ret)
	}
	c.drafts++
	c.sure += bit(ret.Confidence != draft.Low)
	return err
}

// wondering are some messages of a room that ask something in several words.
func wondering(file string) ([]string, error) {
	var all []string
	_, err := stream.Each(context.Background(), stream.Input{Files: []string{file}, After: -1},
		func(rec ndjson.Record) error {
			var e event.Event
			if err := json.Unmarshal(rec.Bytes, &e); err != nil {
				return err
			}
			text := strings.TrimSpace(e.Content)
			if strings.HasSuffix(text, "?") && len(strings.Fields(text)) >= 5 {
				all = append(all, text)
			}
			return nil
		})
	const some = 50
	step := max(1, len(all)/some)
	var out []string
	for i := 0; i < len(all) && len(out) < some; i += step {
		out = append(out, all[i])
	}
	return out, err
}

// tokens counts what the hints add to a model's prompt, with a public tokenizer
// (cl100k): other models cut text up alike, within some percent.
func tokens(out io.Writer, in inputs) error {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		return err
	}
	var counts []int
	for _, c := range codebases {
		dir, cleanup, err := c.locate()
		defer cleanup()
		if err != nil {
			continue // said above
		}
		x, err := codesearch.Open(dir)
		if err != nil {
			return err
		}
		defer x.Close()
		for _, half := range []string{"tuned", "untouched"} {
			all, err := questions(in.data, dir, c.name, half)
			if err != nil {
				return err
			}
			for _, q := range all {
				found, err := x.Search(context.Background(), q.Question, most)
				if err != nil {
					return err
				}
				h, _ := investigate.Places(found)
				n, err := codec.Count(h.Source + "\n" + h.Text)
				if err != nil {
					return err
				}
				counts = append(counts, n)
			}
		}
	}
	slices.Sort(counts)
	total := 0
	for _, n := range counts {
		total += n
	}
	fmt.Fprintf(out, "hints: %d tokens a question on average (cl100k), median %d, most %d, over %d questions\n",
		total/max(len(counts), 1), counts[len(counts)/2], counts[len(counts)-1], len(counts))
	return nil
}
