package durable

import (
	"bytes"
	"encoding/json"
	"testing"

	"tri/lib/base/sysexit"
)

// TestSeal: a sealed file is JSON, comes back as it was given, and no changed byte of it is missed.
func TestSeal(t *testing.T) {
	h := home(t)
	for _, object := range []string{`{"n":1}`, "{\n  \"s\": \"}\",\n  \"o\": {}\n}\n", "{}"} {
		if err := h.ReplaceSealed("f.json", []byte(object)); err != nil {
			t.Fatal(err)
		}
		got, err := h.ReadSealed("f.json")
		var a, b any
		if err == nil {
			err = json.Unmarshal(got, &a)
		}
		if err != nil || json.Unmarshal([]byte(object), &b) != nil ||
			len(a.(map[string]any)) != len(b.(map[string]any)) {
			t.Errorf("%s: %s, %v", object, got, err)
		}
		file, err := h.ReadFile("f.json")
		if err != nil || !json.Valid(file) {
			t.Errorf("%s is not JSON: %v", file, err)
		}
		if object == "{}" {
			continue
		}
		for i := range file {
			for x := 1; x < 256; x++ {
				b := bytes.Clone(file)
				b[i] ^= byte(x)
				if _, err := Sealed(b); err == nil {
					t.Errorf("%s: byte %d ^ %x is not found", file, i, x)
				}
			}
		}
		file[1] ^= 1
		put(t, h, "f.json", string(file))
		_, err = h.ReadSealed("f.json")
		status(t, "changed", err, sysexit.Data)
	}
	for _, old := range []string{"", "{}", `{"n":1}`, `{"a":"x","sum":"0123456789abcdef"}` + "\n"} {
		if sealed, err := Sealed([]byte(old)); sealed || err != nil {
			t.Errorf("%q, without a seal: %v, %v", old, sealed, err)
		}
	}
}
