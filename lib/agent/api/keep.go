package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// sessionFile is the file, in the run's folder, with the conversation so far.
const sessionFile = "session.json"

// maxKept is the maximum size of a session file, in bytes.
const maxKept = 64 << 20

type memory struct {
	ID       string    `json:"id"`
	Messages []message `json:"messages"`
}

// kept is the persistent state of a run: its session, and a transcript of all messages. Without a
// run folder nothing is written.
type kept struct {
	dir        string
	transcript *os.File
	err        error // the transcript's first error
}

// resume opens the state, and reads the session if the task resumes one.
func resume(t agent.Task) ([]message, *kept, error) {
	k := &kept{dir: t.Dir}
	var s memory
	dir := t.Dir
	if t.Fork {
		if t.From == nil || t.Dir == "" {
			return nil, k, sysexit.With(sysexit.Unavailable, agent.ErrNoResume)
		}
		dir = t.Origin()
		t.Resume, t.SessionID = true, t.From.SessionID
	}
	if t.Resume {
		text, err := durable.ReadPath(filepath.Join(dir, sessionFile))
		if t.Dir == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, k, sysexit.With(sysexit.Unavailable, agent.ErrNoResume)
		}
		if err == nil && len(text) > maxKept {
			err = fmt.Errorf("more than %d bytes", maxKept)
		}
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			return nil, k, sysexit.Errorf(sysexit.IO, "read session: %w", err)
		}
		if s.ID != t.SessionID {
			return nil, k, sysexit.Errorf(sysexit.Unavailable, "session %q is not there: %w", t.SessionID,
				agent.ErrNoResume)
		}
	}
	if t.Dir == "" {
		return s.Messages, k, nil
	}
	f, err := os.OpenFile(filepath.Join(t.Dir, "transcript.ndjson"),
		os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, k, sysexit.Errorf(sysexit.IO, "keep transcript: %w", err)
	}
	k.transcript = f
	return s.Messages, k, nil
}

// note appends a message to the transcript.
func (k *kept) note(m message) {
	if k.transcript == nil || k.err != nil {
		return
	}
	line, err := json.Marshal(m)
	if err == nil {
		_, err = k.transcript.Write(append(line, '\n'))
	}
	k.err = err
}

// save durably replaces the session file. It is called only where the next run could continue: never
// between a tool call and its result.
func (k *kept) save(id string, messages []message) error {
	if k.dir == "" {
		return nil
	}
	text, err := json.Marshal(memory{id, messages})
	if err != nil {
		return sysexit.Errorf(sysexit.Software, "keep session: %w", err)
	}
	h, err := durable.Open(k.dir)
	if err == nil {
		err = errors.Join(h.Replace(sessionFile, text), h.Close())
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "keep session: %w", err)
	}
	return nil
}

func (k *kept) close() error {
	if k.transcript == nil {
		return nil
	}
	if err := errors.Join(k.err, k.transcript.Close()); err != nil {
		return sysexit.Errorf(sysexit.IO, "keep transcript: %w", err)
	}
	return nil
}
