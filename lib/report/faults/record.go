package faults

import (
	"os"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/text"
)

// File is the log of scores in the home, one line per score.
const File = "drills.ndjson"

// Stamp sets the time and the version of s.
func (s *Score) Stamp(version string, now time.Time) {
	s.At, s.Version = text.Timestamp(now), version
}

// Keep appends s to the log in the home dir, durably; "" means the default home if it exists: a
// score does not create one. The log is of the whole validator: a score of its second agent alone is
// not kept.
func (s *Score) Keep(dir string) error {
	if s.Alone {
		return nil
	}
	if _, err := os.Stat(durable.DefaultDir()); dir == "" && err != nil {
		return nil
	}
	h, err := durable.Open(dir)
	if err != nil {
		return err
	}
	defer h.Close()
	return durable.Append(h, File, s)
}
