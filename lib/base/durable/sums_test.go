package durable

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"tri/lib/base/sysexit"
)

// summed returns a home with a log of n appended lines.
func summed(t *testing.T, n int) *Home {
	t.Helper()
	h := home(t)
	l, err := h.OpenLog("log")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range n {
		if _, err := l.Append(line(strings.Repeat(string(rune('a'+i%26)), 20+i))); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func parts(t *testing.T, h *Home, from int64) (n int, end int64) {
	t.Helper()
	end, err := h.CheckSums("log", from, func(int64, int64, error) { n++ })
	if err != nil {
		t.Fatal(err)
	}
	return n, end
}

// TestEveryFlip: any changed byte of a log or of its sums is found, and so is a log that was cut,
// emptied or removed.
func TestEveryFlip(t *testing.T) {
	h := summed(t, 4)
	for _, name := range []string{"log", ".log.sum"} {
		whole, err := h.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			for _, x := range []byte{1, 0x20, 0xff} {
				b := bytes.Clone(whole)
				b[i] ^= x
				put(t, h, name, string(b))
				if n, _ := parts(t, h, 0); n == 0 {
					t.Errorf("%s: byte %d ^ %x is not found", name, i, x)
				}
			}
		}
		for n := range whole {
			put(t, h, name, string(whole[:n]))
			if bad, _ := parts(t, h, 0); (bad > 0) != (name == "log") {
				t.Errorf("%s cut to %d bytes: %d bad parts", name, n, bad)
			}
		}
		put(t, h, name, string(whole))
	}
	if n, end := parts(t, h, 0); n != 0 || end == 0 {
		t.Errorf("whole: %d bad parts, sums up to %d", n, end)
	}
	if err := h.Remove("log"); err != nil {
		t.Fatal(err)
	}
	if n, _ := parts(t, h, 0); n == 0 {
		t.Error("a log that was removed is not missed")
	}
	if n, _ := parts(t, summed(t, 0), 0); n != 0 {
		t.Error("an empty log is bad")
	}
}

// TestCheckFrom: what was read before is not checked again.
func TestCheckFrom(t *testing.T) {
	h := summed(t, 9)
	b, err := h.ReadFile("log")
	if err != nil {
		t.Fatal(err)
	}
	b[3] ^= 1
	put(t, h, "log", string(b))
	if err := h.Check("log", 21); err != nil {
		t.Errorf("from the second line: %v", err)
	}
	status(t, "from the first", h.Check("log", 20), sysexit.Data)
	status(t, "by path", CheckFile(h.Path("log"), 0), sysexit.Data)
	if err := CheckFile(h.Path("none"), 0); err != nil {
		t.Error(err)
	}
}

// TestSumsAfterAKill: lines that a killed writer left without a sum get one with the next append,
// and a log without sums, or with those of a log that was removed, is taken over.
func TestSumsAfterAKill(t *testing.T) {
	h := summed(t, 3)
	log, err := h.ReadFile("log")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := h.ReadFile(".log.sum")
	if err != nil {
		t.Fatal(err)
	}
	grow := func(name string) {
		t.Helper()
		l, err := h.OpenLog("log")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, err = l.Append(line("more"))
		if err = errors.Join(err, l.Close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		info, err := os.Stat(h.Path("log"))
		if err != nil {
			t.Fatal(err)
		}
		if n, end := parts(t, h, 0); n != 0 || end != info.Size() {
			t.Errorf("%s: %d bad parts, sums of %d of %d bytes", name, n, end, info.Size())
		}
	}
	for name, left := range map[string]string{
		"no sum of the last":        string(sum[:2*sumSize]),
		"half a sum of the last":    string(sum[:2*sumSize+9]),
		"zeros after a power cut":   string(sum[:2*sumSize]) + strings.Repeat("\x00", sumSize),
		"none, by a version before": "",
	} {
		put(t, h, "log", string(log))
		put(t, h, ".log.sum", left)
		grow(name)
	}
	if err := os.Remove(h.Path("log")); err != nil {
		t.Fatal(err)
	}
	grow("removed")
	put(t, h, "log", "")
	if _, err := h.OpenLog("log"); !errors.Is(err, ErrChanged) {
		t.Errorf("emptied: %v", err)
	}
}

// TestSumsOfALongLine: an entry covers a chunk at most, and no reader needs a line boundary.
func TestSumsOfALongLine(t *testing.T) {
	h := home(t)
	l, err := h.OpenLog("log")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(line(strings.Repeat("x", 3*sumChunk))); err != nil {
		t.Fatal(err)
	}
	if n, end := parts(t, h, 0); n != 0 || end != 3*sumChunk+1 {
		t.Errorf("%d bad parts, sums up to %d", n, end)
	}
	if info, err := os.Stat(h.Path(".log.sum")); err != nil || info.Size() != 4*sumSize {
		t.Errorf("%v, %v", info, err)
	}
}

func BenchmarkAppendSum(b *testing.B) {
	h, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	l, err := h.OpenLog("log")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	size := int64(0)
	for b.Loop() {
		b.StopTimer()
		if _, err := l.Write(line(strings.Repeat("x", 600))); err != nil {
			b.Fatal(err)
		}
		size += 601
		b.StartTimer()
		l.sum(size)
	}
}
