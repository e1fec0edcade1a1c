package search

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/judge/codesearch"
	"tri/lib/record/draft"
)

const repo = "../../.."

// TestThisRepository asks about this repository what a newcomer would ask. The file that answers
// is nearly always among the references, and usually among the first three.
func TestThisRepository(t *testing.T) {
	text, err := os.ReadFile("testdata/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	c := New()
	first3, missed, all := 0, 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		want, question, ok := strings.Cut(line, "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		all++
		ret, err := ask(t, c, repo, question)
		if err != nil {
			t.Errorf("%q: %v", question, err)
			continue
		}
		honest(t, repo, ret)
		at := -1
		for i, ref := range ret.EvidenceRefs {
			if path, _, _ := strings.Cut(ref.Ref, ":"); path == want && at < 0 {
				at = i
			}
		}
		if at < 0 {
			t.Logf("%q: %s is not among %v", question, want, places(ret))
			missed++
		}
		if 0 <= at && at < 3 {
			first3++
		}
	}
	if missed*10 > all*2 {
		t.Errorf("%d of %d answers are not among the references", missed, all)
	}
	if first3*10 < all*7 {
		t.Errorf("only %d of %d answers are among the first three", first3, all)
	}
}

func places(ret *draft.Return) []string {
	var out []string
	for _, ref := range ret.EvidenceRefs {
		out = append(out, ref.Ref)
	}
	return out
}

// TestTheWorld asks what no code answers, of rooms that do not hold the questions.
func TestTheWorld(t *testing.T) {
	c := New()
	for _, q := range []string{
		"how do I bake a chocolate cake?", "who won the world cup in 1998?", "what is the capital of Brazil?",
		"how do solar panels work?",
		"when is the dentist open on Saturdays?", "berapa harga tiket kereta ke Bandung?", "你昨天吃了什么水果?",
	} {
		for _, room := range []string{"base/durable", "judge/evidence", "base/stream", "base/cli",
			"record/thread"} {
			if ret, err := ask(t, c, "../../"+room, q); !errors.Is(err, agent.ErrNothing) {
				t.Errorf("lib/%s, %q: %v, %v", room, q, err, ret)
			}
		}
	}
}

// TestFastEnough holds the two figures that a live answer rests on, with a wide
// margin for a busy machine: a cold index takes some 300 ms, a question some 15.
func TestFastEnough(t *testing.T) {
	x, err := codesearch.Open(repo)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := x.Search(context.Background(), "warm up", 8); err != nil {
		t.Fatal(err)
	}
	cold := time.Since(start)
	best := time.Hour
	var files int
	for range 20 {
		start := time.Now()
		found, err := x.Search(context.Background(),
			"how is the key of a thread made safe for a file name?", 8)
		if err != nil || len(found.Hits) == 0 {
			t.Fatal(err)
		}
		files, best = found.Files, min(best, time.Since(start))
	}
	t.Logf("%d files: cold %v, warm %v", files, cold, best)
	if cold > 20*time.Second || best > 2*time.Second {
		t.Errorf("%d files: cold %v, warm %v", files, cold, best)
	}
}
