package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// File is the log of scores in the home, one line per score.
const File = "drills.ndjson"

// Stamp sets the time and the version of s.
func (s *Score) Stamp(version string, now time.Time) {
	s.At, s.Version = text.Timestamp(now), version
}

// Keep appends s to the log in the home dir, durably; "" means the default home if it exists: a
// score does not create one.
func (s *Score) Keep(dir string) error {
	if _, err := os.Stat(durable.DefaultDir()); dir == "" && err != nil {
		return nil
	}
	h, err := durable.Open(dir)
	if err != nil {
		return err
	}
	defer h.Close()
	line, err := json.Marshal(s)
	if err != nil {
		return sysexit.With(sysexit.Software, fmt.Errorf("write score: %w", err))
	}
	log, err := h.OpenLog(File)
	if err != nil {
		return err
	}
	if _, err := log.Append(func(int64) ([]byte, error) { return append(line, '\n'), nil }); err != nil {
		_ = log.Close() // the earlier error is returned
		return err
	}
	return log.Close()
}
