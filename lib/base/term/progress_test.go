package term

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	at := time.Unix(1_700_000_000, 0)
	p := progress(&out, "records", func() time.Time { return at })
	p.Of(1000, 200)
	if p.Add(10, 100); out.Len() > 0 {
		t.Errorf("shown at once: %q", out.String())
	}
	at = at.Add(2 * time.Second)
	p.Add(10, 100)
	p.Add(10, 100) // too soon for another line
	if got := out.String(); got != "\r\x1b[K20 records, 10/s, 40%, 6s left" {
		t.Errorf("%q", got)
	}
	out.Reset()
	if p.Done(); out.String() != "\r\x1b[K30 records, 15/s, in 2s\n" {
		t.Errorf("%q", out.String())
	}
}

// TestNoProgress: nothing is shown where no person waits, and of nothing.
func TestNoProgress(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := NewProgress(w, nil, "records")
	if p != nil {
		t.Error("a pipe is shown progress")
	}
	p.Of(5, 0)
	p.Add(1, 1)
	p.Done()
	var out strings.Builder
	progress(&out, "records", time.Now).Done()
	if out.Len() > 0 {
		t.Errorf("%q of nothing", out.String())
	}
}
