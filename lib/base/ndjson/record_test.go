package ndjson

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestSeq(t *testing.T) {
	for value, want := range map[string]int64{
		"": -1, "0": 0, "9": 9, "12": 12, "1048576": 1048576,
		"9007199254740992": 1 << 53, "9007199254740993": -1, "10000000000000000": -1,
		"18446744073709551617": -1, // 2^64+1, which an int64 takes for 1
		"-1":                   -1, "1.5": -1, "1e3": -1, `"1"`: -1, "1/": -1, "1:": -1, "null": -1,
	} {
		if got := Seq([]byte(value)); got != want {
			t.Errorf("Seq(%s) = %d, want %d", value, got, want)
		}
	}
}

func TestGet(t *testing.T) {
	var s Scanner
	if err := s.Scan([]byte(`{"a":1,"b":{"c":2}}`)); err != nil {
		t.Fatal(err)
	}
	r := Record{Members: s.Members}
	for key, want := range map[string]string{"a": "1", "b": `{"c":2}`, "c": "", "": ""} {
		if got := r.Get(key); string(got) != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
}

func TestMembersEnds(t *testing.T) {
	seen := 0
	count := func(_, _ []byte) error { seen++; return nil }
	if err := Members([]byte(`{"a":1,`), count); err == nil || seen != 0 {
		t.Errorf("of a broken line: %d members, %v", seen, err)
	}
	enough := errors.New("enough")
	if err := Members([]byte(`{"a":1,"b":2}`), func(_, _ []byte) error {
		seen++
		return enough
	}); err != enough || seen != 1 {
		t.Errorf("ended after %d with %v", seen, err)
	}
}

// TestScannerAgain: nothing of one line is left for the next, nor its memory for
// ever.
func TestScannerAgain(t *testing.T) {
	var s Scanner
	for range 3 {
		if err := s.Scan([]byte(`{"a":1,"b":`)); err == nil {
			t.Fatal("half a line was taken")
		}
		if err := s.Scan([]byte(`{"b":1,"c":[2],"d":{"b":3}}`)); err != nil || len(s.Members) != 3 ||
			string(s.Members[0].Key) != "b" {
			t.Fatalf("%v, %v", s.Members, err)
		}
		if m := s.Members[1]; m.Start != 7 || m.End != 14 {
			t.Errorf("c stands from %d to %d", m.Start, m.End)
		}
	}
	for range 100 {
		_ = s.Scan([]byte(`{"a":1,"b":`)) // the error is not the matter here
	}
	if len(s.names) > 2 {
		t.Errorf("%d names are kept", len(s.names))
	}
	var b strings.Builder
	for i := range 2 * manyMembers {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	for _, line := range []string{"{" + b.String()[1:] + "}", "{}"} {
		if err := s.Scan([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if cap(s.Members) > manyMembers {
		t.Errorf("room for %d members is kept", cap(s.Members))
	}
}

// TestScannedAgain: an object that was checked has the members that Scan finds, and
// the next line is checked as ever.
func TestScannedAgain(t *testing.T) {
	for _, line := range []string{`{}`, `{ "a" : 1 , "b\n":[{"c":2}] }`, `{"a":{"a":{"a":1}},"":"x"}`} {
		var first, again Scanner
		if err := first.Scan([]byte(line)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			again.Again([]byte(line))
			if !reflect.DeepEqual(first.Members, again.Members) && len(first.Members)+len(again.Members) > 0 {
				t.Errorf("%s: %v, want %v", line, again.Members, first.Members)
			}
		}
		if err := again.Scan([]byte(`{"a":1,"a":2}`)); err == nil {
			t.Error("a name stands twice")
		}
	}
}
