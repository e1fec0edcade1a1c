package durable

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"tri/lib/base/sysexit"
)

// A sealed file is a JSON object whose last member is "crc32c": the CRC-32C, in hexadecimal, of
// the bytes before that member's comma. A file without it was written by an earlier version.
const (
	sealHead = `,"crc32c":"`
	sealTail = "\"}\n"
	sealSize = len(sealHead) + 8 + len(sealTail)
)

// seal adds the last member to a JSON object that has others. Any other text stays as it is.
func seal(object []byte) []byte {
	body, whole := bytes.CutSuffix(bytes.TrimRight(object, "\n"), []byte("}"))
	body = bytes.TrimRight(body, "\n")
	if !whole || !bytes.HasPrefix(body, []byte("{")) || len(body) == 1 {
		return object
	}
	return append(bytes.Clone(body), sealOf(body)...)
}

func sealOf(body []byte) []byte {
	return fmt.Appendf(nil, "%s%08x%s", sealHead, crc32.Checksum(body, castagnoli), sealTail)
}

// Sealed reports whether a file is sealed, and ErrChanged if it is not as it was sealed.
func Sealed(file []byte) (bool, error) {
	n := len(file) - sealSize
	if n < 0 {
		return false, nil
	}
	seal, want := file[n:], sealOf(file[:n])
	same := 0
	for i := range want {
		if seal[i] == want[i] && (i < len(sealHead) || i >= len(sealHead)+8) {
			same++
		}
	}
	if same < sealSize-8-2 { // not even a damaged one
		return false, nil
	}
	if !bytes.Equal(seal, want) {
		return true, ErrChanged
	}
	return true, nil
}

// ReplaceSealed is Replace for a JSON object, which it seals.
func (h *Home) ReplaceSealed(name string, object []byte) error { return h.Replace(name, seal(object)) }

// ReadSealed returns the object of a file of ReplaceSealed, and refuses a file that has changed.
func (h *Home) ReadSealed(name string) ([]byte, error) {
	b, err := h.ReadFile(name)
	if err != nil {
		return nil, err
	}
	sealed, err := Sealed(b)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.Data, "read %q: %w", name, err)
	}
	if sealed {
		b = append(b[:len(b)-sealSize], '}')
	}
	return b, nil
}
