package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tri/lib/record/budget"
)

// waiting are the keys of the drafts that wait for a word.
func (t *timed) waiting() (keys []string) {
	out, _ := t.command("tri-approve", "list", "--json").Output() // 1: nothing waits
	for line := range bytes.Lines(out) {
		var item struct {
			Key    string `json:"key"`
			SHA256 string `json:"draft_sha256"`
		}
		if json.Unmarshal(line, &item) == nil && item.SHA256 != "" {
			keys = append(keys, item.Key)
		}
	}
	return keys
}

// draft asks, and waits for the draft.
func (t *timed) draft() (key string, err error) {
	before := map[string]bool{}
	for _, k := range t.waiting() {
		before[k] = true
	}
	if err := t.ask(); err != nil {
		return "", err
	}
	err = t.eventually("a draft", func() bool {
		for _, k := range t.waiting() {
			if !before[k] {
				key = k
			}
		}
		return key != ""
	})
	return key, err
}

func (t *timed) say(args ...string) error {
	out, err := t.command(append([]string{"tri-approve"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return nil
}

func (t *timed) posted() int {
	posts, err := t.chat.posts()
	if err != nil {
		panic(err) // a file of ours
	}
	return len(posts)
}

// quiet makes sure that nothing is posted until some time after an instant.
func (t *timed) quiet(since time.Time, d time.Duration, posts int) error {
	for time.Since(since) < d {
		if n := t.posted(); n != posts && time.Since(since) < d {
			return fmt.Errorf("%d posts %v after the yes, of which %d may be: the clock ended its grace", n,
				time.Since(since), posts)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// grace: however the clock is set, a yes is posted when its grace is over, no
// sooner, not much later, and not when it was taken back; and it does not expire.
func (t *timed) grace() error {
	const grace = 2 * time.Second
	if err := errors.Join(t.set("grace_s: 0", "grace_s: 2", ""),
		t.set("offer_expires_h: 1000000", "offer_expires_h: 72", ""), t.up()); err != nil {
		return err
	}
	for _, set := range []time.Duration{time.Hour, -26 * time.Hour, 100 * 24 * time.Hour} {
		key, err := t.draft()
		if err != nil {
			return err
		}
		posts, said := t.posted(), time.Now()
		if err := t.say("approve", "--yes", key); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond) // tri-reply has read it
		t.jump(set)
		if err := t.quiet(said, grace-100*time.Millisecond, posts); err != nil {
			return err
		}
		if err := t.eventually(fmt.Sprintf("the post of a yes after which the clock was set by %v", set),
			func() bool { return t.posted() == posts+1 }); err != nil {
			return err
		}
		// The next yes is taken back, after the clock was set.
		if key, err = t.draft(); err != nil {
			return err
		}
		said = time.Now()
		if err := t.say("approve", "--yes", key); err != nil {
			return err
		}
		t.jump(-set) // before or after tri-reply has read it
		undone := t.say("undo", key)
		if time.Since(said) < grace && undone != nil {
			return undone
		}
		if err := t.quiet(said, grace+time.Second, t.posted()); undone == nil && err != nil {
			return fmt.Errorf("taken back: %w", err)
		}
		if err := t.say("dismiss", "--reason", "enough", key); undone == nil && err != nil {
			return err
		}
	}
	fmt.Printf("clock: 3 yeses posted after their grace, 3 taken back within it, the clock set %d times\n",
		t.jumped)
	return t.over()
}

// over ends a story in which not every question is answered: a killed dispatcher
// would leave a thread to be folded by the next one.
func (t *timed) over() error {
	for _, s := range t.stages {
		if last := s.kept.String(); s.name == "dispatch" {
			if err := s.stop(); err != nil {
				return err
			}
		} else if !s.kill() {
			return fmt.Errorf("%s had ended by itself: %s", s.name, last)
		}
	}
	var faults []error
	t.checkRebuild(func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) })
	return errors.Join(append(faults, t.sane())...)
}

// runs counts the investigations that money was set aside for.
func (t *timed) runs() (n int) {
	lines, err := t.lines("spend.ndjson")
	if err != nil {
		panic(err) // a file of ours
	}
	for _, line := range lines {
		var e budget.Entry
		if json.Unmarshal(line, &e) == nil && e.Kind == budget.Reserve &&
			(e.Work == "" || e.Work == budget.Investigate) {
			n++
		}
	}
	return n
}

// budget: a day's budget is not there again when the clock is set back, and there
// on the next day.
func (t *timed) budget() error {
	if err := errors.Join(t.set("investigations_per_day: 0", "investigations_per_day: 3", ""),
		t.up()); err != nil {
		return err
	}
	t.jump(time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC).Sub(t.clock.now()))
	for range 7 {
		if err := t.ask(); err != nil {
			return err
		}
	}
	if err := t.eventually("three runs of the first day", func() bool { return t.runs() == 3 }); err != nil {
		return err
	}
	for _, set := range []time.Duration{-10 * time.Minute, -13 * time.Hour, 13 * time.Hour, -24 * time.Hour,
		24 * time.Hour, 0} {
		t.jump(set)
		time.Sleep(1200 * time.Millisecond) // the dispatcher looks every second
		if n := t.runs(); n != 3 {
			return fmt.Errorf("%d runs of a budget of 3, the clock was set by %v", n, set)
		}
	}
	t.jump(24 * time.Hour)
	if err := t.eventually("three runs of the next day", func() bool { return t.runs() == 6 }); err != nil {
		return err
	}
	t.jump(24 * time.Hour)
	if err := t.eventually("the last run", func() bool {
		return t.runs() == 7 && len(t.waiting()) == 7
	}); err != nil {
		return err
	}
	for _, key := range t.waiting() {
		if err := t.say("approve", "--yes", key); err != nil {
			return err
		}
	}
	if err := t.settle(t.stages); err != nil {
		return err
	}
	fmt.Printf("clock: 3 runs a day of 3, the clock set %d times\n", t.jumped)
	return t.end()
}

// expiry: a draft that the clock has made too old can be said yes to no more, and
// whoever tries is told; nothing is stuck by it, also when the clock was wrong.
func (t *timed) expiry() error {
	if err := errors.Join(t.set("offer_expires_h: 1000000", "offer_expires_h: 72", ""), t.up()); err != nil {
		return err
	}
	for _, back := range []time.Duration{0, -100 * time.Hour} {
		key, err := t.draft()
		if err != nil {
			return err
		}
		t.jump(100 * time.Hour)
		if err := t.say("approve", "--yes", key); err == nil {
			return errors.New("a yes to a draft that had expired was taken")
		}
		if err := t.eventually("nothing waits", func() bool { return len(t.waiting()) == 0 }); err != nil {
			return err
		}
		t.jump(back)
		if key, err = t.draft(); err != nil {
			return err
		}
		posts := t.posted()
		if err := t.say("approve", "--yes", key); err != nil {
			return err
		}
		if err := t.eventually("the next draft is posted", func() bool {
			return t.posted() == posts+1
		}); err != nil {
			return err
		}
	}
	fmt.Printf("clock: 2 drafts expired, 2 posted after them, the clock set %d times\n", t.jumped)
	return t.over()
}
