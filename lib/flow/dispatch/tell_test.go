package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// listener is an agent under a wrapper: its answer is all that it was asked and told.
type listener struct {
	deaf  bool                // it notes nothing
	work  time.Duration       // without a word, before it answers
	until func(said int) bool // it works until this holds of what it was asked and told; nil: always
	runs  atomic.Int32
}

func (l *listener) investigate(ctx context.Context, t *thread.Thread, _ []Hint,
	r *run.Run) (*draft.Return, error) {
	l.runs.Add(1)
	words, err := run.Words(r.Dir())
	if err != nil {
		return nil, err
	}
	ears, err := run.Hearing(r.Dir())
	if err != nil {
		return nil, err
	}
	leg := 1
	for _, e := range ears {
		leg = max(leg, e.Leg+1)
	}
	log, err := run.OpenHeard(r.Dir())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var said []string
	for _, m := range t.Messages {
		said = append(said, m.Content)
	}
	for _, n := range t.Notes {
		said = append(said, n.Text)
	}
	hear := func(w run.Word, how string) error {
		if l.deaf {
			return nil
		}
		said = append(said, w.Text)
		return log.Note(run.Heard{ID: w.ID, At: "2026-11-21T10:00:00Z", How: how, Leg: leg})
	}
	for _, w := range words {
		if err := hear(w, run.Prompt); err != nil {
			return nil, err
		}
	}
	arrived := make(chan run.Word)
	its, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() {
		followed <- run.FollowWords(its, r.Dir(), len(words), func(w run.Word) error {
			select {
			case arrived <- w:
			case <-its.Done():
			}
			return nil
		})
	}()
	defer func() { stop(); <-followed }()
	for quiet := false; !quiet; {
		select {
		case w := <-arrived:
			if err := hear(w, run.Taken); err != nil {
				return nil, err
			}
		case <-time.After(l.work):
			quiet = l.until == nil || l.until(len(said))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &draft.Return{Confidence: "low", DraftReply: strings.Join(said, "|"), SummaryForOrchestrator: "s",
		EvidenceRefs: []draft.Ref{}}, nil
}

// TestTold: what the asker adds reaches the run in progress, which then answers all of it; a run that does
// not hear is followed by another cycle. Words are bounded.
func TestTold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		adds  int
		deaf  bool
		late  bool // the run has taken longer than twice the expected time
		runs  int32
		cycle int
	}{
		{"it hears", 3, false, false, 1, 1},
		{"it does not", 3, true, false, 2, 2},
		{"more than it is told", 11, false, false, 2, 2},
		{"it takes long", 2, false, true, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.add("1", "ana", "", event.Actionable, "why?")
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			l := &listener{deaf: tt.deaf, work: 20 * time.Millisecond}
			l.until = func(said int) bool {
				if !tt.deaf && !tt.late {
					return said > min(tt.adds, maxWords)
				}
				th := b.thread("1")
				return len(th.Messages)+len(th.Pending) > tt.adds
			}
			o := b.options()
			o.Once, o.Input.Follow = false, true
			o.Out = &onMove{cancel, thread.PendingUser}
			o.Investigate = func(ctx context.Context, th *thread.Thread, h []Hint,
				r *run.Run) (*draft.Return, error) {
				if l.runs.Load() == 0 {
					if tt.late {
						if err := run.Update(r.Dir(), func(s *run.State) {
							s.StartedAt = "2026-01-01T00:00:00Z"
						}); err != nil {
							return nil, err
						}
					}
					for n := range tt.adds {
						b.add(fmt.Sprint(n+2), "ana", "1", event.Ambient, fmt.Sprint("more ", n+2))
					}
				}
				return l.investigate(ctx, th, h, r)
			}
			if err := Run(ctx, o); err != nil {
				t.Fatal(err)
			}
			th := b.thread("1")
			if th.Status != thread.PendingUser || l.runs.Load() != tt.runs || th.Cycle != tt.cycle ||
				len(th.Messages) != tt.adds+1 || len(th.Pending) != 0 {
				t.Fatalf("%s, %d runs, cycle %d, %d messages, %d wait", th.Status, l.runs.Load(), th.Cycle,
					len(th.Messages), len(th.Pending))
			}
			for _, m := range th.Messages {
				if strings.Count(*th.DraftPending, m.Content) != 1 {
					t.Errorf("%q in %q", m.Content, *th.DraftPending)
				}
			}
			words, err := run.Words(b.home.Path("runs/" + run.ID(run.Investigate, th.Key, 1, 1)))
			if want := map[bool]int{true: 0, false: min(tt.adds, maxWords)}[tt.late]; err != nil ||
				len(words) != want {
				t.Errorf("%d words, want %d, %v", len(words), want, err)
			}
			if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
				t.Errorf("rebuild: %+v, %v", done, err)
			}
		})
	}
}

// TestWordsChange: an edited message is told again, and one that was deleted is withdrawn.
func TestWordsChange(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	th := b.thread("1")
	th.Status, th.DraftPending = thread.Investigating, nil
	p := newPool(b.options())
	p.fault, p.live[*th.InvestigatorTaskID] = func(string) error { return nil }, live{}
	tell := func(want string) {
		t.Helper()
		for range 2 { // the second time nothing is new
			if err := p.tell(th, *th.InvestigatorTaskID); err != nil {
				t.Fatal(err)
			}
		}
		words, err := run.Words(b.home.Path("runs/" + *th.InvestigatorTaskID))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range words {
			got = append(got, w.Kind+" "+w.MessageIDs[0]+" "+w.Text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	tell("")
	th.Pending = []thread.Message{{MessageID: "2", Content: "a"},
		{MessageID: "3", Content: "only b", Relation: thread.RelationRedirect}}
	tell("append 2 a, redirect 3 only b")
	th.Pending[0].Content = "c"
	tell("append 2 a, redirect 3 only b, edit 2 c")
	th.Pending = th.Pending[1:]
	tell("append 2 a, redirect 3 only b, edit 2 c, withdraw 2 ")
}

// TestWordsUnderKill: wherever dispatchers and their agents are stopped, the draft that is offered in the
// end answers every message of the asker, and every word of the operator that counts.
func TestWordsUnderKill(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	b := newBench(t)
	rng := rand.New(rand.NewPCG(5, 6))
	b.add("1", "ana", "", event.Actionable, "why <1>?")
	l := &listener{work: 4 * time.Millisecond}
	for n := range rounds {
		ctx, cancel := context.WithTimeout(context.Background(),
			time.Duration(rng.IntN(50000))*time.Microsecond)
		o := b.options()
		o.Investigate = l.investigate
		o.Once, o.Input.Follow = false, true
		crash := errors.New("crash")
		if rng.IntN(3) == 0 {
			o.fault = func(at string) error {
				if at == "words" && rng.IntN(2) == 0 {
					return crash
				}
				return nil
			}
		}
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, o) }()
		time.Sleep(time.Duration(rng.IntN(4)) * time.Millisecond)
		more := fmt.Sprintf("more <%d>", n+2)
		if th := b.thread("1"); n%5 == 4 && th.Key != "" {
			w := decision.Record{Kind: []string{decision.Tell, decision.Redirect}[n/5%2], By: "boss",
				Via: "terminal", Key: th.Key, Cycle: th.Cycle, Note: more}
			if _, err := decision.Append(b.home, w); err != nil {
				t.Fatal(err)
			}
		} else {
			b.add(fmt.Sprint(n+2), "ana", "1", event.Ambient, more)
		}
		if err := <-ended; err != nil && !errors.Is(err, context.DeadlineExceeded) &&
			!errors.Is(err, context.Canceled) && !errors.Is(err, crash) {
			t.Fatal(err)
		}
		cancel()
	}
	o := b.options()
	o.Investigate = l.investigate
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := Run(ctx, o); err != nil || ctx.Err() != nil {
		t.Fatal(err, ctx.Err())
	}
	th := b.thread("1")
	records, err := decision.Read(b.home)
	if err != nil {
		t.Fatal(err)
	}
	state, refused := decision.NewState(decision.Policy{Approvers: []string{"boss"}}), map[string]bool{}
	words := 0
	for _, r := range records {
		if counts, _ := state.Add(r); r.Word() && counts {
			words++
		} else if r.Word() {
			refused[r.Note] = true // its author was told so
		}
	}
	if th.Status != thread.PendingUser || len(th.Messages)+words+len(refused) != rounds+1 ||
		len(th.Notes) != words || len(th.Pending)+len(th.PendingNotes) != 0 {
		t.Fatalf("%s, %d messages, %d of %d words, %d wait", th.Status, len(th.Messages), len(th.Notes),
			words, len(th.Pending)+len(th.PendingNotes))
	}
	for n := range rounds + 1 {
		if said := fmt.Sprintf("<%d>", n+1); !refused["more "+said] &&
			!strings.Contains(*th.DraftPending, said) {
			t.Errorf("message %d is not answered: %q", n+1, *th.DraftPending)
		}
	}
	told := 0
	ids, _ := b.home.List("runs")
	for _, id := range ids {
		if res, err := run.Load(b.home, id); err == nil && res != nil {
			told += len(res.Heard)
		}
	}
	t.Logf("%d runs, %d cycles, %d words heard, %d words of the operator, %d refused", l.runs.Load(),
		th.Cycle, told, words, len(refused))
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
		t.Errorf("rebuild: %+v, %v", done, err)
	}
}
