package reply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/record/decision"
	"tri/lib/record/notice"
	"tri/lib/record/outbox"
)

// witness is a chat that checks each post against the log of decisions, by a fold of its own: the last word
// of an approver about some form gives exactly this text.
type witness struct {
	*platform
	w         *world
	posts     int
	uncovered []string
}

var holesOf = strings.NewReplacer(`\{state\}`, `(?:queued|running|waiting|done|failed)`, `\{minutes\}`,
	`\d{1,3}`, `\{files\}`, `\d{1,4}`,
	`\{tasks\}`, `[1-5]`, `\{when\}`, `(?:just now|\d+ (?:minute|hour|day)s? ago)`)

func (f *witness) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	f.posts++
	b, err := f.w.home.ReadFile(decision.LogName)
	if err != nil {
		f.w.t.Fatal(err)
	}
	approved := map[string]string{}
	for line := range strings.Lines(string(b)) {
		var r struct{ Kind, By, Form, Text string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			f.w.t.Fatal(err)
		}
		switch {
		case r.By != "ana":
		case r.Kind == "notice":
			approved[r.Form] = r.Text
		case r.Kind == "retract":
			delete(approved, r.Form)
		}
	}
	covered := false
	for _, form := range approved {
		covered = covered ||
			regexp.MustCompile("^"+holesOf.Replace(regexp.QuoteMeta(form))+"$").MatchString(p.Text)
	}
	if !covered {
		f.uncovered = append(f.uncovered, p.Text)
	}
	return f.platform.Post(ctx, p)
}

// TestNoticesAreCovered: forms are approved, changed and taken back at random instants, also while the
// program is killed between two of its steps; notices of approved, former, foreign and altered forms are
// asked for. No text is posted that no form approved at that moment gives, and none twice.
func TestNoticesAreCovered(t *testing.T) {
	renderings, want := 0, 10000
	if testing.Short() {
		want = 100
	}
	posts, kills, backs := 0, 0, 0
	for seed := uint64(0); renderings < want; seed++ {
		w := newWorld(t)
		w.approvers = []string{"ana"}
		f := &witness{platform: w.chat, w: w}
		r := rand.New(rand.NewPCG(seed, 9))
		texts := []string{"On it.", "Working, {minutes} min.",
			"It is {state}: {minutes} min so far, {files} steps.", "Begun {when}, {tasks} things."}
		names := []string{notice.Begun, notice.Status, notice.Redirect, notice.Cancel, notice.Snag,
			notice.Working}
		say := func() {
			name := names[r.IntN(len(names))]
			rec := decision.Record{Kind: decision.Notice, By: "ana", Via: "terminal", Form: name,
				Key: decision.FormKey(name), Text: texts[r.IntN(len(texts))]}
			switch r.IntN(8) {
			case 0:
				rec.Kind, rec.Text = decision.Retract, ""
				backs++
			case 1:
				rec.By, rec.Text = "eve", "Buy now."
			}
			rec.DraftSHA256 = decision.Sum(rec.Text)
			w.append(rec)
		}
		ask := func(i int) {
			h := notice.Holes{State: notice.States[r.IntN(5)], Minutes: r.IntN(1100), Files: r.IntN(99),
				Tasks: 1 + r.IntN(5), When: r.IntN(3000)}
			name, form := names[r.IntN(len(names))], texts[r.IntN(len(texts))]
			if r.IntN(2) == 0 {
				s := decision.NewState(decision.Policy{Approvers: w.approvers})
				rs, err := decision.Read(w.home)
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range rs {
					s.Add(rec)
				}
				if now, _ := s.Form(name); now != "" {
					form = now
				}
			}
			text, _ := notice.Render(form, h)
			if r.IntN(20) == 0 {
				text += " Buy now."
			}
			of := fmt.Sprint("local.dev.", i)
			w.append(decision.Record{
				Kind: decision.Notify, By: "tri-dispatch", Via: "code",
				Key: decision.NoticeKey(of, name, fmt.Sprint(i)), Cycle: 1, Of: of, Form: name, Holes: &h,
				Text: text, DraftSHA256: decision.Sum(text),
				Target: &decision.Target{Platform: "fake", ChatID: "dev", ThreadID: "1", ReplyToID: "1",
					QuestionSHA256: decision.Sum(question)},
			})
			renderings++
		}
		run := func(kill, back int) {
			o := w.options(func(string) error {
				if back--; back == 0 {
					say()
				}
				if kill--; kill == 0 {
					kills++
					return errCrash
				}
				return nil
			})
			o.Sinks = map[string]chat.Sink{"fake": f}
			if err := Run(context.Background(), o); err != nil && !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
		}
		for range names {
			say()
		}
		for i := range 25 {
			w.now = w.now.Add(time.Duration(r.IntN(90)) * time.Second)
			if r.IntN(3) == 0 {
				say()
			}
			ask(i)
			run(r.IntN(12), r.IntN(10))
			if r.IntN(2) == 0 {
				run(r.IntN(6), r.IntN(6))
			}
		}
		run(0, 0)
		for key, n := range f.copies() {
			if n > 1 {
				t.Errorf("seed %d: %s was posted %d times", seed, key, n)
			}
		}
		if len(f.uncovered) > 0 {
			t.Fatalf("seed %d: posted without an approval: %q", seed, f.uncovered)
		}
		for _, e := range w.open() {
			if e.State != outbox.Parked {
				t.Errorf("seed %d: left: %+v", seed, e)
			}
		}
		posts += f.posts
	}
	t.Logf("%d renderings, %d posts, %d kills, %d forms taken back: 0 not covered", renderings, posts,
		kills, backs)
	if posts < renderings/10 || kills < renderings/5 || backs < renderings/50 {
		t.Error("the test does not reach what it should")
	}
}
