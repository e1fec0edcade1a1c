package report

import (
	"bytes"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/text"
	"tri/lib/record/event"
)

// The logs of a home, each written by one stage.
const (
	eventsLog     = "events.ndjson"
	classifiedLog = "events-classified.ndjson"
	dispatchLog   = "dispatch.ndjson"
	repliesLog    = "replies.ndjson"
	spendLog      = "spend.ndjson"
)

// Printer is a report as text for people.
type Printer interface{ Print(io.Writer) error }

// WriteJSON writes a report for programs: as several records if it has a method for that, else as one.
func WriteJSON(w io.Writer, p Printer) error {
	if several, ok := p.(interface{ WriteJSON(io.Writer) error }); ok {
		return several.WriteJSON(w)
	}
	return ndjson.Write(w, p)
}

// Home opens an existing home for reading, with its configuration or that of a file. It does not
// create a home.
func Home(dir, file string) (*durable.Home, *config.Config, error) {
	h, err := durable.OpenHome(dir)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := config.ForHome(h.Dir(), file)
	return h, cfg, err
}

// scan calls fn for each complete line of a log, from an offset on, that contains needle; nil
// matches all lines. fn parses the line: searching the raw bytes first keeps the scan of a 100 MB
// log to a fraction of a second.
func scan(h *durable.Home, name string, from int64, needle []byte, fn func(line []byte) error) error {
	return h.Lines(name, from, func(line []byte) error {
		if needle != nil && !bytes.Contains(line, needle) {
			return nil
		}
		return fn(line)
	})
}

// quoted returns a text as it is encoded in lines of the logs.
func quoted(s string) []byte { return ndjson.AppendString(nil, s) }

// classified returns when an event was classified, and whether it is actionable. Both fields follow
// the content, which may be long, so the line is scanned once.
func classified(line []byte) (at time.Time, asks bool) {
	gjson.ParseBytes(line).ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "classification":
			asks = value.Str == event.Actionable
		case "classified_at":
			at = text.ParseTime(value.Str)
		}
		return true
	})
	return at, asks
}
