package sample

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
)

// reader interacts with the person who labels.
type reader struct {
	Home *durable.Home
	By   string
	In   io.Reader // single keys of a terminal, lines of any other input
	Out  io.Writer // where the messages are shown
	Now  func() time.Time
}

// errQuit means that the person quits.
var errQuit = errors.New("quit")

const keys = "y it asked something new   f it added to what its writer had asked\n" +
	"n it needed no answer   s cannot tell   u undo   q quit"

// Label shows each message of the sample without a label and stores the person's answers, until all
// have one or the person quits.
func (r *reader) Label(ctx context.Context, s *Sample, labels *Labels) (err error) {
	key, done, err := r.keys()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	var labelled []int // in this session, for undo
	for i := s.next(labels, 0); i < len(s.drops) && ctx.Err() == nil; i = s.next(labels, 0) {
		if err := r.show(s, i); err != nil {
			return err
		}
		answer, err := r.answer(key)
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil {
			return err
		}
		if answer == Undo {
			if len(labelled) == 0 {
				if err := r.print("nothing to undo\n"); err != nil {
					return err
				}
				continue
			}
			i, labelled = labelled[len(labelled)-1], labelled[:len(labelled)-1]
		} else {
			labelled = append(labelled, i)
		}
		if err := labels.keep(r.Home, r.label(s, i, answer)); err != nil {
			return err
		}
	}
	return nil
}

// next returns the first message from i on without a label.
func (s *Sample) next(labels *Labels, i int) int {
	for ; i < len(s.drops); i++ {
		if _, ok := labels.of(s.Version, &s.drops[i]); !ok {
			break
		}
	}
	return i
}

func (r *reader) label(s *Sample, i int, answer string) Label {
	d := &s.drops[i]
	return Label{
		At: r.Now().UTC().Format(time.RFC3339), By: r.By, Platform: d.platform, ChatID: d.chat,
		MessageID:         d.message,
		ClassifierVersion: s.Version, Classification: d.class, Label: answer, Seed: s.Seed, Rank: i + 1,
		Frame: s.Frame, Sample: len(s.drops),
	}
}

// Limits of the context shown with a message, so that it fits into 24 lines of 80 characters.
const (
	linesBefore, linesBehind = 4, 2
	widthAround, rowsOfText  = 60, 8
)

// show writes one message with its context.
func (r *reader) show(s *Sample, i int) error {
	d := &s.drops[i]
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d of %d   %s   %s\n", i+1, len(s.drops), text.Line(d.chat, 30), d.class)
	list, self := s.around(d, linesBefore, linesBehind)
	for k, l := range list {
		if k != self {
			fmt.Fprintf(&b, "   %s: %s\n", text.Line(l.who, 14), text.Line(l.text, widthAround))
			continue
		}
		fmt.Fprintf(&b, ">> %s:\n", text.Line(l.who, 40))
		for _, row := range rows(l.text) {
			b.WriteString("     " + row + "\n")
		}
	}
	b.WriteString(keys + "\n")
	return r.print(b.String())
}

// rows folds a text to the width of the screen.
func rows(body string) (out []string) {
	const width = 72
	for _, l := range strings.Split(text.Visible(body), "\n") {
		for r := []rune(strings.TrimRight(l, " ")); len(r) > 0; r = r[min(width, len(r)):] {
			out = append(out, string(r[:min(width, len(r))]))
		}
	}
	if len(out) > rowsOfText {
		out = append(out[:rowsOfText], fmt.Sprintf("… %d more lines", len(out)-rowsOfText))
	}
	return out
}

func (r *reader) print(s string) error {
	_, err := io.WriteString(r.Out, s)
	return sysexit.With(sysexit.IO, err)
}

// answers are the keys and their meanings.
var answers = map[string]string{"y": Opens, "f": Follows, "n": Nothing, "s": Skip, "u": Undo}

// answer asks until the answer is valid.
func (r *reader) answer(key func() (string, error)) (string, error) {
	for {
		k, err := key()
		if errors.Is(err, io.EOF) || k == "q" || k == "\x03" || k == "\x04" {
			return "", errQuit
		}
		if err != nil {
			return "", fmt.Errorf("read answer: %w", err)
		}
		if a, ok := answers[k]; ok {
			return a, nil
		}
		if err := r.print(keys + "\n"); err != nil {
			return "", err
		}
	}
}

// keys returns a function that reads single keys of a terminal, or lines of any other input. done
// restores the terminal.
func (r *reader) keys() (key func() (string, error), done func() error, err error) {
	in := bufio.NewReader(r.In)
	if !term.Is(r.In) {
		return func() (string, error) {
			l, err := in.ReadString('\n')
			if err != nil && l == "" {
				return "", err
			}
			return strings.ToLower(strings.TrimSpace(l)), nil
		}, func() error { return nil }, nil
	}
	done, err = term.Keys(r.In)
	return func() (string, error) {
		c, _, err := in.ReadRune()
		return strings.ToLower(string(c)), err
	}, done, err
}
