package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/draft"
	"tri/lib/record/verdict"
)

// Stage reads returns and writes verdicts.
type Stage struct {
	*Validator
	Codebase string
	Keep     string        // folder for prompts and transcripts; "": not kept
	Cap      time.Duration // of one run of the agent; 0: none
	UUID     func() string // returns the session id of each run
	Out      io.Writer
	Say      func(format string, args ...any)
}

// judged is a record that the stage writes: the verdict and the return that it judges. key and message_id
// are copied from the return, if present.
type judged struct {
	Key       string `json:"key,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	*verdict.Verdict
	others []Other // conclusions of other open threads, if the record has them
	qtype  string  // the question's type, if the record has it
}

// Each judges each return. A record that is not a return is refused; a return with invalid fields gets a
// verdict. If not all passed, the error carries sysexit.No and a reason of the first that did not, unless
// records were refused.
func (s *Stage) Each(ctx context.Context, in stream.Input) error {
	bad, first := 0, ""
	stats, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		v, err := s.one(ctx, rec)
		if err == nil && v.Verdict != verdict.Pass {
			if bad++; bad == 1 {
				first = text.Line(v.Verdict+": "+strings.Join(v.Reasons[:min(1, len(v.Reasons))], ""), 300)
			}
		}
		return err
	})
	if err == nil && bad > 0 {
		sep := "; the first: "
		if stats.Records == 1 {
			sep = ": "
		}
		err = sysexit.With(sysexit.No, fmt.Errorf("%d of %d did not pass%s%s", bad, stats.Records, sep, first))
	}
	return err
}

func (s *Stage) one(ctx context.Context, rec ndjson.Record) (*verdict.Verdict, error) {
	ret, id, err := parse(rec.Bytes)
	if err != nil {
		return nil, stream.Refuse("%w", err)
	}
	dir, remove, err := s.runDir(rec)
	if err != nil {
		return nil, err
	}
	defer remove()
	if s.Cap > 0 {
		var stop context.CancelFunc
		ctx, stop = agent.WithLimit(ctx, s.Cap)
		defer stop()
	}
	v, err := s.Run(ctx, Request{Return: ret, Codebase: s.Codebase, RunDir: dir, SessionID: s.UUID(),
		Others: id.others, QuestionType: id.qtype, Key: id.Key})
	if err != nil {
		return nil, err
	}
	id.Verdict = v
	return v, ndjson.Write(s.Out, id)
}

// runDir returns a folder for the second agent's run; none is needed without an agent.
func (s *Stage) runDir(rec ndjson.Record) (dir string, remove func(), err error) {
	nothing := func() {}
	switch {
	case s.Agent == nil:
		return "", nothing, nil
	case s.Keep == "":
		if dir, err = os.MkdirTemp("", "tri-validate-"); err == nil {
			return dir, func() { _ = os.RemoveAll(dir) }, nil // at worst temporary files remain
		}
	default:
		dir = filepath.Join(s.Keep, fmt.Sprintf("validate-%d", rec.Line))
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", nothing, sysexit.With(sysexit.IO, fmt.Errorf("make run folder: %w", err))
	}
	return dir, nothing, nil
}

// parse reads a return from a line. A record with neither a draft nor references is refused.
func parse(line []byte) (*draft.Return, judged, error) {
	var kind struct {
		Draft     *json.RawMessage `json:"draft_reply"`
		Refs      *json.RawMessage `json:"evidence_refs"`
		Key       string           `json:"key"`
		MessageID string           `json:"message_id"`
		Others    []Other          `json:"others"`
		Type      string           `json:"question_type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, judged{}, err
	}
	var lacks []string
	if kind.Draft == nil {
		lacks = append(lacks, "draft_reply")
	}
	if kind.Refs == nil {
		lacks = append(lacks, "evidence_refs")
	}
	if len(lacks) > 0 {
		return nil, judged{}, fmt.Errorf("is not a return: it has no %s", strings.Join(lacks, " and no "))
	}
	ret := new(draft.Return)
	if err := json.Unmarshal(line, ret); err != nil {
		return nil, judged{}, err
	}
	return ret, judged{Key: kind.Key, MessageID: kind.MessageID, others: kind.Others, qtype: kind.Type}, nil
}
