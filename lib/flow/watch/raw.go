package watch

import (
	"bytes"
	"encoding/json"
	"strconv"

	"tri/lib/base/ndjson"
)

// RawName is the log below the home of what the platforms said in their own form,
// a line each: whoever doubts an event can look what it was made of.
const RawName = "raw.ndjson"

// keepRaw makes the own records of items durable, before the items are, and has
// each item say where its record stands.
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

// rawLine is a record as a line: JSON as it stands but for its line ends, anything
// else as a JSON text. What is longer than a line may be is left out.
func rawLine(raw []byte) []byte {
	if len(raw) == 0 || len(raw) >= ndjson.MaxLine {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		b.Reset()
		text, err := json.Marshal(string(raw))
		if err != nil {
			panic(err) // a text can always be written
		}
		b.Write(text)
	}
	if b.Len() >= ndjson.MaxLine {
		return nil
	}
	b.WriteByte('\n')
	return b.Bytes()
}
