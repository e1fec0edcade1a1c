package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/agent/search"
)

func init() {
	parts = append(parts, part{"composed", "composed: is the sentence of a draft right?", composedPart})
}

var (
	otherQuestions = flag.String("questions", "", "composed: ask the questions of `FILE`, in the form of data/composed")
	otherSources   = flag.String("sources", "", "composed: the codebases are in `DIR`, by name")
)

// trixie fetches the sources of a package of Debian 13.
func trixie(name string) string {
	return strings.Replace(fmt.Sprintf(debian, name), "bookworm", "trixie", 1)
}

var composedCodebases = []codebase{
	{name: "asynq", module: "github.com/hibiken/asynq@v0.25.1"},
	{name: "grpc-js", fetch: fmt.Sprintf(npm, "@grpc/grpc-js@1.13.4")},
	{name: "paramiko", fetch: trixie("paramiko")},           // 3.5.1
	{name: "hyper", fetch: trixie("rust-hyper")},            // 1.5.2
	{name: "commons-pool2", fetch: trixie("commons-pool2")}, // 2.12.0
}

// asking is a question of a common kind, and what an answer says.
type asking struct {
	Codebase string   `json:"codebase"`
	Kind     string   `json:"kind"`
	Question string   `json:"question"`
	Must     []string `json:"must"`
	Places   []place  `json:"places"`
}

// What a draft is.
const (
	isRight   = iota // a sentence with all that it must have, and a place that answers
	isPartial        // a sentence without some of it
	isWrong          // a sentence without any of it, or without a place that answers
	isList           // places, or nothing
)

// judge asks the question; confidence is that of the draft.
func (a asking) judge(finder *search.Client, dir string) (result int, confidence, text string, err error) {
	ret, err := returned(finder, dir, a.Question)
	if ret == nil || err != nil {
		return isList, "nothing", "", err
	}
	has := 0
	say := strings.ToLower(ret.DraftReply)
	for _, m := range a.Must {
		if strings.Contains(say, strings.ToLower(m)) {
			has++
		}
	}
	var t tally
	t.add(refsOf(ret), a.Places)
	switch {
	case !strings.HasPrefix(ret.SummaryForOrchestrator, "Composed"):
		result = isList
	case t.line8 == 0 || has == 0:
		result = isWrong
	case has < len(a.Must):
		result = isPartial
	}
	return result, ret.Confidence, ret.DraftReply, nil
}

func composedPart(out io.Writer, in inputs) error {
	all := map[string][]asking{}
	file := cmp.Or(*otherQuestions, filepath.Join(in.data, "composed", "tuned.ndjson"))
	if err := eachLine(file, func(line []byte) error {
		var a asking
		err := json.Unmarshal(line, &a)
		all[a.Codebase] = append(all[a.Codebase], a)
		return err
	}); err != nil {
		return err
	}
	rows := map[string]*[4]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := codebase{dir: filepath.Join(*otherSources, name)}
		if i := slices.IndexFunc(composedCodebases, func(c codebase) bool {
			return c.name == name
		}); *otherSources == "" && i >= 0 {
			c = composedCodebases[i]
		}
		dir, cleanup, err := c.locate()
		defer cleanup()
		if err != nil {
			fmt.Fprintf(out, "left out: %s is not on this machine (%v)\n", name, err)
			continue
		}
		finder := search.New()
		for _, a := range all[name] {
			result, confidence, text, err := a.judge(finder, dir)
			if err != nil {
				return err
			}
			if *misses && *otherQuestions == "" && result != isRight {
				fmt.Fprintf(out, "%s %s: %q must have %q\n%s\n\n", name, a.Kind, a.Question, a.Must, text)
			}
			for _, key := range []string{"all", "kind " + a.Kind, "confidence " + confidence} {
				if rows[key] == nil {
					rows[key] = new([4]int)
				}
				rows[key][result]++
			}
		}
	}
	fmt.Fprintf(out, "%-20s %4s  %-22s %8s %8s %8s\n", "", "N", "right", "partial", "wrong", "list")
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		r := rows[key]
		n := r[isRight] + r[isPartial] + r[isWrong] + r[isList]
		fmt.Fprintf(out, "%-20s %4d  %-22s %8d %8d %8d\n", key, n, percent(r[isRight], n), r[isPartial],
			r[isWrong], r[isList])
	}
	return nil
}
