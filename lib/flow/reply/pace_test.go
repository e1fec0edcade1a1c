package reply

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/record/decision"
)

// paced is a world whose approval is cut into two messages by its approver.
func paced(t *testing.T) (w *world, cuts []int) {
	w = newWorld(t)
	cuts = []int{len("It is five. ")}
	o := decision.Record{
		Kind: decision.Offer, By: "tri-dispatch", Via: "code", Key: "local.dev.1", Cycle: 1, Text: crashText,
		DraftSHA256: decision.Sum(crashText), Cuts: cuts,
		Target: &decision.Target{Platform: "fake", ChatID: "dev", ThreadID: "1", ReplyToID: "1",
			QuestionSHA256: decision.Sum(question)},
		Meta: &decision.Meta{InvestigatorTaskID: "run-1", ValidatorVerdict: "pass", InvestigatorRounds: 1},
	}
	w.append(o)
	o.Kind, o.By, o.Target, o.Meta = decision.Approve, "ana", nil, nil
	w.append(o)
	return w, cuts
}

// TestPartsUnderKill: an answer of two approved messages is killed at every step, and again at every step
// of the next run. Each message is posted once, the first before the second, byte for byte.
func TestPartsUnderKill(t *testing.T) {
	rounds := 0
	for first := 1; ; first++ {
		more := false
		for second := 1; ; second++ {
			w, _ := paced(t)
			if !w.crashPaced(first) {
				break
			}
			more = true
			w.legal()
			again := w.crashPaced(second)
			w.legal()
			w.crashPaced(0)
			rounds++
			got := ""
			for _, p := range w.chat.stands {
				got += fmt.Sprintf("%q", p.Text)
			}
			if got != `"It is five. ""Really."` || len(w.replies()) != 1 || len(w.open()) != 0 {
				t.Fatalf("killed at %d and %d: posted %s, %d lines", first, second, got, len(w.replies()))
			}
			if !again {
				break
			}
		}
		if !more {
			break
		}
	}
	if rounds < 30 {
		t.Errorf("%d rounds", rounds)
	}
	t.Logf("%d rounds with kills: 0 lost, 0 doubled", rounds)
}

func (w *world) crashPaced(n int) (crashed bool) {
	w.t.Helper()
	o := w.options(func(string) error {
		if n--; n == 0 {
			return errCrash
		}
		return nil
	})
	o.Pace = 8 * time.Second
	err := Run(context.Background(), o)
	if err != nil && !errors.Is(err, errCrash) {
		w.t.Fatal(err)
	}
	return err != nil
}

// typist is a chat that notes when the typing indicator was shown and when a message was posted.
type typist struct {
	*platform
	chat.Signaler
	w   *world
	log []string
}

func (f *typist) note(what string) {
	f.log = append(f.log, fmt.Sprintf("%s %v", what, f.w.now.Sub(start)))
}

func (f *typist) Post(ctx context.Context, p chat.Post) (chat.Posted, error) {
	f.note("post")
	return f.platform.Post(ctx, p)
}

func (f *typist) Typing(_ context.Context, chatID, threadID string) error {
	if claims, _ := decision.Read(f.w.home); claims[len(claims)-1].Kind != decision.Claim {
		f.w.t.Error("typing before the claim")
	}
	f.note("typing")
	return nil
}

// TestPace: the second message comes after the pace, the same at every start, and typing is shown between
// the claim and the posts alone.
func TestPace(t *testing.T) {
	var before string
	for range 2 {
		w, _ := paced(t)
		f := &typist{platform: w.chat, w: w}
		o := w.options(nil)
		o.Pace, o.Typing, o.Grace = 6*time.Second, true, time.Minute
		o.Sinks = map[string]chat.Sink{"fake": f}
		if err := Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(f.log)
		if before != "" && got != before {
			t.Errorf("%s, and before %s", got, before)
		}
		before = got
		posts := []time.Duration{}
		for _, l := range f.log {
			var what string
			var at time.Duration
			if _, err := fmt.Sscan(l, &what, (*dur)(&at)); err != nil {
				t.Fatal(err)
			}
			if what == "post" {
				posts = append(posts, at)
			}
		}
		if len(posts) != 2 || posts[0] < time.Minute || posts[1]-posts[0] < o.Pace ||
			posts[1]-posts[0] > o.Pace*3/2 {
			t.Errorf("%s", got)
		}
		if n := len(f.log) - 2; n < 2 || n > 1+typingMost {
			t.Errorf("typing was shown %d times: %s", n, got)
		}
	}
}

type dur time.Duration

func (d *dur) Scan(s fmt.ScanState, _ rune) error {
	b, err := s.Token(true, nil)
	if err != nil {
		return err
	}
	x, err := time.ParseDuration(string(b))
	*d = dur(x)
	return err
}

// TestCutsBind: an approval that cuts the text elsewhere does not count.
func TestCutsBind(t *testing.T) {
	w, cuts := paced(t)
	rs, err := decision.Read(w.home)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cuts []int
		want bool
	}{{cuts, true}, {nil, false}, {[]int{3}, false}, {[]int{1, 2}, false}} {
		s := decision.NewState(decision.Policy{Approvers: []string{"ana"}})
		s.Add(rs[0])
		yes := rs[1]
		yes.Cuts = c.cuts
		if got, why := s.Add(yes); got != c.want {
			t.Errorf("%v: %v %s", c.cuts, got, why)
		}
	}
	for _, c := range []struct { // a person's own text has cuts of its own
		cuts []int
		want bool
	}{{nil, true}, {[]int{4}, true}, {[]int{400}, false}, {[]int{4, 4}, false}} {
		s := decision.NewState(decision.Policy{Approvers: []string{"ana"}})
		s.Add(rs[0])
		own := rs[1]
		own.Kind, own.Original, own.Text, own.Cuts = decision.Edit, rs[0].DraftSHA256, "One.Two.", c.cuts
		own.DraftSHA256 = decision.Sum(own.Text)
		if got, why := s.Add(own); got != c.want {
			t.Errorf("%v of another text: %v %s", c.cuts, got, why)
		}
	}
}
