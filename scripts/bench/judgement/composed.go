package main

import (
	"encoding/json"
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

// trixie fetches a folder of a binary package of Debian 13, whose sources are not always kept.
func trixie(name, folder string) string {
	return fmt.Sprintf(lists+binary, "", "trixie", name, folder)
}

// bookworm fetches one of Debian 12.
func bookworm(name, folder string) string {
	return fmt.Sprintf(lists+binary, "", "bookworm", name, folder)
}

// composedCodebases are those of data/composed. Debian has paramiko 3.5.1, hyper 1.5.2, commons-pool2 2.12.0,
// aiohttp 3.11.16, tower-http 0.6.2, caffeine 2.6.2, pika 1.2.0, reqwest 0.11.13 and okhttp 3.13.1.
var composedCodebases = []codebase{
	{name: "asynq", module: "github.com/hibiken/asynq@v0.25.1"},
	{name: "grpc-js", fetch: fmt.Sprintf(npm, "@grpc/grpc-js@1.13.4")},
	{name: "paramiko", fetch: trixie("python3-paramiko", "usr/lib/python3/dist-packages")},
	{name: "hyper", fetch: trixie("librust-hyper-dev", "usr/share/cargo/registry/hyper-*")},
	{name: "commons-pool2", fetch: debian("trixie", "commons-pool2")},
	{name: "go-redis", module: "github.com/redis/go-redis/v9@v9.7.3"},
	{name: "undici", fetch: fmt.Sprintf(npm, "undici@7.8.0")},
	{name: "aiohttp", fetch: trixie("python3-aiohttp", "usr/lib/python3/dist-packages/aiohttp")},
	{name: "tower-http", fetch: trixie("librust-tower-http-dev", "usr/share/cargo/registry/tower-http-*")},
	{name: "caffeine", fetch: debian("bookworm", "caffeine-cache")},
	{name: "resty", module: "github.com/go-resty/resty/v2@v2.16.5"},
	{name: "mongodb", fetch: fmt.Sprintf(npm, "mongodb@6.16.0") + " && rm -r lib mongodb.d.ts"},
	{name: "pika", fetch: bookworm("python3-pika", "usr/lib/python3/dist-packages")},
	{name: "reqwest", fetch: bookworm("librust-reqwest-dev", "usr/share/cargo/registry/reqwest-*")},
	{name: "okhttp", fetch: debian("bookworm", "libokhttp-java")},
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
		if slices.ContainsFunc(strings.Split(strings.ToLower(m), "|"), func(one string) bool {
			return strings.Contains(say, one)
		}) {
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
	for _, set := range []string{"tuned", "second", "third"} {
		fmt.Fprintf(out, "%s:\n", set)
		if err := composedOf(out, filepath.Join(in.data, "composed", set+".ndjson")); err != nil {
			return err
		}
	}
	return nil
}

// composedOf prints how right the sentences are that the questions of a file get.
func composedOf(out io.Writer, file string) error {
	all := map[string][]asking{}
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
		i := slices.IndexFunc(composedCodebases, func(c codebase) bool { return c.name == name })
		if i < 0 {
			return fmt.Errorf("%s: codebase %q is not known", file, name)
		}
		dir, cleanup, err := composedCodebases[i].locate()
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
			if *misses && result != isRight {
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
