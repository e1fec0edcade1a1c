package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"

	"tri/lib/sysexit"
	"tri/lib/thread"
)

// answer has one draft approved and posted once, and asks afterwards why.
func (d *demo) answer(ctx context.Context) error {
	d.title("4. One human yes")
	threads, err := d.waiting()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(threads, func(t thread.Thread) bool { return t.DraftPending != nil })
	if i < 0 {
		return sysexit.With(sysexit.Software, fmt.Errorf("no draft waits"))
	}
	t := threads[i]
	posted, err := d.decide(ctx, t.Key)
	if err != nil || !posted {
		return err
	}
	before, err := os.ReadFile(d.path("chat/" + room))
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	reply := pipe{steps: [][]string{{"tri-reply", "--once"}}}
	if _, err := d.run(ctx, reply); err != nil {
		return err
	}
	after, err := os.ReadFile(d.path("chat/" + room))
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if !bytes.HasPrefix(after, before) || len(after) == len(before) {
		return sysexit.With(sysexit.Software, fmt.Errorf("nothing was posted into %s", d.path("chat/"+room)))
	}
	d.say("In %s now stands:", d.path("chat/"+room))
	d.block(green, head(string(after[len(before):]), 6))
	if err := d.again(ctx, reply, after); err != nil {
		return err
	}
	return d.why(ctx, t.OriginalMessageID)
}

// decide shows the draft and has the person decide, or says yes where there is
// none. It reports whether there is something to post.
func (d *demo) decide(ctx context.Context, key string) (bool, error) {
	shown, err := d.run(ctx, pipe{steps: [][]string{{"tri-approve", "show", key}}})
	if err != nil {
		return false, err
	}
	alone := d.Yes || !d.Terminal
	if text := string(shown); alone {
		d.block(faint, head(text, 32))
	} else {
		d.block(faint, text) // who decides sees everything
	}
	approve := []string{"tri-approve", "approve", key}
	if alone {
		d.say("Nobody is asked here, so the demo says yes itself.")
		_, err := d.run(ctx, pipe{steps: [][]string{append(approve, "--yes")}})
		return err == nil, err
	}
	d.command(d.shell(pipe{steps: [][]string{approve}}))
	c := d.program(context.WithoutCancel(ctx), approve) // people may think
	c.Stdin, c.Stdout, c.Stderr = d.In, d.Out, d.Err
	err = c.Run()
	return err == nil, err
}

// again posts once more: nothing may change.
func (d *demo) again(ctx context.Context, reply pipe, stands []byte) error {
	d.say("Once more, as after a crash:")
	if _, err := d.run(ctx, reply); err != nil {
		return err
	}
	now, err := os.ReadFile(d.path("chat/" + room))
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if !bytes.Equal(now, stands) {
		return sysexit.With(sysexit.Software, fmt.Errorf("%s has changed: the answer was posted twice", d.path("chat/"+room)))
	}
	d.say("%s", d.paint(green, "Nothing is posted twice."))
	return nil
}

// why lets the threads see the reply, and retells the message.
func (d *demo) why(ctx context.Context, messageID string) error {
	if _, err := d.quiet(ctx, pipe{steps: [][]string{{"tri-dispatch", "--once", d.path("home/events-classified.ndjson")}}}); err != nil {
		return err
	}
	d.say("And why was that said?")
	story, err := d.run(ctx, pipe{steps: [][]string{{"tri-report", "why", messageID}}})
	if err != nil {
		return err
	}
	d.block(faint, string(story))
	return nil
}
