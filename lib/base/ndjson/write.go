package ndjson

import (
	"encoding/json"
	"io"

	"tri/lib/base/sysexit"
)

// Write writes records as lines of JSON, in one write each. '<', '>' and '&' are not escaped.
func Write[T any](w io.Writer, records ...T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		if err := enc.Encode(r); err != nil {
			return sysexit.Errorf(sysexit.IO, "write records: %w", err)
		}
	}
	return nil
}
