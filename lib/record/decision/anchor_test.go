package decision

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// anchoredLog is a log of five records: an offer, a yes, an undo and two more offers.
func anchoredLog(t *testing.T) *durable.Home {
	t.Helper()
	h := waitingHome(t)
	for _, r := range []Record{
		{Kind: Offer, Key: "k", Cycle: 1, Text: "x", DraftSHA256: Sum("x")},
		{Kind: Approve, By: "ana", Key: "k", Cycle: 1, Text: "x", DraftSHA256: Sum("x")},
		{Kind: Undo, By: "ana", Key: "k", Cycle: 1, DraftSHA256: Sum("x")},
		{Kind: Offer, Key: "l", Cycle: 1, Text: "y", DraftSHA256: Sum("y")},
		{Kind: Offer, Key: "m", Cycle: 1, Text: "z", DraftSHA256: Sum("z")},
	} {
		if _, err := Append(h, r); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// TestEndIsAnchored: a log whose end was cut or changed is refused by every reader and every
// append; one that is a single append ahead of its head is not.
func TestEndIsAnchored(t *testing.T) {
	lines := func(n int) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:n], nil) }
	}
	for _, tt := range []struct {
		name, file string
		change     func([]byte) []byte // nil: removed
		says       string              // "" where it is read
	}{
		{"as it is", LogName, func(b []byte) []byte { return b }, ""},
		{"last line cut", LogName, lines(4), "its end was cut off"},
		{"all but two cut", LogName, lines(2), "its end was cut off"},
		{"emptied", LogName, lines(0), "its end was cut off"},
		{"removed", LogName, nil, "its end was cut off"},
		{"torn in the last line", LogName, func(b []byte) []byte {
			return b[:len(b)-3]
		}, "its end was cut off"},
		{"last line changed", LogName, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"text":"z"`), []byte(`"text":"Z"`), 1)
		}, "not the record that was written"},
		{"torn behind the last line", LogName, func(b []byte) []byte { return append(b, `{"n":6`...) }, ""},
		{"head removed", HeadName, nil, ""},
		{"head emptied", HeadName, func([]byte) []byte { return nil }, "cannot be understood"},
		{"head changed", HeadName, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"n":5`), []byte(`"n":6`), 1)
		}, "not what was written"},
		{"head of more records", HeadName, func([]byte) []byte {
			return []byte(`{"n":6,"hash":"` + Sum("") + `"}`)
		}, "its end was cut off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := anchoredLog(t)
			b, err := h.ReadFile(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if tt.change == nil {
				err = h.Remove(tt.file)
			} else {
				err = h.Replace(tt.file, tt.change(b))
			}
			if err != nil {
				t.Fatal(err)
			}
			_, read := Read(h)
			_, append := Append(h, Record{Kind: Offer, Key: "n", Cycle: 1, Text: "n", DraftSHA256: Sum("n")})
			for what, err := range map[string]error{"read": read, "append": append} {
				status, _ := sysexit.Of(err)
				switch {
				case tt.says == "" && err != nil:
					t.Errorf("%s: %v", what, err)
				case tt.says != "" && (!errors.Is(err, ErrChain) || !strings.Contains(err.Error(), tt.says) ||
					status != sysexit.Data || len(sysexit.Hints(err)) == 0):
					t.Errorf("%s: status %d, %v", what, status, err)
				}
			}
		})
	}
}

// TestMarkAnchorsToo: without the head file, tri-dispatch's mark reveals a cut.
func TestMarkAnchorsToo(t *testing.T) {
	h := anchoredLog(t)
	b, err := h.ReadFile(LogName)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Remove(HeadName),
		h.Replace("dispatch.json", fmt.Appendf(nil, `{"seq":-1,"journal":0,"decisions":%d,"replies":0}`,
			len(b)))); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(h); err != nil {
		t.Error(err)
	}
	if err := h.Replace(LogName, b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(h); !errors.Is(err, ErrChain) ||
		!strings.Contains(err.Error(), "tri-dispatch had read") {
		t.Error(err)
	}
}

// TestKilledBetweenLogAndHead: a log that is ahead of its head is read, and the next
// append catches up.
func TestKilledBetweenLogAndHead(t *testing.T) {
	h := anchoredLog(t)
	before, err := h.ReadFile(HeadName)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Append(h, Record{Kind: Offer, Key: "n", Cycle: 1, Text: "n",
			DraftSHA256: Sum("n")}); err != nil {
			t.Fatal(err)
		}
		if err := h.Replace(HeadName, before); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(h); err != nil {
			t.Error(err)
		}
	}
}
