package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tri/examples"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/thread"
)

// room is the file of the local chat.
const room = "dev"

// questions is how many of the room's messages ask about the code.
const questions = 6

// message is one line of examples/demo/dev.ndjson.
type message struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ask lets people write in a local chat, and the pipeline prepare answers as drafts.
func (d *demo) ask(ctx context.Context) error {
	d.title("2. A chat in a folder, with questions about this code")
	if err := d.talk(); err != nil {
		return err
	}
	d.say("Each line that somebody appends to %s is a message, as in:", d.path("chat/"+room))
	d.command("echo 'ana: good morning' >>" + text.Quote(d.path("chat/"+room)))
	d.say("It is read, filtered, and what is left is investigated and checked. No model: a search.")
	d.command("export TRI_HOME=" + text.Quote(d.path("home")) + " TRI_USER=" + operator)
	events, classified := d.path("home/events.ndjson"), d.path("home/events-classified.ndjson")
	for _, step := range [][]string{
		{"tri-watch", "local", "--once", d.path("chat")},
		{"tri-classify", "--out", classified, events},
		{"tri-dispatch", "--once", classified},
	} {
		if _, err := d.run(ctx, pipe{steps: [][]string{step}}); err != nil {
			return err
		}
	}
	return d.drafts()
}

// talk writes the messages into the room.
func (d *demo) talk() error {
	text, err := examples.Files.ReadFile("demo/dev.ndjson")
	if err != nil {
		return sysexit.With(sysexit.Software, err)
	}
	said, err := decode[message]("demo/dev.ndjson", text)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range said {
		fmt.Fprintf(&b, "%s: %s\n", m.Name, m.Text)
	}
	return sysexit.With(sysexit.IO, d.write("chat/"+room, b.String()))
}

// drafts shows the drafts that wait for a person.
func (d *demo) drafts() error {
	threads, err := d.waiting()
	if err != nil {
		return err
	}
	if len(threads) != questions {
		return sysexit.With(sysexit.Software,
			fmt.Errorf("%d threads wait for a person, %d questions were asked", len(threads), questions))
	}
	for _, t := range threads {
		d.say("")
		d.say("  %s asks: %s", text.Line(t.OriginalSenderName, 20),
			d.paint(bold, text.Line(t.Messages[0].Content, 90)))
		if t.DraftPending == nil || len(t.InvestigatorReturn.EvidenceRefs) == 0 {
			d.say("  %s", text.Line(t.Badge, 60))
			continue
		}
		refs := t.InvestigatorReturn.EvidenceRefs
		first := d.paint(bold, text.Line(refs[0].Ref, 60))
		if len(refs) > 1 {
			first = fmt.Sprintf("%d references, the first of them %s", len(refs), first)
		}
		d.say("  %s: %s", d.paint(green, text.Line(t.Badge, 60)), first)
		d.block(faint, head(refs[0].Quote, 5))
	}
	return nil
}

// waiting returns the threads that wait for a person, in the order of the chat.
func (d *demo) waiting() ([]thread.Thread, error) {
	out, err := d.threads(func(t *thread.Thread) bool { return t.Status == thread.PendingUser })
	slices.SortFunc(out, func(a, b thread.Thread) int {
		if n := len(a.ThreadID) - len(b.ThreadID); n != 0 { // ids are offsets in the room
			return n
		}
		return strings.Compare(a.ThreadID, b.ThreadID)
	})
	return out, err
}

// threads returns the threads with messages of which is holds, the open ones first.
func (d *demo) threads(is func(*thread.Thread) bool) (all []thread.Thread, err error) {
	h, err := durable.OpenHome(d.home)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	for file, err := range thread.Files(h) {
		var t *thread.Thread
		if err == nil {
			t, err = thread.LoadFile(h, file)
		}
		if err != nil {
			return nil, err
		}
		if t != nil && len(t.Messages) > 0 && is(t) {
			all = append(all, *t)
		}
	}
	return all, nil
}

// head returns the first lines of a text.
func head(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > most+1 { // a single further line is shown, as it takes no more room than the notice
		lines = append(lines[:most:most], fmt.Sprintf("… %d more lines", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}
