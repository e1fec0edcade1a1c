package ndjson

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

type inner struct {
	Name  string   `json:"name"`
	Score *float64 `json:"score,omitempty"`
	Deep  *inner   `json:"deep"`
}

type base struct {
	ID   string `json:"id"`
	Many []inner
}

// every has a member of each kind that our records have.
type every struct {
	base
	Base
	Text     string           `json:"text"`
	Maybe    *string          `json:"maybe"`
	Yes      bool             `json:"yes"`
	N        int              `json:"n"`
	Long     int64            `json:"long,omitempty"`
	Small    int8             `json:"small"`
	Part     float64          `json:"part"`
	Words    []string         `json:"words"`
	Lists    [][]int          `json:"lists"`
	Some     []*inner         `json:"some"`
	Raw      json.RawMessage  `json:"raw"`
	MaybeRaw *json.RawMessage `json:"maybe_raw"`
	Any      any              `json:"any"`
	Map      map[string]inner `json:"map"`
	Number   json.Number      `json:"number"`
	Bytes    []byte           `json:"bytes"`
	When     time.Time        `json:"when"`
	Fixed    [2]string        `json:"fixed"`
	Quoted   struct{ A int }  `json:"quoted"`
	Hidden   string           `json:"-"`
	//lint:ignore U1000 it is not a member
	own    string
	Labels map[string]string `json:"labels"`
}

// Base has what every holds without a name of its own.
type Base struct {
	Seq  int64 `json:"seq"`
	Last inner `json:"last"`
}

// flat is without what only encoding/json can read: an embedded unexported struct.
type flat struct {
	Base
	Text  string          `json:"text"`
	Maybe *string         `json:"maybe"`
	Yes   bool            `json:"yes"`
	N     int             `json:"n"`
	Part  float64         `json:"part"`
	Words []string        `json:"words"`
	Some  []*inner        `json:"some"`
	Lists [][]int         `json:"lists"`
	Raw   json.RawMessage `json:"raw"`
	Any   any             `json:"any"`
	When  time.Time       `json:"when"`
	Plain struct {
		A, B int
	}
}

// twice is a name at two depths, which Go decides by rules of its own.
type twice struct {
	Base
	Seq string `json:"seq"`
}

var decoded = []string{
	`{}`,
	` { "text" : "a\n\u00e9\ud83d\ude00" , "maybe":"x","yes":true,"n":-3,"part":1e-3,"words":["a","\"","b"],"seq":7 } `,
	`{"maybe":null,"words":null,"some":null,"raw":null,"maybe_raw":null,"n":null,"text":null,"yes":null,"part":null,"last":null}`,
	`{"words":[],"lists":[[1,2],[],null],"some":[{"name":"a"},null,{"deep":{"deep":{"name":"z"}}}]}`,
	`{"raw": {"a" : [1, "]}"]} ,"any":{"x":[1,2]},"map":{"k":{"name":"v"}},"number":12e3,"bytes":"aGk=","when":"2026-03-01T10:00:00Z","fixed":["a","b"]}`,
	`{"TEXT":"other letters","Words":["x"]}`, `{"teXt":"a","text":"b"}`, `{"text":"b","TEXT":"a"}`,
	"{\"ma\u0079be\":\"x\",\"word\u017f\":[\"long s\"],\"unknown\":{\"text\":\"\\\\\"},\"u2\":[[]],\"u3\":-1.5e3,\"u4\":\"\\\"\"}",
	"{\t\"text\":\t\"a\",\r\n\"n\"\n:\r12\t}", `{"n":1234567890,"seq":-98,"long":9223372036854775807}`,
	`{"text":5,"n":6}`, `{"n":1.0}`, `{"n":1e2}`, `{"n":99999999999999999999}`, `{"part":1e999}`, `{"n":"1"}`,
	`{"yes":"true"}`, `{"yes":0}`,
	`{"words":{"a":1}}`, `{"words":["a",1]}`, `{"words":"a"}`, `{"some":[1]}`, `{"last":[]}`,
	`{"last":{"score":true}}`, `{"maybe":[]}`, `{"maybe":{}}`,
	`{"when":"yesterday"}`, `{"small":200}`, `{"small":-128}`, `{"Plain":{"a":1,"B":2}}`,
	`{"Hidden":"x","-":"y","own":"z"}`, `{"":1}`,
	`{"id":"x","Many":[{"name":"q"}],"last":{"name":"l","score":0.5}}`, `{"seq":"text"}`, `{"seq":4}`,
	`{"\u0074ext":"by escape"}`,
}

// both holds Decode against json.Unmarshal.
func both[T any](t *testing.T, line string) {
	t.Helper()
	var want, got T
	wantErr, gotErr := json.Unmarshal([]byte(line), &want), Unmarshal([]byte(line), &got)
	if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
		t.Errorf("%T of %s: %v, want %v", got, line, gotErr, wantErr)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%T of %s:\n%+v, want\n%+v", got, line, got, want)
	}
}

func bothOfAll(t *testing.T, line string) {
	t.Helper()
	both[every](t, line)
	both[flat](t, line)
	both[twice](t, line)
	both[inner](t, line)
	both[map[string]any](t, line)
	both[[]string](t, line)
}

func TestUnmarshal(t *testing.T) {
	for _, line := range decoded {
		if Check([]byte(line)) != nil && line[0] == '{' {
			t.Logf("no record: %s", line)
		}
		bothOfAll(t, line)
	}
	for _, line := range []string{`[`, `null`, `["a"]`, ``, `{"a":1,"a":2}`, `{"text":"a","text":"b"}`,
		"{\"text\":\"\xff\"}", `{"text":"\ud800"}`} {
		bothOfAll(t, line)
	}
	// existing values are kept, as by json.Unmarshal
	full := flat{Text: "old", Words: []string{"old", "older"}}
	if err := Unmarshal([]byte(`{"n":1,"words":["new"]}`), &full); err != nil || full.Text != "old" ||
		full.N != 1 || len(full.Words) != 1 {
		t.Errorf("%+v, %v", full, err)
	}
	if Unmarshal([]byte(`{}`), nil) == nil || Unmarshal([]byte(`{}`), flat{}) == nil {
		t.Error("took what is not a place")
	}
}

// TestUnmarshalIsOurs: the plain types are not left to json.Unmarshal, which would
// be right and slow.
func TestUnmarshalIsOurs(t *testing.T) {
	line := []byte(decoded[1])
	var a, b flat
	ours := testing.AllocsPerRun(20, func() { a = flat{}; _ = Decode(line, &a) })
	theirs := testing.AllocsPerRun(20, func() { b = flat{}; _ = json.Unmarshal(line, &b) })
	if ours >= theirs {
		t.Errorf("%v allocations, json.Unmarshal %v", ours, theirs)
	}
	d := decoder{b: line}
	if v := reflect.ValueOf(new(flat)).Elem(); !d.into(v, planOf(v.Type())) {
		t.Error("left to json.Unmarshal")
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, line := range decoded {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if Check([]byte(line)) == nil {
			bothOfAll(t, line)
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	line := []byte(`{"seq":15,"last":{"name":"l","score":0.5},"text":"what is a message of some length, with a few words in it?","maybe":"x","yes":true,"n":-3,"part":0.25,"words":["one","two","three"],"some":[{"name":"a","deep":null},{"name":"b","deep":{"name":"c"}}],"raw":{"a":[1,2,3]}}`)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			var v flat
			if err := Unmarshal(line, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			var v flat
			if err := json.Unmarshal(line, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestDecodeIntoWhatIsThere: anything but an empty struct is left to json.Unmarshal, to fill or to
// refuse.
func TestDecodeIntoWhatIsThere(t *testing.T) {
	line := []byte(`{"words":["a"],"some":[{"name":"x"}],"maybe":"y","n":5}`)
	full := func() *flat {
		old := "old"
		return &flat{Text: "kept", Maybe: &old, Words: []string{"b", "c"},
			Some: []*inner{{Name: "z", Score: new(1.5)}}}
	}
	want, got := full(), full()
	if err := json.Unmarshal(line, want); err != nil {
		t.Fatal(err)
	}
	if err := Decode(line, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, v := range []any{nil, (*flat)(nil), flat{}, 5} {
		if got, want := Decode(line, v), json.Unmarshal(line, v); got == nil ||
			fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("into %T: %v, want %v", v, got, want)
		}
	}
	number := 5
	if err := Decode([]byte("{}"), &number); err == nil {
		t.Error("an object is a number")
	}
}
