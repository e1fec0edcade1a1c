package longrun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tri/lib/agent"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/run"

	"golang.org/x/sys/unix"
)

// Maximum sizes in a transcript, in bytes: of one event, of a result, and in total.
const (
	maxSaid       = 4 << 10
	maxResult     = 300
	maxTranscript = 16 << 20
)

// transcript writes a run as lines for people, to a file and to the run's terminal. Control characters are
// escaped.
type transcript struct {
	mu     sync.Mutex
	file   *os.File
	screen io.Writer
	now    func() time.Time
	left   int
	lost   error
}

func openTranscript(path string, screen io.Writer, now func() time.Time) (*transcript, error) {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	}
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("keep transcript: %w", err))
	}
	return &transcript{file: f, screen: screen, now: now, left: maxTranscript - int(info.Size())}, nil
}

func (t *transcript) begin(r *Request, starts int) {
	t.line("run", "%s, for %s", r.RunID, r.Thread.Key)
	if starts > 1 {
		t.line("run", "start number %d: the runner before ended unexpectedly", starts)
	}
}

func (t *transcript) event(e agent.Event) {
	words := e.Text
	switch {
	case e.Kind == agent.Started && e.SessionID != "":
		words = strings.TrimSpace("session " + e.SessionID + " " + words)
	case e.Tool != "":
		words = e.Tool + " " + words
	}
	if e.Usage != nil && e.Usage.CostUSD != nil {
		words = strings.TrimSpace(fmt.Sprintf("%s (%d turns, %.3f USD so far)", words, e.Usage.Turns,
			*e.Usage.CostUSD))
	}
	if e.Kind == agent.Returned && len(words) > maxResult {
		words = strings.ToValidUTF8(words[:maxResult], "") + " …" // return.json has all of it
	}
	t.line(e.Kind, "%s", words)
}

func (t *transcript) end(x *run.Result) {
	if x.Error != "" {
		t.line("end", "%s: %s", x.Status, x.Error)
		return
	}
	t.line("end", "%s", x.Status)
}

// line writes one entry: time, kind and text. Further lines of the text are indented to align with the
// first.
func (t *transcript) line(what, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := fmt.Sprintf(format, args...)
	if len(words) > maxSaid {
		words = strings.ToValidUTF8(words[:maxSaid], "") + " …"
	}
	head := t.now().Format("15:04:05") + fmt.Sprintf(" %-9s ", text.Visible(what))
	words = strings.ReplaceAll(text.Visible(strings.TrimSpace(words)), "\n",
		"\n"+strings.Repeat(" ", len(head)))
	entry := head + words + "\n"
	if t.screen != nil {
		_, _ = io.WriteString(t.screen, entry) // the terminal may be gone
	}
	if t.left <= 0 {
		return
	}
	if t.left -= len(entry); t.left <= 0 {
		entry += "the transcript is full; raw/stream.jsonl has the rest\n"
	}
	if _, err := t.file.WriteString(entry); err != nil && t.lost == nil {
		t.lost = err
	}
}

func (t *transcript) close() error {
	if err := errors.Join(t.lost, t.file.Sync(), t.file.Close()); err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("keep transcript: %w", err))
	}
	return nil
}
