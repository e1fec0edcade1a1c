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
)

// What a transcript has at most, in bytes: of one event, and in all.
const (
	maxSaid       = 4 << 10
	maxResult     = 300
	maxTranscript = 16 << 20
)

// transcript retells a run in lines that a person can read, in a file and on the
// run's terminal. Characters that would steer a terminal are written out.
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
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|noFollow, 0o600)
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

func (t *transcript) begin(r *Request, w worker) {
	t.line("run", "%s, for %s", r.RunID, r.Thread.Key)
	if w.Starts > 1 {
		t.line("run", "started again, for the %d. time: the one before ended without a word", w.Starts)
	}
}

func (t *transcript) event(e agent.Event) {
	text := e.Text
	switch {
	case e.Kind == agent.Started && e.SessionID != "":
		text = strings.TrimSpace("session " + e.SessionID + " " + text)
	case e.Tool != "":
		text = e.Tool + " " + text
	}
	if e.Usage != nil && e.Usage.CostUSD != nil {
		text = strings.TrimSpace(fmt.Sprintf("%s (%d turns, %.3f USD so far)", text, e.Usage.Turns, *e.Usage.CostUSD))
	}
	if e.Kind == agent.Returned && len(text) > maxResult {
		text = strings.ToValidUTF8(text[:maxResult], "") + " …" // return.json has it
	}
	t.line(e.Kind, "%s", text)
}

func (t *transcript) end(x run.Exit) {
	if x.Error != "" {
		t.line("end", "%s: %s", x.Status, x.Error)
		return
	}
	t.line("end", "%s", x.Status)
}

// line writes one entry: its time, what it is, and its words, each line of them
// below the last.
func (t *transcript) line(what, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	body := fmt.Sprintf(format, args...)
	if len(body) > maxSaid {
		body = strings.ToValidUTF8(body[:maxSaid], "") + " …"
	}
	head := t.now().Format("15:04:05") + fmt.Sprintf(" %-9s ", text.Visible(what))
	body = strings.ReplaceAll(text.Visible(strings.TrimSpace(body)), "\n", "\n"+strings.Repeat(" ", len(head)))
	entry := head + body + "\n"
	if t.screen != nil {
		_, _ = io.WriteString(t.screen, entry) // nobody may be there to see it
	}
	if t.left <= 0 {
		return
	}
	if t.left -= len(entry); t.left <= 0 {
		entry += "the transcript is full; raw/stream.jsonl goes on\n"
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
