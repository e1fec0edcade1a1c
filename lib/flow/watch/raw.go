package watch

import (
	"bytes"
	"encoding/json"
	"strconv"

	"tri/lib/base/ndjson"
)

// RawName is the log in the home of the platforms' own records, a line each, so that an event can be
// compared with its source.
const RawName = "raw.ndjson"

// keepRaw makes the platform's records of items durable, before the items themselves, and adds to each
// item the offset of its record.
func (l *log) keepRaw(items []Item) error {
	if l.raw == nil {
		return nil
	}
	at := make([]int64, len(items))
	_, err := l.raw.Append(func(end int64) ([]byte, error) {
		var lines []byte
		for i := range items {
			at[i] = -1
			line := rawLine(items[i].Raw)
			if line == nil {
				continue
			}
			at[i] = end + int64(len(lines))
			lines = append(lines, line...)
		}
		return lines, nil
	})
	if err != nil {
		return err
	}
	for i := range items {
		if at[i] < 0 {
			continue
		}
		ref := strconv.AppendInt([]byte(`,"raw_ref":"`+RawName+`:`), at[i], 10)
		if len(items[i].Body)+len(ref)+2 > maxBody {
			continue
		}
		body := items[i].Body[:len(items[i].Body)-1]
		items[i].Body = append(append(body[:len(body):len(body)], ref...), `"}`...)
	}
	return nil
}

func (l *log) closeRaw() error {
	if l.raw == nil {
		return nil
	}
	return l.raw.Close()
}

// rawLine returns a record as a line: JSON unchanged except for white space, anything else as a JSON
// string. A record too long for a line is left out.
func rawLine(raw []byte) []byte {
	if len(raw) == 0 || len(raw) >= ndjson.MaxLine {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		b.Reset()
		text, err := json.Marshal(string(raw))
		if err != nil {
			panic(err) // a string always marshals
		}
		b.Write(text)
	}
	if b.Len() >= ndjson.MaxLine {
		return nil
	}
	b.WriteByte('\n')
	return b.Bytes()
}
