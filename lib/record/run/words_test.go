package run_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func said(n int) run.Word {
	return run.Word{ID: run.WordID("k", fmt.Sprint(n), ""), Kind: run.Append, By: "asker",
		Text: fmt.Sprintf("word %d", n)}
}

func texts(words []run.Word) (all []string) {
	for _, w := range words {
		all = append(all, w.Text)
	}
	return all
}

// TestTell: the same word is written once, whoever repeats it and wherever its first writer was
// killed.
func TestTell(t *testing.T) {
	h, id := home(t), run.ID("x", "k", 1, 1)
	dir := h.Path("runs/" + id)
	if all, err := run.Words(dir); all != nil || err != nil {
		t.Errorf("a run without a folder: %v, %v", all, err)
	}
	for i, want := range []int{1, 0, 2} {
		words := []run.Word{said(1), said(2), said(3)}[:max(1, i+1)]
		if i == 1 {
			words = words[:1]
		}
		if n, err := run.Tell(h, id, noon, words...); n != want || err != nil {
			t.Errorf("%d: %d written, %v", i, n, err)
		}
	}
	log, err := os.ReadFile(dir + "/words.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(log) {
		sums := os.RemoveAll(dir + "/.words.ndjson.sum") // a torn line has none
		if err := errors.Join(sums, os.WriteFile(dir+"/words.ndjson", log[:cut], 0o600)); err != nil {
			t.Fatal(err)
		}
		n, err := run.Tell(h, id, noon, said(1), said(2), said(3))
		again, bad := os.ReadFile(dir + "/words.ndjson")
		if want := 3 - strings.Count(string(log[:cut]), "\n"); n != want || errors.Join(err, bad) != nil ||
			string(again) != string(log) {
			t.Fatalf("cut at %d: %d written, %v\n%s", cut, n, errors.Join(err, bad), again)
		}
	}
	all, err := run.Words(dir)
	if err != nil || !reflect.DeepEqual(texts(all), []string{"word 1", "word 2", "word 3"}) {
		t.Errorf("%v, %v", all, err)
	}
}

// TestTellTogether: writers that race lose and repeat nothing.
func TestTellTogether(t *testing.T) {
	h, id := home(t), run.ID("x", "k", 1, 1)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := range 20 {
				if _, err := run.Tell(h, id, noon, said(n), said(n+w)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := run.Words(h.Path("runs/" + id))
	if err != nil || len(all) != 23 {
		t.Errorf("%d words, %v", len(all), err)
	}
}

// TestTellAnything: a word of any size and any bytes fits into its line.
func TestTellAnything(t *testing.T) {
	h, id := home(t), run.ID("x", "k", 1, 1)
	for i, text := range []string{strings.Repeat("\x00", 2<<20), "\xff\xfe", "a\nb\u2028", ""} {
		w := said(i)
		w.Text = text
		if n, err := run.Tell(h, id, noon, w); n != 1 || err != nil {
			t.Errorf("%.10q: %d, %v", text, n, err)
		}
	}
	log, err := h.ReadFile("runs/" + id + "/words.ndjson")
	if err != nil || len(log) > ndjson.MaxLine || strings.Count(string(log), "\n") != 4 {
		t.Errorf("%d bytes, %v", len(log), err)
	}
	if all, err := run.Words(h.Path("runs/" + id)); len(all) != 4 || err != nil {
		t.Errorf("%d, %v", len(all), err)
	}
}

// TestFollowWords: each word comes once and in order, those before the start and those after it;
// half a line does not.
func TestFollowWords(t *testing.T) {
	h, id := home(t), run.ID("x", "k", 1, 1)
	dir := h.Path("runs/" + id)
	if err := h.MkdirAll("runs/" + id); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	got := make(chan run.Word, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- run.FollowWords(ctx, dir, 1, func(w run.Word) error { got <- w; return nil })
	}()
	for n := range 3 {
		if _, err := run.Tell(h, id, noon, said(n)); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		select {
		case w := <-got:
			if w.N != n+1 || w.Text != said(n).Text {
				t.Errorf("%+v", w)
			}
		case <-ctx.Done():
			t.Fatalf("word %d never came", n)
		}
	}
	f, err := os.OpenFile(dir+"/words.ndjson", os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"n":4,`)
	f.Close()
	if _, err := run.Tell(h, id, noon, said(3)); err != nil {
		t.Fatal(err)
	}
	if w := <-got; w.Text != said(3).Text {
		t.Errorf("behind half a line: %+v", w)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestBrokenWords: a log that is not what Tell wrote is refused.
func TestBrokenWords(t *testing.T) {
	for _, text := range []string{"no record\n", `{"n":2,"id":"w-1"}` + "\n", `{"n":1,"n":1}` + "\n"} {
		h, id := home(t), run.ID("x", "k", 1, 1)
		if err := h.Replace("runs/"+id+"/words.ndjson", []byte(text)); err != nil {
			t.Fatal(err)
		}
		dir := h.Path("runs/" + id)
		_, err := run.Words(dir)
		if status, _ := sysexit.Of(err); status != sysexit.Data {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := run.Tell(h, id, noon, said(1)); err == nil {
			t.Errorf("%q: was told", text)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if err := run.FollowWords(ctx, dir, 0, func(run.Word) error { return nil }); err == nil {
			t.Errorf("%q: was followed", text)
		}
		cancel()
	}
}

// TestAnswered: a word counts by the last leg alone, and only if it was in its prompt or taken.
func TestAnswered(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"", ""},
		{"a sent 1", ""},
		{"a sent 1, a taken 1", "a"},
		{"a taken 1, b sent 1, a prompt 2, b prompt 2", "a b"},
		{"a taken 1, b prompt 2", "b"},
		{"a prompt 1, b late 1, c sent 1, c cancelled 1", "a"},
		{"a taken 1, a taken 1", "a"},
	} {
		h, id := home(t), run.ID("x", "k", 1, 1)
		r, err := run.Begin(h, id)
		if err != nil {
			t.Fatal(err)
		}
		log, err := run.OpenHeard(r.Dir())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(tt.lines, ", ") {
			heard := run.Heard{At: "2026-03-02T12:00:00Z"}
			if n, _ := fmt.Sscanf(l, "%s %s %d", &heard.ID, &heard.How, &heard.Leg); n == 3 {
				err = errors.Join(err, log.Note(heard))
			}
		}
		err = errors.Join(err, log.Close(), r.Publish(run.Result{RunID: id, Status: run.Nothing}), r.End())
		res, bad := run.Load(h, id)
		if err = errors.Join(err, bad); err != nil || strings.Join(res.Heard, " ") != tt.want {
			t.Errorf("%s: %q, %v", tt.lines, res.Heard, err)
		}
	}
}

func TestCheckpoint(t *testing.T) {
	h := home(t)
	if c, err := run.LoadCheckpoint(h.Path("none")); c != nil || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if err := (&run.Checkpoint{}).Save(h.Path("none")); err == nil {
		t.Error("a folder that does not exist was written to")
	}
	dir := h.Path("runs/r")
	if err := h.MkdirAll("runs/r"); err != nil {
		t.Fatal(err)
	}
	want := run.Checkpoint{
		RunID: "r", Leg: 2, Turns: 3, Said: "\xff so far", Tools: []run.ToolUse{{Tool: "Grep", On: "x"}},
		Read: []run.Reading{{Path: "a.go", Lines: "1-3"}},
	}
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := run.LoadCheckpoint(dir)
	want.Said = "\ufffd so far"
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := h.Replace("runs/r/checkpoint.json", []byte("{")); err != nil {
		t.Fatal(err)
	}
	if c, err := run.LoadCheckpoint(dir); err == nil {
		t.Errorf("half a checkpoint is %+v", c)
	}
}

func FuzzWords(f *testing.F) {
	f.Add([]byte(`{"n":1,"id":"w-1","kind":"append","text":"x"}` + "\n" + `{"n":2`))
	f.Add([]byte("0"))
	f.Fuzz(func(t *testing.T, log []byte) {
		h, err := durable.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if err := h.Replace("runs/r/words.ndjson", log); err != nil {
			t.Fatal(err)
		}
		before, err := run.Words(h.Path("runs/r"))
		if err != nil {
			return
		}
		n, err := run.Tell(h, "r", noon, said(1))
		after, bad := run.Words(h.Path("runs/r"))
		if err = errors.Join(err, bad); err != nil || len(after) != len(before)+n ||
			len(before) > 0 && !reflect.DeepEqual(after[:len(before)], before) {
			t.Errorf("%d words, then %d: %v", len(before), len(after), err)
		}
	})
}
