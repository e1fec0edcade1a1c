package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// File is the validator's record: a line for each score, in the home.
const File = "drills.ndjson"

// Stamp says when s was made, and by which version.
func (s *Score) Stamp(version string, now time.Time) {
	s.At, s.Version = now.UTC().Format(time.RFC3339Nano), version
}

// Keep appends s to the record of the home dir, durably; "" is the default home
// where that is there already: a score makes none.
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
		_ = log.Close() // the error above is the one to tell
		return err
	}
	return log.Close()
}
