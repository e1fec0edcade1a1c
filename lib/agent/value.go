package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxTries is how many braces may open no object.
const maxTries = 2000

// Object finds the one JSON object in an agent's words, compacted. Words around
// it are passed over; two objects, half a one or none are an error, since to
// choose would be to guess.
func Object(text []byte) ([]byte, error) {
	var found []byte
	// What may be scanned, and how often it may be tried, so that no nesting and no
	// number of braces costs more than a few times the text.
	budget := 4*len(text) + 1<<10
	for rest, tries := text, 0; ; tries++ {
		i := bytes.IndexByte(rest, '{')
		if i < 0 {
			break
		}
		rest = rest[i:]
		var value json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(rest))
		err := dec.Decode(&value)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("half a JSON object came back: it is cut off")
		}
		if err != nil {
			budget -= faultAt(err) + 1
			rest = rest[1:]
		} else {
			if found != nil {
				return nil, errors.New("more than one JSON object came back")
			}
			found = value
			rest = rest[dec.InputOffset():]
		}
		if budget < 0 || tries > maxTries {
			return nil, errors.New("no JSON object can be told from the words around it")
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no JSON object came back: %q", clip(text))
	}
	var out bytes.Buffer
	if err := json.Compact(&out, found); err != nil {
		return nil, fmt.Errorf("compact what came back: %w", err)
	}
	return out.Bytes(), nil
}

// faultAt is how far a decoder got.
func faultAt(err error) int {
	if se := new(json.SyntaxError); errors.As(err, &se) {
		return int(se.Offset)
	}
	return 0
}

func clip(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[:min(len(text), 200)]
}
