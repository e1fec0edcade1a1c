package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/flow/approve"
	"tri/lib/record/decision"
)

// help lists the commands of the line mode; the beginning of one that begins no other is enough.
const help = "approve, redo, answer, dismiss, longer, undo, show, next, previous, list, quit"

// linewise is the screen without screen control: it prints one item after another in whole lines and reads
// commands. Nothing on the screen changes, so that a screen reader can read it.
func linewise(ctx context.Context, o Options) error {
	p := &plain{Options: o, in: bufio.NewReader(o.In)}
	if err := p.take(); err != nil {
		return err
	}
	p.sayItem()
	for ctx.Err() == nil && p.err == nil {
		words := help
		if p.item() == nil {
			words = "list, quit"
		}
		p.line("What now? %s.", words)
		word, err := p.in.ReadString('\n')
		if errors.Is(err, io.EOF) && word == "" {
			return p.err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return sysexit.With(sysexit.IO, fmt.Errorf("read a word: %w", err))
		}
		if leave := p.word(strings.ToLower(strings.TrimSpace(word))); leave {
			return p.err
		}
	}
	return p.err
}

type plain struct {
	Options
	in    *bufio.Reader
	items []*approve.Item
	at    int
	err   error
}

func (p *plain) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Out, format+"\n", args...)
	}
}

func (p *plain) take() (err error) {
	p.items, err = p.Gate.Items()
	p.at = min(p.at, max(len(p.items)-1, 0))
	return err
}

func (p *plain) item() *approve.Item {
	if p.at < len(p.items) {
		return p.items[p.at]
	}
	return nil
}

// sayItem prints the current item in two lines: the question, and the draft.
func (p *plain) sayItem() {
	it := p.item()
	if it == nil {
		p.line("Nothing waits for you.")
		return
	}
	p.line("Item %d of %d, %s. In %s, %s asks: %s", p.at+1, len(p.items), it.Kind, text.Line(it.ChatName, 0),
		text.Line(it.Who, 0), text.Line(it.Question, 0))
	if v := p.Gate.View(it); v.Draft != "" {
		p.line("The draft, %s: %s", state(it), text.Line(v.Draft, 0))
		for _, open := range v.Unbacked {
			p.line("Of it, %s.", strings.TrimSuffix(text.Line(open, 0), "."))
		}
		if sent := v.Sent(); sent != "" {
			p.line("%s", sent)
		}
	} else {
		p.line("%s", state(it))
	}
}

// state returns what was checked of an item, and what is said of it.
func state(it *approve.Item) string {
	return text.Line(strings.Trim(it.Checked()+". "+it.Note, ". "), 0)
}

// word carries out a command and reports whether the person quits.
func (p *plain) word(w string) (leave bool) {
	meant := slices.DeleteFunc(strings.Split(help, ", "), func(name string) bool {
		return w == "" || !strings.HasPrefix(name, w)
	})
	long := strings.Join(meant, " or ")
	if long == "list" {
		p.err = p.take()
	}
	it := p.item()
	switch {
	case p.err != nil || long == "quit":
		return true
	case len(meant) > 1:
		p.line("Which one: %s?", long)
	case long == "next" || long == "previous":
		p.at = min(max(p.at+map[string]int{"next": 1, "previous": -1}[long], 0), max(len(p.items)-1, 0))
		p.sayItem()
	case long == "list" && it == nil:
		p.line("Nothing waits for you.")
	case long == "list":
		for i, it := range p.items {
			p.line("%d: %s, %s in %s, %s: %s", i+1, it.Kind, text.Line(it.Who, 0), text.Line(it.ChatName, 0),
				state(it), text.Line(it.Question, 0))
		}
	case long == "":
		p.line("Unknown command %q.", text.Line(w, 0))
	case it == nil:
		p.line("Nothing waits for you.")
	case long == "show":
		if err := p.Gate.View(it).Print(p.Out, p.Gate.Now()); err != nil {
			p.err = err
		}
	default:
		p.decide(it, long)
	}
	return false
}

func (p *plain) decide(it *approve.Item, word string) {
	note := ""
	if word != "approve" && word != "undo" {
		p.line("Say why, or what to do, in one line:")
		text, err := p.in.ReadString('\n')
		if err != nil && text == "" {
			p.line("Not done.")
			return
		}
		note = strings.TrimSpace(text)
	}
	kinds := map[string]string{
		"approve": decision.Approve, "redo": decision.Redo, "answer": decision.Answer,
		"dismiss": decision.Dismiss, "longer": decision.Escalate, "undo": decision.Undo,
	}
	done, err := say(&p.Gate, it, kinds[word], note)
	if err != nil {
		p.line("Not done: %s", text.Line(err.Error(), 0))
	} else {
		p.line("Done: %s.", done)
	}
	if err := p.take(); err != nil {
		p.err = err
		return
	}
	p.sayItem()
}
