package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/record/thread"
)

// draft shows the draft that a person is asked to decide on.
func (d *demo) draft(ctx context.Context) error {
	d.title("4. One human yes")
	threads, err := d.waiting()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(threads, func(t thread.Thread) bool { return t.DraftPending != nil })
	if i < 0 {
		return sysexit.With(sysexit.Software, errors.New("no draft waits"))
	}
	d.pick = threads[i]
	shown, err := d.tool(ctx, "tri-approve", "show", d.pick.Key)
	if err != nil {
		return err
	}
	d.page(faint, head(string(shown), 32))
	return nil
}

// decide has the person decide, or approves if no one can be asked.
func (d *demo) decide(ctx context.Context) error {
	approve := []string{"tri-approve", "approve", d.pick.Key}
	if d.Yes || !d.Terminal {
		d.say("Nobody is asked here, so the demo says yes itself.")
		_, err := d.run(ctx, pipe{steps: [][]string{append(approve, "--yes")}})
		d.approved = err == nil
		return err
	}
	d.command(d.shell(pipe{steps: [][]string{approve}}))
	c := d.program(ctx, approve)
	c.Stdin, c.Stdout, c.Stderr = d.In, term.File(d.Out), d.Err
	err := c.Run()
	exit := new(exec.ExitError)
	if errors.As(err, &exit) && exit.ExitCode() == sysexit.No {
		return nil
	}
	d.approved = err == nil
	return err
}

// post posts the approved answer, once, and shows its history.
func (d *demo) post(ctx context.Context) error {
	if !d.approved {
		d.say("Only y posts: nothing was decided, and nothing is posted. The draft waits. Later:")
		d.command(d.typed("tri-approve", "approve", d.pick.Key))
		d.command(d.typed("tri-reply", "--once"))
		return nil
	}
	reply := pipe{steps: [][]string{{"tri-reply", "--once"}}}
	before, err := d.chat()
	if err != nil {
		return err
	}
	if _, err := d.run(ctx, reply); err != nil {
		return err
	}
	after, err := d.chat()
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(after, before) || len(after) == len(before) {
		return sysexit.With(sysexit.Software, fmt.Errorf("nothing was posted into %s", d.path("chat/"+room)))
	}
	d.say("%s now contains:", d.path("chat/"+room))
	d.block(green, head(string(after[len(before):]), 6))
	if err := d.again(ctx, reply, after); err != nil {
		return err
	}
	return d.why(ctx)
}

// chat returns the content of the room.
func (d *demo) chat() ([]byte, error) {
	text, err := os.ReadFile(d.path("chat/" + room))
	return text, sysexit.With(sysexit.IO, err)
}

// again runs tri-reply once more: nothing may change.
func (d *demo) again(ctx context.Context, reply pipe, stands []byte) error {
	d.say("Once more, as after a crash:")
	if _, err := d.run(ctx, reply); err != nil {
		return err
	}
	now, err := d.chat()
	if err != nil {
		return err
	}
	if !bytes.Equal(now, stands) {
		return sysexit.With(sysexit.Software,
			fmt.Errorf("%s has changed: the answer was posted twice", d.path("chat/"+room)))
	}
	d.say("%s", d.paint(green, "Nothing is posted twice."))
	return nil
}

// why records the reply in its thread, and shows the history of the message.
func (d *demo) why(ctx context.Context) error {
	if _, err := d.quiet(ctx, tool("tri-dispatch", "--once",
		d.path("home/events-classified.ndjson"))); err != nil {
		return err
	}
	d.say("And why was that said?")
	story, err := d.tool(ctx, "tri-report", "why", d.pick.OriginalMessageID)
	if err != nil {
		return err
	}
	d.page(faint, string(story))
	return nil
}
