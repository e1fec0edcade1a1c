package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// said is a line of a chat, and of the output of turns.
type said struct {
	Seq  int64  `json:"seq"`
	Who  string `json:"who"`
	At   int64  `json:"at"` // seconds
	Turn int64  `json:"turn"`
	Low  int64  `json:"low"`
}

// turns holds what each person says until he has been silent for some seconds.
type turns struct {
	silence int64
	clock   int64
	open    map[string][]said
	taken   func() // after each record that is taken in
}

func (s *turns) stage(hold int64) stream.Stage[said] {
	s.open = map[string][]said{}
	take := func(r *said) { s.clock = max(s.clock, r.At) }
	return stream.Stage[said]{
		Prepare: func(rec ndjson.Record, r *said) error { *r = said{}; return json.Unmarshal(rec.Bytes, r) },
		Warm:    func(r *said) { take(r) },
		Emit: func(dst []byte, r *said) ([]byte, error) {
			take(r)
			s.open[r.Who] = append(s.open[r.Who], *r)
			s.taken()
			return dst, nil
		},
		Flush: s.flush, Hold: hold,
	}
}

func (s *turns) flush(dst []byte, now time.Time, all bool) ([]byte, int64, time.Time) {
	clock, lowest, next := s.clock, int64(-1), time.Time{}
	if !now.IsZero() {
		clock = now.Unix()
	}
	who := make([]string, 0, len(s.open))
	for w := range s.open {
		who = append(who, w)
	}
	slices.Sort(who)
	for _, w := range who {
		turn := s.open[w]
		if end := turn[len(turn)-1].At + s.silence; !all && clock < end {
			if lowest < 0 || turn[0].Seq < lowest {
				lowest = turn[0].Seq
			}
			if at := time.Unix(end, 0); next.IsZero() || at.Before(next) {
				next = at
			}
			continue
		}
		for _, r := range turn {
			dst = fmt.Appendf(dst, "{\"seq\":%d,\"who\":%q,\"at\":%d,\"turn\":%d}\n", r.Seq, r.Who,
				r.At, turn[0].Seq)
		}
		delete(s.open, w)
	}
	return dst, lowest, next
}

// chat is a log of n lines of some people, with the offset of each as its seq.
func chat(rng *rand.Rand, n int) (log []byte, seqs []int64) {
	at := int64(1_000_000)
	for range n {
		at += rng.Int64N(6)
		seqs = append(seqs, int64(len(log)))
		log = fmt.Appendf(log, "{\"seq\":%d,\"who\":\"%c\",\"at\":%d}\n", len(log), 'a'+rune(rng.IntN(4)), at)
	}
	return log, seqs
}

// lines of an output that end in a newline.
func whole(t *testing.T, out []byte) (all []said) {
	for line := range bytes.Lines(out) {
		var r said
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

// TestHoldModel kills a stage that holds records back at random times, and truncates its last
// write: in the end each record is written once, and at each mark everything below it had been
// written.
func TestHoldModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for round := range 40 {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		log, seqs := chat(rng, 20+rng.IntN(60))
		if err := os.WriteFile(in, log, 0o600); err != nil {
			t.Fatal(err)
		}
		hold := []int64{200, 1000, 1 << 20}[rng.IntN(3)]
		for kill := 1; kill <= 8; kill++ {
			ctx, stop := context.WithCancel(t.Context())
			left := rng.IntN(len(seqs))
			s := turns{silence: 8, taken: func() {
				if left--; left < 0 && kill < 8 {
					stop()
				}
			}}
			had, _ := os.ReadFile(out) // none at first
			had = had[:bytes.LastIndexByte(had, 10)+1]
			_, err := stream.Run(ctx, stream.Input{Files: []string{in}, After: -1}, stream.Output{File: out},
				s.stage(hold))
			stop()
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			now, err := os.ReadFile(out)
			if err != nil || !bytes.HasPrefix(now, had) {
				t.Fatalf("round %d: the output was changed: %v", round, err)
			}
			if kill < 8 {
				torn := len(had) + rng.IntN(len(now)-len(had)+1)
				if err := errors.Join(os.Truncate(out, int64(torn)),
					os.RemoveAll(filepath.Join(filepath.Dir(out),
						"."+filepath.Base(out)+".sum"))); err != nil {
					t.Fatal(err)
				}
			}
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		checkHeld(t, round, seqs, whole(t, b))
	}
}

// checkHeld checks an output: each seq once, and none missing below a mark.
func checkHeld(t *testing.T, round int, seqs []int64, out []said) {
	t.Helper()
	seen := map[int64]bool{}
	below := 0 // how many of seqs are at or below the last mark
	for i, r := range out {
		if seen[r.Seq] {
			t.Fatalf("round %d: seq %d is out twice", round, r.Seq)
		}
		seen[r.Seq] = true
		for ; below < len(seqs) && seqs[below] <= r.Low; below++ {
			if !seen[seqs[below]] {
				t.Fatalf("round %d: line %d says that all is out up to %d, and %d is not", round, i,
					r.Low, seqs[below])
			}
		}
	}
	if len(seen) != len(seqs) {
		t.Fatalf("round %d: %d of %d records are out", round, len(seen), len(seqs))
	}
}

// TestHoldFlushesInTime: if no more input arrives, held records are written when they are due.
func TestHoldFlushesInTime(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	line := fmt.Sprintf("{\"seq\":0,\"who\":\"a\",\"at\":%d}\n", time.Now().Unix())
	if err := os.WriteFile(in, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		s := turns{silence: 1, taken: func() {}}
		_, err := stream.Run(ctx, stream.Input{Files: []string{in}, Follow: true, After: -1},
			stream.Output{File: out}, s.stage(1<<20))
		ended <- err
	}()
	err := stream.Follow(ctx, out, 0, func(line []byte, _ int64) error {
		if want := `"turn":0,"low":0}`; !bytes.HasSuffix(bytes.TrimSpace(line), []byte(want)) {
			t.Errorf("%s", line)
		}
		return io.EOF
	})
	stop()
	if err != io.EOF {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
