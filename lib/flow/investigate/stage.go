package investigate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/agent"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
	"tri/lib/record/event"
	"tri/lib/record/run"
	"tri/lib/record/thread"
)

// Stage is investigation in a pipe: it reads events or threads and writes a return for each.
type Stage struct {
	*Investigator
	// Codebase returns the folder to read for a chat.
	Codebase func(platform, chatID string) string
	Round    int           // 0: the thread's own round
	Cap      time.Duration // per investigation; 0: no limit
	Keep     string        // folder for prompts and transcripts; "": not kept
	Out      io.Writer
	Say      func(format string, args ...any)
}

// answer is a record that the stage writes: the return, and what it answers.
type answer struct {
	Key       string `json:"key"`
	MessageID string `json:"message_id"`
	*draft.Return
}

// Each investigates each record. It skips deletions, and events that the classifier found to need no
// answer. It reports records for which nothing was found; the final error then carries sysexit.No.
func (s *Stage) Each(ctx context.Context, in stream.Input) error {
	nothing := 0
	filler := &event.Filler{Fill: true, Now: time.Now, Say: s.Say}
	in.Repair = func(rec ndjson.Record, cause error) ([]byte, error) {
		if isThread(rec.Bytes) {
			return nil, cause
		}
		return filler.Complete(rec, cause)
	}
	_, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		t, err := Parse(rec.Bytes)
		if err != nil {
			return stream.Refuse("%w", err)
		}
		if t == nil {
			return nil
		}
		if s.Round > 0 {
			t.InvestigatorRound = s.Round
		}
		err = s.one(ctx, t)
		if errors.Is(err, agent.ErrNothing) {
			nothing++
			s.Say("%s:%d: %v", rec.Source, rec.Line, err)
			return nil
		}
		return err
	})
	if ctx.Err() != nil {
		return sysexit.With(sysexit.TempFail,
			fmt.Errorf("stopped before the end of the input: %w", ctx.Err()))
	}
	if err == nil && nothing > 0 {
		err = sysexit.With(sysexit.No, fmt.Errorf("nothing found for %d of the records", nothing))
	}
	return err
}

func (s *Stage) one(ctx context.Context, t *thread.Thread) error {
	dir, remove, err := s.runDir(t)
	if err != nil {
		return err
	}
	defer remove()
	if s.Cap > 0 {
		var cancel context.CancelFunc
		ctx, cancel = agent.WithLimit(ctx, s.Cap)
		defer cancel()
	}
	ret, err := s.Run(ctx, Request{Thread: t, Codebase: s.Codebase(t.Platform, t.ChatID), RunDir: dir,
		SessionID: run.UUID()})
	if errors.Is(err, context.DeadlineExceeded) {
		return sysexit.Hint(sysexit.With(sysexit.TempFail, err),
			"hard_cap_runtime_min in the configuration is the limit")
	}
	if err != nil {
		return err
	}
	return ndjson.Write(s.Out, answer{t.Key, t.OriginalMessageID, ret})
}

// runDir returns a folder for one run.
func (s *Stage) runDir(t *thread.Thread) (dir string, remove func(), err error) {
	if s.Keep == "" {
		dir, err = os.MkdirTemp("", "tri-investigate-")
		remove = func() { _ = os.RemoveAll(dir) } // at worst a file remains in the temporary folder
	} else {
		dir, remove = filepath.Join(s.Keep, fmt.Sprintf("%s-%d", t.Key, round(t))), func() {}
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", nil, sysexit.With(sysexit.IO, fmt.Errorf("make run folder: %w", err))
	}
	return dir, remove, nil
}

// Parse reads a record: a thread, or an event, which is turned into the thread that it starts. It returns
// nil if there is nothing to investigate.
func Parse(line []byte) (*thread.Thread, error) {
	if isThread(line) {
		return parseThread(line)
	}
	e, err := event.Parse(line)
	if err != nil {
		return nil, err
	}
	if e.Deleted || e.Classification != "" && e.Classification != event.Actionable {
		return nil, nil
	}
	m := thread.From(e)
	m.Actionable = true
	return &thread.Thread{
		Key: e.Key(), Platform: e.Platform, ChatID: e.ChatID, ChatName: e.ChatName, ThreadID: e.Root(),
		OriginalMessageID: e.MessageID, OriginalSenderID: e.Sender.ID, OriginalSenderName: e.Sender.Name,
		QuestionType: thread.Other, Lang: e.Lang, Cycle: 1, InvestigatorRound: 1,
		Messages: []thread.Message{m},
	}, nil
}

// isThread reports whether a record is a thread rather than an event.
func isThread(line []byte) bool {
	kind := gjson.GetManyBytes(line, "messages", "status")
	return kind[0].IsArray() && kind[1].Str != ""
}

func parseThread(line []byte) (*thread.Thread, error) {
	t := new(thread.Thread)
	if err := json.Unmarshal(line, t); err != nil {
		return nil, err
	}
	if t.Platform == "" || t.ChatID == "" || t.ThreadID == "" {
		return nil, errors.New("thread: platform, chat_id or thread_id is missing")
	}
	// The key may become a folder name, so the record's own key is not used.
	t.Key = event.Key(t.Platform, t.ChatID, t.ThreadID)
	return t, nil
}
