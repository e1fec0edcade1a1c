package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"tri/lib/record/decision"
	"tri/lib/record/outbox"
	"tri/lib/record/thread"
)

// write makes the home. Nothing is synced: it can be made again.
func (t *team) write(home string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for _, log := range []struct {
		name string
		fill func(*sheet) error
	}{
		{"events.ndjson", t.writeEvents}, // first: it stamps the offsets
		{"events-classified.ndjson", func(s *sheet) error { return each(s, t.events) }},
		{decision.LogName, t.writeWords}, // before the journal, which repeats their numbers
		{"replies.ndjson", func(s *sheet) error { return each(s, t.replies) }},
		{"spend.ndjson", func(s *sheet) error { return each(s, t.spend) }},
		{"dispatch.ndjson", func(s *sheet) error { return each(s, t.journal) }},
	} {
		if err := fill(filepath.Join(home, log.name), log.fill); err != nil {
			return err
		}
	}
	for name, with := range t.records() {
		if err := fill(filepath.Join(home, name), with); err != nil {
			return err
		}
	}
	files := map[string]any{}
	t.long(files)
	if err := t.fold(files); err != nil {
		return err
	}
	for _, p := range t.posts {
		files[filepath.Join(outbox.Done, p.ID+".json")] = p
	}
	files["dispatch.json"] = map[string]int64{"seq": math.MaxInt32, "journal": 0, "decisions": 0,
		"replies": 0}
	for name, v := range files {
		if err := put(filepath.Join(home, name), v); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(home, "config.yaml"), []byte(settings), 0o600)
}

const settings = `team: {approvers: [ana, ben]}
classifier: {bot_id: BTRI}
budget: {investigations_per_day: 200}
gate: {chat: {platform: slack, chat_id: C0OPERATORS}}
auto_reply:
  hours: Mon-Fri 09:00-17:00
  production: [{name: rollouts, when: "(?i)rollout"}]
`

// fold makes the threads that the journal tells of.
func (t *team) fold(files map[string]any) error {
	threads := map[string]thread.Thread{}
	for _, in := range t.journal {
		threads[in.Key], _ = thread.Apply(threads[in.Key], *in)
	}
	for key, th := range threads {
		path := thread.OpenPath(key)
		if th.Status == thread.Closed {
			path = thread.ClosedPath(key)
		}
		b, err := th.Marshal()
		if err != nil {
			return err
		}
		files[path] = b
	}
	return nil
}

func put(name string, v any) error {
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.MarshalIndent(v, "", "  "); err != nil {
			return err
		}
		b = append(b, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o600)
}

// sheet is a log that is being written.
type sheet struct {
	*bufio.Writer
	off  int64
	last []byte
}

// line writes v as our programs do.
func (s *sheet) line(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	s.off += int64(b.Len())
	s.last = b.Bytes()[:b.Len()-1]
	_, err := s.Write(b.Bytes())
	return err
}

func fill(name string, with func(*sheet) error) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s := &sheet{Writer: bufio.NewWriterSize(f, 1<<20)}
	if err := errors.Join(with(s), s.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func each[T any](s *sheet, all []T) error {
	for _, v := range all {
		if err := s.line(v); err != nil {
			return err
		}
	}
	return nil
}

// writeEvents stamps where each line stands.
func (t *team) writeEvents(s *sheet) error {
	for _, e := range t.events {
		e.Seq = new(s.off)
		if err := s.line(&e.Event); err != nil {
			return err
		}
	}
	return nil
}

// writeWords chains the decisions.
func (t *team) writeWords(s *sheet) error {
	for i, r := range t.words {
		r.N, r.Prev = int64(i+1), ""
		if i > 0 {
			r.Prev = decision.Sum(string(s.last))
		}
		if err := s.line(r); err != nil {
			return err
		}
	}
	return nil
}
