package approve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/verdict"
)

// Terminal is the gate of the tri-approve command line: it writes lines, and asks for confirmation at a
// terminal.
type Terminal struct {
	Gate
	In       io.Reader
	Out, Err io.Writer
	Say      func(format string, args ...any)
	JSON     bool   // write records to Out
	Yes      bool   // do not ask for confirmation
	SHA      string // prefix that the draft's hash must have
}

// The kinds of item to which each decision applies.
var (
	drafts    = []string{Draft}
	undecided = []string{Draft, Shadow, Ask, Failure}
	all       = []string{Draft, Shadow, Ask, Failure, Parked, Approved, Posting, Expired, Ended}
)

// errQuiet is a refusal that has already been reported.
var errQuiet = sysexit.With(sysexit.No, errors.New(""))

// WriteIDs writes the ids of the items of the default home, a line each, for the completion of a command
// whose arguments begin with an id.
func WriteIDs(out io.Writer, args string) error {
	if !strings.HasPrefix(args, "id") {
		return nil
	}
	home, cfg, err := config.Home(durable.OpenHome, "", "")
	if err != nil {
		return err
	}
	defer home.Close()
	g := Gate{Home: home, Config: cfg, Policy: decision.PolicyIn(home.Dir(), ""), Now: time.Now}
	items, err := g.Items()
	for _, it := range items {
		_, failed := fmt.Fprintln(out, it.ID)
		err = errors.Join(err, failed)
	}
	return err
}

// List prints the waiting items; with all, also those that can be undone or are being posted.
func (t *Terminal) List(all bool) error {
	items, err := t.Items()
	if err != nil {
		return err
	}
	shown := items[:0]
	expired, ended := 0, ""
	for _, it := range items {
		switch it.Kind {
		case Expired:
			expired++
		case Ended:
			ended = "; list --all shows what was dismissed"
		}
		if all || it.Waits() {
			shown = append(shown, it)
		}
	}
	if expired > 0 && !all {
		t.Say("%d expired, since %s: list --all shows them, undo brings one back", expired,
			decision.ExpiredNote)
	}
	if len(shown) == 0 {
		in := before(" in ", t.Room)
		if in != "" {
			ended += "; tri-approve list without a room lists all"
		}
		t.Say("nothing waits%s%s", in, ended)
		return errQuiet
	}
	if !t.JSON {
		return sysexit.With(sysexit.IO, printList(t.Out, shown, t.Now()))
	}
	return ndjson.Write(t.Out, shown...)
}

// Show prints everything that a decision on an item depends on.
func (t *Terminal) Show(name string) error {
	it, err := t.Find(name, all...)
	if err != nil {
		return err
	}
	if t.JSON {
		return ndjson.Write(t.Out, t.View(it))
	}
	return sysexit.With(sysexit.IO, t.View(it).Print(t.Out, t.Now()))
}

// Approve shows the text to be posted, asks for confirmation, and approves it.
func (t *Terminal) Approve(name string) error {
	it, err := t.find(name, drafts)
	if err != nil {
		return err
	}
	if err := t.ask(it, it.standing.Offer.Text, nil); err != nil {
		return err
	}
	r, err := t.Decide(it, decision.Approve, "")
	return t.said(r, err, "approved; tri-reply posts it")
}

// Edit approves another text: the content of a file ("-" is In), or the draft as edited by the person in
// $VISUAL or $EDITOR.
func (t *Terminal) Edit(name, file string) error {
	it, err := t.find(name, drafts)
	if err != nil {
		return err
	}
	if err := t.allowed(decision.PolicyOf(t.Config)); err != nil {
		return err // before the person writes in vain
	}
	body, typed, err := t.text(it.standing.Offer.Text, file)
	if err != nil {
		return err
	}
	if body = Edited(body); body == it.standing.Offer.Text {
		t.Say("the text is unchanged; nothing was decided")
		err = errQuiet
	} else if err = t.edit(it, body, file == ""); err != nil && typed != "" {
		t.Say("your text is kept in %s", typed)
		return err
	}
	if typed != "" {
		err = errors.Join(err, os.Remove(typed))
	}
	return err
}

// edit approves a text in place of the draft, after a confirmation if ask is set.
func (t *Terminal) edit(it *Item, body string, ask bool) error {
	for _, p := range t.Problems(it, body) {
		if !p.Fatal {
			t.Say("note: %s: %s", p.Name, text.Visible(p.Note))
		}
	}
	sentences, badge := t.Account(it, body)
	if !ask {
		t.Say("note: %s", text.Visible(badge))
	} else if err := t.ask(it, body, sentences); err != nil {
		return err
	}
	r, err := t.Gate.Edit(it, body)
	return t.said(r, err, "approved with your text; tri-reply posts it")
}

// Word takes a decision that has a note.
func (t *Terminal) Word(kind, name, note string) error {
	it, err := t.find(name, undecided)
	if err != nil {
		return err
	}
	r, err := t.Decide(it, kind, note)
	done := Done[kind]
	if kind == decision.Dismiss {
		done += "; tri-approve reopen " + it.ID + " investigates it again"
	}
	return t.said(r, err, done)
}

// Undo takes an approval back.
func (t *Terminal) Undo(name string) error {
	it, err := t.find(name, []string{Approved, Expired, Draft})
	if err != nil {
		return err
	}
	r, err := t.Decide(it, decision.Undo, "")
	return t.said(r, err, Done[decision.Undo])
}

// Reopen has a closed item investigated anew: one that is listed, or any by its thread's key.
func (t *Terminal) Reopen(name, note string) error {
	it, err := t.find(name, []string{Expired, Ended})
	if err != nil {
		policy, perr := t.Rules()
		if perr != nil {
			return perr
		}
		state, serr := decision.Fold(t.Home, policy, nil)
		if serr != nil {
			return serr
		}
		if it = nil; state.Standing(name) != nil {
			it = t.over(state.Standing(name), math.MaxInt64)
		}
	}
	if it == nil {
		return err
	}
	r, err := t.Decide(it, decision.Redo, note)
	return t.said(r, err, "reopened; it is investigated")
}

// Settle records the outcome of a parked post.
func (t *Terminal) Settle(name, outcome, note string) error {
	switch outcome {
	case decision.SettlePosted, decision.SettleRetry, decision.SettleDrop:
	default:
		return sysexit.With(sysexit.Usage, fmt.Errorf("settle: %q is none of posted, retry, drop", outcome))
	}
	it, err := t.find(name, []string{Parked})
	if err != nil {
		return err
	}
	r, err := t.Gate.Settle(it, outcome, note)
	return t.said(r, err, outcome+"; tri-reply does it")
}

// find is Find for a decision.
func (t *Terminal) find(name string, kinds []string) (*Item, error) {
	if t.SHA != "" && len(t.SHA) < idLength {
		return nil, sysexit.With(sysexit.Usage,
			fmt.Errorf("--sha %q: shorter than %d digits", t.SHA, idLength))
	}
	it, err := t.Find(name, kinds...)
	if err == nil && !strings.HasPrefix(it.DraftSHA256, t.SHA) {
		err = sysexit.With(sysexit.No, fmt.Errorf("%s: the current draft is another one, with sha256 %.12s",
			it.Key, it.DraftSHA256))
	}
	return it, err
}

// ask shows the text to be posted, with the account of its sentences if a person wrote it, and waits for
// confirmation.
func (t *Terminal) ask(it *Item, text string, sentences []verdict.Sentence) error {
	if t.Yes {
		return nil
	}
	if !term.Is(t.In) {
		err := sysexit.With(sysexit.Usage, errors.New("there is no terminal to ask on"))
		return sysexit.Hint(err, "--yes approves without asking")
	}
	p := new(page)
	p.line("To %s on %s, in answer to %s:", it.ChatName, it.Platform, it.Who)
	p.quote(it.Question)
	p.head(fmt.Sprintf("would be posted, sha256 %.12s:", decision.Sum(text)))
	p.quote(text)
	p.sentences(sentences)
	if err := term.Print(t.Err, p.String()); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if _, err := fmt.Fprint(t.Err, "\nPost it? [y/N] "); err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	answer, err := bufio.NewReader(io.LimitReader(t.In, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return sysexit.With(sysexit.IO, fmt.Errorf("read the answer: %w", err))
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	t.Say("nothing was decided")
	return errQuiet
}

// maxText bounds the text read from a person, in bytes.
const maxText = 1 << 20

// text returns the text that a person wrote in place of a draft, and the temporary file in which they did, ""
// if it is theirs.
func (t *Terminal) text(old, file string) (body, typed string, err error) {
	if file != "" {
		body, err = t.readText(file)
		return body, "", err
	}
	if !term.Is(t.In) {
		err := sysexit.With(sysexit.Usage, errors.New("no terminal for an editor"))
		return "", "", sysexit.Hint(err, "--text-file FILE, or - for standard input, gives the text")
	}
	f, err := os.CreateTemp("", "tri-draft-*.txt") // created with mode 0600
	if err != nil {
		return "", "", sysexit.With(sysexit.IO, err)
	}
	_, err = f.WriteString(old + "\n")
	if err = sysexit.With(sysexit.IO, errors.Join(err, f.Close())); err == nil {
		err = t.editor(f.Name())
	}
	if err == nil {
		body, err = t.readText(f.Name())
	}
	if err == nil && strings.TrimSpace(body) == "" {
		t.Say("the text is empty; nothing was decided")
		err = errQuiet
	}
	if err != nil {
		return "", "", errors.Join(err, os.Remove(f.Name()))
	}
	return body, f.Name(), nil
}

// Editor returns the person's editor with its arguments.
func Editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(os.Getenv(name)); len(words) > 0 {
			return words
		}
	}
	return []string{"vi"}
}

func (t *Terminal) editor(file string) error {
	words := Editor()
	cmd := exec.Command(words[0], append(words[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.In, t.Err, t.Err
	if err := cmd.Run(); err != nil {
		err = sysexit.With(sysexit.Unavailable, fmt.Errorf("editor %q: %w", words[0], err))
		return sysexit.Hint(err,
			"set $EDITOR to one that is here, or give the text by --text-file; nothing was decided")
	}
	return nil
}

func (t *Terminal) readText(file string) (string, error) {
	in := t.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxText+1))
	switch {
	case err != nil:
		return "", sysexit.With(sysexit.IO, fmt.Errorf("read text: %w", err))
	case len(b) > maxText:
		return "", sysexit.With(sysexit.Data, fmt.Errorf("read text: longer than %d bytes", maxText))
	case !utf8.Valid(b):
		return "", sysexit.With(sysexit.Data, errors.New("read text: not valid UTF-8"))
	}
	return string(b), nil
}

// said reports a decision that counts.
func (t *Terminal) said(r Said, err error, done string) error {
	if err != nil {
		return err
	}
	if waits := r.Waits(); waits != "" {
		done = strings.Replace(done, "tri-reply posts it", waits, 1)
	}
	t.Say("%s: %s", r.Key, done)
	if lesson := r.Proposes(); lesson != "" {
		t.Say("%s", lesson)
	}
	if t.JSON {
		return ndjson.Write(t.Out, r.Record)
	}
	return nil
}
