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
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(8000))*time.Microsecond)
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
		if th.Status != thread.PendingUser || th.DraftPending == nil || !strings.Contains(*th.DraftPending, th.Messages[0].Content) {
			t.Errorf("%s: %s with %v for %q", th.Key, th.Status, th.DraftPending, th.Messages[0].Content)
		}
		if s := standing(t, b, th.Key); s == nil || s.Offer == nil || s.Offer.DraftSHA256 != th.DraftSHA256 || s.Void != "" {
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
	records, err := decision.Read(b.home)
	if err != nil {
		t.Fatal(err)
	}
	return decision.Resolve(records, decision.Policy{Approvers: []string{"boss"}}, time.Now())[key]
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

// TestBrokenMark: what the hint promises is so.
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
