package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxTries bounds the braces that do not open an object.
const maxTries = 2000

// Object returns the one JSON object in an agent's text, compacted. Text around it is ignored. Two
// objects, a truncated one or none are an error: choosing one would be guessing.
func Object(text []byte) ([]byte, error) {
	var found []byte
	// budget and maxTries bound the scan, so that neither deep nesting nor many braces cost more
	// than a few times the size of the text.
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
			return nil, errors.New("half a JSON object was returned: it is cut off")
		}
		if err != nil {
			budget -= faultAt(err) + 1
			rest = rest[1:]
		} else {
			if found != nil {
				return nil, errors.New("more than one JSON object was returned")
			}
			found = value
			rest = rest[dec.InputOffset():]
		}
		if budget < 0 || tries > maxTries {
			return nil, errors.New("no JSON object can be separated from the text around it")
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no JSON object was returned: %q", clip(text))
	}
	var out bytes.Buffer
	if err := json.Compact(&out, found); err != nil {
		return nil, fmt.Errorf("compact what came back: %w", err)
	}
	return out.Bytes(), nil
}

// faultAt returns the offset at which the decoder failed.
func faultAt(err error) int {
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return int(se.Offset)
	}
	return 0
}

func clip(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[:min(len(text), 200)]
}
