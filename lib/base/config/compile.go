package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/query"
	"tri/lib/base/sysexit"
)

// faults collects the errors of a configuration, each with the line of its key.
type faults struct {
	path string
	doc  *yaml.Node
	all  []error
}

// say adds an error at a node.
func (f *faults) say(n *yaml.Node, where, text string) {
	if where != "" {
		text = where + ": " + text
	}
	f.all = append(f.all, fmt.Errorf("%s:%d: %s", f.path, n.Line, text))
}

// add adds an error at a path of keys and indexes; nil is ignored.
func (f *faults) add(err error, at ...any) {
	if err == nil {
		return
	}
	var steps []string
	where := ""
	for _, step := range at {
		steps = append(steps, fmt.Sprint(step))
		if i, ok := step.(int); ok {
			where += fmt.Sprintf("[%d]", i)
		} else {
			where = strings.TrimPrefix(fmt.Sprintf("%s.%s", where, step), ".")
		}
	}
	f.all = append(f.all, fmt.Errorf("%s:%d: %s: %w", f.path, lineOf(f.doc, steps), where, err))
}

func (f *faults) err() error { return sysexit.With(sysexit.Config, errors.Join(f.all...)) }

// compile reports, with line numbers, errors that the schema cannot express: expressions that do
// not compile and names that are not defined.
func (c *Config) compile(f *faults) {
	for i, p := range c.Classifier.AckPatterns {
		_, err := regexp.Compile(p)
		f.add(err, "classifier", "ack_patterns", i)
	}
	for i, r := range c.Classifier.Rules {
		_, err := query.Compile(r.When)
		f.add(err, "classifier", "rules", i, "when")
	}
	for i, q := range c.QuestionTypes {
		_, err := query.CompileCondition(q.When)
		f.add(err, "question_types", i, "when")
	}
	for i, a := range c.AskFirst {
		_, err := query.CompileCondition(a.When)
		f.add(err, "ask_first", i, "when")
	}
	c.compilePipeline(f)
	c.Gate.compile(f)
	c.AutoReply.compile(f)
	c.Inbox.compile(f)
	c.Forge.compile(f)
	c.Nats.compile(f)
	c.Box.compile(f)
	c.checkNames(f)
	c.Investigator.compile(f, "investigator")
	c.Validator.compile(f, "validator")
	c.Voice.Model.compile(f, "voice", "model")
	c.compileServers(f)
	c.compileSweep(f)
}

func (c *Config) checkNames(f *faults) {
	names := map[string]bool{}
	for i, b := range c.Codebases {
		if names[b.Name] {
			f.add(fmt.Errorf("two codebases are called %q", b.Name), "codebases", i, "name")
		}
		names[b.Name] = true
	}
	for i, chat := range c.WatchedChats {
		if chat.Codebase != "" && !names[chat.Codebase] {
			f.add(fmt.Errorf("no codebase is called %q", chat.Codebase), "watched_chats", i, "codebase")
		}
	}
}
