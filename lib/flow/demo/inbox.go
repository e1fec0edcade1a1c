package demo

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/thread"
)

//go:embed fix.sh
var fixAgent string

// The code that the requests are about.
const exportCode = `package export

// maxRows is how many rows a report may have.
const maxRows = 1000
`

// request is what one person writes to an inbox, and what becomes of it.
type request struct {
	said, intent string
	rests        func(t *thread.Thread) bool
	words        string
	then         func(d *demo, ctx context.Context, t *thread.Thread) error
}

var (
	offered = func(t *thread.Thread) bool { return t.DraftPending != nil }
	noted   = func(t *thread.Thread) bool { return t.IsNoted() }
)

// day is a day of an inbox.
var day = []request{
	{"how many rows may a report have?", "question", offered,
		"A question is investigated; the answer waits for a person.", (*demo).approve},
	{"change the row limit in export.go to 2000", "code_change", offered,
		"A small change of code is made in a copy; the patch waits for a merge, and the reply for a person.",
		(*demo).approve},
	{"build a new feature for exporting reports as pdf", "code_change", offered,
		"A large change asks first. The question to Ana waits for a person, as every post does.",
		(*demo).clarified},
	{"redesign the architecture: replace the export with a new service", "code_change", offered,
		"Another large one. Ana declines the question with a thumbs down.", (*demo).declined},
	{"add milk to my list", "todo", noted, "An entry of a list needs no agent and no post: it is noted.",
		nil},
	{"check off milk", "todo_complete", noted, "So does its end.", nil},
	{"remind me tomorrow at 9:00 to call the bank", "reminder", noted,
		"A reminder is noted with its time, and shown to the operators then.", nil},
	{"fix the export when the disk is full", "code_change", func(t *thread.Thread) bool {
		return t.InvestigatorError != ""
	},
		"This run fails: nothing is posted, and an operator sees why.", nil},
}

// inbox plays a day of a chat in which every message is a request.
func inbox(ctx context.Context, o Options) (err error) {
	o.Dir = cmp.Or(o.Dir, "demo")
	d := &demo{Options: o}
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	if err := d.prepareInbox(ctx); err != nil {
		return err
	}
	end, err := d.pipeline(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for _, r := range day {
		if err := d.request(ctx, r); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	d.title("At the end of the day")
	tasks, err := records[struct{ State, Spec string }](ctx, d, "tri-task", "list", "--all", "--json")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		d.block(faint, fmt.Sprintf("%-10s %s", t.State, text.Line(t.Spec, 0)))
	}
	list, err := d.tool(ctx, "tri-task", "todo")
	if err != nil {
		return err
	}
	d.block(faint, string(list))
	said, err := d.chat()
	if err != nil {
		return err
	}
	d.say("In the room now:")
	d.block(green, head(string(said), 24))
	return nil
}

func (d *demo) prepareInbox(ctx context.Context) error {
	d.Codebase = "."
	if err := d.folders("chat", "home", "code"); err != nil {
		return err
	}
	config := strings.Join([]string{
		"chat: {local: {dir: ../chat}}",
		"watched_chats: [{chat_id: " + room + ", inbox: true}]",
		"team: {approvers: [" + operator + "]}",
		"codebases: [{name: code, path: ../code}]",
		"gate: {grace_s: 0}",
		"turn: {hold_s: 0}",
		"sandbox: off # the agent is this demo's own script, and tri's search",
		"box: {agent: {agent: exec, command: " + inYAML("sh",
			filepath.Join(filepath.Dir(d.home), "fix.sh")) + "}}",
		"",
	}, "\n")
	err := errors.Join(d.write("chat/"+room, ""), d.write("fix.sh", fixAgent),
		d.write("home/config.yaml", config), d.write("code/export.go", exportCode), d.commit(ctx))
	return sysexit.With(sysexit.Unavailable, err)
}

// commit makes the code a git repository with one commit.
func (d *demo) commit(ctx context.Context) error {
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "-qm", "code"}} {
		git := exec.CommandContext(ctx, "git", args...)
		git.Dir = d.path("code")
		if said, err := git.CombinedOutput(); err != nil {
			return sysexit.With(sysexit.Unavailable, fmt.Errorf("git %s: %w: %s", args[0], err, said))
		}
	}
	return nil
}

// request has Ana write a message, waits until it rests as it should, and says what became of it.
func (d *demo) request(ctx context.Context, r request) error {
	d.title("ana: %s", r.said)
	if err := d.line("ana: %s", r.said); err != nil {
		return err
	}
	t, err := d.until(ctx, r.said, r.rests)
	if err != nil {
		return err
	}
	if t.Intent != r.intent {
		return sysexit.With(sysexit.Software,
			fmt.Errorf("%q is taken for %s, want %s", r.said, t.Intent, r.intent))
	}
	d.say("%s", r.words)
	d.say("  intent %s (%s)", t.Intent, strings.Join(t.IntentReasons, ", "))
	d.say("  %s: %s", t.Status, cmp.Or(t.InvestigatorError, t.CloseReason, t.Badge))
	if t.DraftPending != nil {
		d.block(faint, head(*t.DraftPending, 4))
	}
	if r.then == nil {
		return nil
	}
	return r.then(d, ctx, t)
}

// until waits until the item that a message began is as it should be.
func (d *demo) until(ctx context.Context, said string, is func(*thread.Thread) bool) (*thread.Thread, error) {
	var t *thread.Thread
	err := wait(ctx, strconv.Quote(said), func() (_ bool, err error) {
		t, err = d.item(said)
		switch {
		case err != nil || t == nil:
			return false, err
		case is(t):
			return true, nil
		case t.InvestigatorError != "":
			return false, sysexit.With(sysexit.Software, fmt.Errorf("%q: %s", said, t.InvestigatorError))
		}
		return false, nil
	})
	return t, err
}

// item returns the item that a message began; nil if there is none yet.
func (d *demo) item(said string) (*thread.Thread, error) {
	ts, err := d.threads(func(t *thread.Thread) bool { return t.Messages[0].Content == said })
	if err != nil || len(ts) == 0 {
		return nil, err
	}
	return &ts[0], nil
}

// approve waits until the draft of an item is offered, approves it, and waits for its post.
func (d *demo) approve(ctx context.Context, t *thread.Thread) error {
	type item struct{ Key, Kind string }
	if err := wait(ctx, t.Key, func() (bool, error) {
		items, err := records[item](ctx, d, "tri-approve", "list", "--json")
		return slices.Contains(items, item{t.Key, "draft"}), err
	}); err != nil {
		return err
	}
	if _, err := d.tool(ctx, "tri-approve", "approve", t.Key, "--yes"); err != nil {
		return err
	}
	_, err := d.until(ctx, t.Messages[0].Content, func(t *thread.Thread) bool {
		return t.PostedMessageID != nil || t.AwaitsAsker()
	})
	return err
}

// clarified posts the question to Ana, and has her answer in the thread: the change is made with both texts.
func (d *demo) clarified(ctx context.Context, t *thread.Thread) error {
	if err := d.approve(ctx, t); err != nil {
		return err
	}
	const answer = "only for admins, and csv stays as it is"
	d.block(bold, "ana, in the thread: "+answer)
	if err := d.line("ana >%s: %s", t.OriginalMessageID, answer); err != nil {
		return err
	}
	got, err := d.until(ctx, t.Messages[0].Content, func(t *thread.Thread) bool {
		return t.Cycle > 1 && t.DraftPending != nil
	})
	if err != nil {
		return err
	}
	d.say("Now it is done with both texts (%d messages): %s.", len(got.Messages), got.Badge)
	return nil
}

// declined posts the question to Ana, who rejects the item by a reaction.
func (d *demo) declined(ctx context.Context, t *thread.Thread) error {
	if err := d.approve(ctx, t); err != nil {
		return err
	}
	got, err := d.until(ctx, t.Messages[0].Content, (*thread.Thread).AwaitsAsker)
	if err != nil {
		return err
	}
	if err := d.line("ana ~%s: 👎", got.ClarifyMessageID); err != nil {
		return err
	}
	got, err = d.until(ctx, t.Messages[0].Content,
		func(t *thread.Thread) bool { return t.Status == thread.Closed })
	if err != nil {
		return err
	}
	d.say("  closed: %s", got.CloseReason)
	return nil
}

// line appends a line to the room.
func (d *demo) line(format string, args ...any) error {
	f, err := os.OpenFile(d.path("chat/"+room), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	_, err = fmt.Fprintf(f, format+"\n", args...)
	return sysexit.With(sysexit.IO, errors.Join(err, f.Close()))
}
