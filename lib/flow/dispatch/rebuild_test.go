package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/thread"
)

// TestRestarts stops dispatchers wherever they are, many times over one stream,
// and holds that the end is the same as if none had been stopped.
func TestRestarts(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		id := fmt.Sprint(i)
		switch rng.IntN(4) {
		case 0:
			b.add(id, "ana", "", event.Ambient, "hello")
		case 1:
			b.add(id, "ana", fmt.Sprint(rng.IntN(i+1)), event.Actionable, "more, or a lie "+id+"?")
		default:
			b.add(id, "ana", "", event.Actionable, "why "+id+"?")
		}
	}
	for range 60 {
		ctx, cancel := context.WithTimeout(context.Background(),
			time.Duration(rng.IntN(8000))*time.Microsecond)
		err := Run(ctx, b.options())
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	b.run()
	names, err := filepath.Glob(b.home.Path("open/*.json"))
	if err != nil || len(names) < 20 {
		t.Fatalf("%d threads, %v", len(names), err)
	}
	for _, name := range names {
		th, err := thread.LoadFile(b.home, "open/"+filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if th.Status != thread.PendingUser || th.DraftPending == nil ||
			!strings.Contains(*th.DraftPending, th.Messages[0].Content) {
			t.Errorf("%s: %s with %v for %q", th.Key, th.Status, th.DraftPending, th.Messages[0].Content)
		}
		if s := standing(t, b, th.Key); s == nil || s.Offer == nil || s.Offer.DraftSHA256 != th.DraftSHA256 ||
			s.Void != "" {
			t.Errorf("%s: its draft is not what stands offered: %+v", th.Key, s)
		}
	}
	done, err := Rebuild(b.home)
	if err != nil || done.Changed+done.Removed != 0 || done.Threads != len(names) {
		t.Errorf("rebuild: %+v, %v", done, err)
	}
}

func standing(t *testing.T, b *bench, key string) *decision.Standing {
	t.Helper()
	return standingBy(t, b, decision.Policy{Approvers: []string{"boss"}}, key)
}

// standingBy returns the standing of a thread by the decision log.
func standingBy(t *testing.T, b *bench, p decision.Policy, key string) *decision.Standing {
	t.Helper()
	records, err := decision.Read(b.home)
	if err != nil {
		t.Fatal(err)
	}
	state := decision.NewState(p)
	for _, r := range records {
		state.Add(r)
	}
	return state.Standing(key)
}

func TestRebuildMendsDamage(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.add("2", "ben", "", event.Actionable, "how?")
	b.run()
	path := thread.OpenPath(event.Key("local", "dev", "1"))
	want, err := b.home.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func() error{
		func() error { return os.WriteFile(b.home.Path(path), []byte("{"), 0o600) },
		func() error { return os.Remove(b.home.Path(path)) },
		func() error { return os.WriteFile(b.home.Path("open/stranger.json"), []byte("{}"), 0o600) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		done, err := Rebuild(b.home)
		if err != nil || done.Changed+done.Removed != 1 {
			t.Errorf("rebuild: %+v, %v", done, err)
		}
		if got, err := b.home.ReadFile(path); err != nil || string(got) != string(want) {
			t.Errorf("not as it was: %v", err)
		}
	}
}

// TestBrokenMark: the hint's advice works.
func TestBrokenMark(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	if err := os.WriteFile(b.home.Path("dispatch.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), b.options()); err == nil {
		t.Error("a broken mark was taken")
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	ran := b.runs.Load()
	b.run()
	if n, _ := b.offers("1"); b.runs.Load() != ran || n != 1 {
		t.Errorf("%d more runs, %d offers", b.runs.Load()-ran, n)
	}
}

// TestLostThreads: threads that are gone are noticed, at the start and while it
// runs, and made anew.
func TestLostThreads(t *testing.T) {
	for _, folder := range []string{"open", "closed"} {
		t.Run(folder, func(t *testing.T) {
			b := newBench(t)
			for _, id := range []string{"1", "2", "3"} {
				b.add(id, "ana", "", event.Actionable, "why "+id+"?")
			}
			b.run()
			b.decide(decision.Dismiss, "1", "no")
			b.run()
			whole := b.files()
			lose := func() { // at once, whatever a dispatcher writes in it meanwhile
				if err := os.Rename(b.home.Path(folder), t.TempDir()+"/lost"); err != nil {
					t.Fatal(err)
				}
			}
			lose()
			b.run()
			if got := b.files(); got != whole || !strings.Contains(b.say.String(), "made again") {
				t.Errorf("at the start: %s\nwant %s; said %s", got, whole, b.say.String())
			}
			ctx, cancel := context.WithCancel(context.Background())
			o := b.options()
			o.Once = false
			ended := make(chan error, 1)
			go func() { ended <- Run(ctx, o) }()
			lose()
			for end := time.Now().Add(30 * time.Second); b.files() != whole && time.Now().Before(end); {
				time.Sleep(20 * time.Millisecond)
			}
			cancel()
			if err := <-ended; err != nil || b.files() != whole {
				t.Errorf("while it runs: %s, %v", b.files(), err)
			}
		})
	}
}

// files are the threads' files, open and closed.
func (b *bench) files() string {
	var all strings.Builder
	for file := range thread.Files(b.home) {
		text, _ := b.home.ReadFile(file)
		fmt.Fprintf(&all, "%s\n%s", file, text)
	}
	return all.String()
}

// TestRunsGone: if the results of runs were deleted, a rebuild keeps the threads that it cannot fold, and
// a dispatcher continues.
func TestRunsGone(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	b.run()
	whole := b.files()
	if err := os.RemoveAll(b.home.Path("runs")); err != nil {
		t.Fatal(err)
	}
	if done, err := Rebuild(b.home); err != nil || done.Kept != 1 || done.Changed+done.Removed != 0 ||
		b.files() != whole {
		t.Errorf("%+v, %v", done, err)
	}
	b.add("2", "ana", "", event.Actionable, "and this?")
	b.run()
	if b.thread("2").Status != thread.PendingUser || b.thread("1").Cycle != 1 {
		t.Errorf("%s, cycle %d", b.thread("2").Status, b.thread("1").Cycle)
	}
}

// TestMarkLost: without dispatch.json nothing is asked or answered anew, however
// long a thread is.
func TestMarkLost(t *testing.T) {
	b := newBench(t)
	b.add("1", "ana", "", event.Actionable, "why?")
	for i := range 300 {
		b.add(fmt.Sprint("m", i), "ben", "1", event.Ambient, "hm")
	}
	b.run()
	whole, ran := b.files(), b.runs.Load()
	if err := b.home.Remove("dispatch.json"); err != nil {
		t.Fatal(err)
	}
	b.run()
	if b.files() != whole || b.runs.Load() != ran {
		t.Errorf("%d runs more", b.runs.Load()-ran)
	}
	if done, err := Rebuild(b.home); err != nil || done.Changed+done.Removed != 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
