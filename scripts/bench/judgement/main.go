// Judgement prints how right the filter, the conversations, the search, the
// checks and the rules are, on people's labels, with the number of cases and a
// 95% interval behind every figure. With names of parts, only those.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// part is one table. It reads its labels below scripts/bench/judgement/data and
// the messages that they speak of where they are.
type part struct {
	name, about string
	run         func(out io.Writer, in inputs) error
}

// inputs are what the parts read that is not kept here.
type inputs struct {
	data string // labels, questions, returns: scripts/bench/judgement/data
	chat string // folder of chat as events
}

var parts []part

func main() {
	in := inputs{data: "scripts/bench/judgement/data"}
	flag.StringVar(&in.chat, "chat", "../shared/data/chat", "folder of chat as events")
	flag.Usage = usage
	flag.Parse()
	for _, name := range flag.Args() {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			fmt.Fprintf(os.Stderr, "judgement: there is no part %q\n", name)
			usage()
			os.Exit(64)
		}
	}
	for _, p := range parts {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), p.name) {
			continue
		}
		fmt.Printf("== %s\n", p.about)
		if err := p.run(os.Stdout, in); err != nil {
			fmt.Fprintf(os.Stderr, "judgement: %s: %v\n", p.name, err)
			os.Exit(1)
		}
		fmt.Println()
	}
}

func usage() {
	fmt.Fprintf(os.Stderr, "usage: judgement [option ...] [part ...]\n\nparts:\n")
	for _, p := range parts {
		fmt.Fprintf(os.Stderr, "  %-14s %s\n", p.name, strings.TrimSpace(p.about))
	}
	flag.PrintDefaults()
}
