package ndjson

import (
	"fmt"
	"testing"
)

func TestStrings(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`: `[] true`, ` [`: `[] false`, `["a"]`: `["a"] true`, `[ "a" , "b\"]\\" , "" ]`: `["a" "b\"]\\" ""] true`,
		`["é\u00e9\n"]`: `["éé\n"] true`, `["1","2","3","4"]`: `["1" "2" "3"] true`, `[1]`: `[] false`, `["a",["b"]]`: `["a"] false`, `null`: `[] false`, `"x"`: `[] false`,
	} {
		got, ok := FirstStrings(nil, []byte(raw), 3)
		if s := fmt.Sprintf("%q %v", got, ok); s != want {
			t.Errorf("%s: %s, want %s", raw, s, want)
		}
	}
}
