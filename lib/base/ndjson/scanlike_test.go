package ndjson

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// alike fails unless ScanLike says of a line what Scan says.
func alike(t *testing.T, line, other string) (n int) {
	t.Helper()
	var want, got, first Scanner
	if first.Scan([]byte(other)) != nil {
		return 0
	}
	wantErr := want.Scan([]byte(line))
	n, err := got.ScanLike([]byte(line), &first)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Errorf("%q like %q: %v, want %v", line, other, err, wantErr)
	}
	if err == nil && (len(got.Members) != len(want.Members) || len(got.Members) > 0 && !reflect.DeepEqual(got.Members, want.Members)) {
		t.Errorf("%q like %q: %v, want %v", line, other, got.Members, want.Members)
	}
	return n
}

func TestScanLike(t *testing.T) {
	const first = `{"seq":12,"a\"":"é","o":{"a":[1]}, "n" : 1e5 }`
	for _, tt := range []struct {
		line  string
		alike int
	}{
		{first, 4},
		{`{"seq":12,"a\"":"é","o":{"a":[1]}, "n" : 1e5,"more":true}`, 4},
		{`{"seq":12,"a\"":"é","o":{"a":[1]}, "n" : 1e55}`, 3},
		{`{"seq":123,"a\"":"é"}`, 0},
		{`{"seq":12,"a\"":"e"}`, 1},
		{`{"seq":12,"a\"":"é","o":{"a":[1]},"seq":1}`, 3}, // twice
		{`{"seq":12,"a\"":"é","a\u0022":1}`, 2},           // twice
		{`{"seq":12,"o":1,"o":2}`, 1},                     // twice
		{`{"seq":12,"a\"":"é","o":{"a":[1]}`, 2},
		{`{"seq":12,"x":"\xff"}`, 1},
		{"{\"seq\":12,\"x\":\"\xff\"}", 1},
		{`{"seq":12} `, 1},
		{`{"seq":12}}`, 1},
		{`{"seq":12`, 0},
		{` {"seq":12}`, 0},
		{``, 0},
		{`{}`, 0},
		{`{"seq":12,` + strings.Repeat(`"deep":[`, 1) + strings.Repeat("[", MaxDepth) + `}`, 1},
		{`{"seq":12,"x":"` + strings.Repeat("x", MaxLine) + `"}`, 0},
		{`{"seq":12,"x":"` + strings.Repeat("x", MaxLine-len(`{"seq":12,"x":""}`)) + `"}`, 1},
		{`["seq":12,"x":1}`, 0},
	} {
		if n := alike(t, tt.line, first); n != tt.alike {
			t.Errorf("%.60q: %d members alike, want %d", tt.line, n, tt.alike)
		}
	}
	alike(t, `{"a":1}`, `{}`)
}

// FuzzScanLike: what two lines share is shared, whatever stands behind it.
func FuzzScanLike(f *testing.F) {
	f.Add(`{"seq":12,"a":"x","o":{"a":[1]}}`, `{"seq":12,"a":"x","o":{"a":[1]},"b":2}`)
	f.Add(`{"a":1,"b":2}`, `{"a":1,"b":22,"b":3}`)
	f.Fuzz(func(t *testing.T, other, line string) {
		alike(t, line, other)
		for i := 0; i <= len(other); i += 1 + len(other)/8 {
			alike(t, other[:i]+line, other)
		}
	})
}
