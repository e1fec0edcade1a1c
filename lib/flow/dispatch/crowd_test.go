package dispatch

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tri/lib/record/decision"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
	"tri/lib/record/verdict"
)

// TestNearestHints: of many open threads, those that share most words with the question are hints.
func TestNearestHints(t *testing.T) {
	h := newHints(&Dispatcher{store: &store{open: map[string]*thread.Thread{}}})
	for i := range 5 * maxOthers {
		about := "the color of the logo"
		if i%10 == 0 {
			about = "the limit of a retry"
		}
		key := fmt.Sprint("t", i)
		h.store.open[key] = &thread.Thread{Key: key, ValidatorReturn: &verdict.Verdict{Verdict: verdict.Pass},
			InvestigatorReturn: &draft.Return{SummaryForOrchestrator: about}}
	}
	me := &thread.Thread{Key: "me", Messages: []thread.Message{{Content: "Which limit has a retry?"}}}
	hints := h.hints(job{kind: run.Validate}, me)
	if len(hints) != maxOthers || !strings.Contains(hints[9].Text, "retry") ||
		strings.Contains(hints[10].Text, "retry") {
		t.Errorf("%d hints: %v", len(hints), hints)
	}
}

// TestManyAtOnce: of many questions asked at once, each is offered before the next but one or two is
// investigated, in the order in which they were asked.
func TestManyAtOnce(t *testing.T) {
	b := newBench(t)
	const n = 60
	for i := range n {
		b.add(fmt.Sprint(i), fmt.Sprint("asker", i), "", event.Actionable, fmt.Sprint("what is ", i, "?"))
	}
	o := b.options()
	ahead, passed, validate := 0, 0, o.Validate
	var mu sync.Mutex
	o.Validate = func(ctx context.Context, t *thread.Thread, others []Hint,
		r *run.Run) (*verdict.Verdict, error) {
		mu.Lock()
		defer mu.Unlock()
		ahead = max(ahead, int(b.runs.Load())-passed)
		passed++
		return validate(ctx, t, others, r)
	}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if most := 2 * b.cfg.Dispatch.Concurrency; passed != n || ahead > most {
		t.Errorf("%d validated; up to %d investigations precede their validation, want at most %d",
			passed, ahead, most)
	}
	records, err := decision.Read(b.home)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		asked, err := strconv.Atoi(strings.TrimPrefix(r.Key, "local.dev."))
		if most := 2 * b.cfg.Dispatch.Concurrency; err != nil || asked < i-most || asked > i+most {
			t.Errorf("offer %d is of question %s: %v", i, r.Key, err)
		}
	}
}
