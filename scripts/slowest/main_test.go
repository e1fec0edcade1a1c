package main

import (
	"strings"
	"testing"
)

func TestSummarize(t *testing.T) {
	in := `go vet ./...
{"Action":"start","Package":"a"}
{"Action":"output","Package":"a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":2.5}
{"Action":"output","Package":"a","Test":"TestBad","Output":"it broke\n"}
{"Action":"fail","Package":"a","Test":"TestBad","Elapsed":0.1}
{"Action":"output","Package":"a","Output":"FAIL\ta\t3s\n"}
{"Action":"fail","Package":"a","Elapsed":3}
{"ImportPath":"c","Action":"build-output","Output":"c.go:1: syntax error\n"}
{"Action":"output","Package":"b","Test":"TestHangs","Output":"=== RUN TestHangs\n"}
{"Action":"output","Package":"b","Output":"PASS\n"}
{"Action":"output","Package":"b","Output":"ok  \tb\t9s\n"}
{"Action":"pass","Package":"b","Elapsed":9}
make: *** [check] Error 1`
	want := `go vet ./...
it broke
FAIL	a	3s
c.go:1: syntax error
ok  	b	9s
make: *** [check] Error 1=== RUN TestHangs

the slowest packages, in seconds:
     9.0  b
     3.0  a

the slowest tests, in seconds:
     2.5  a TestGood
     0.1  a TestBad
`
	var out strings.Builder
	if err := summarize(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestLimit(t *testing.T) {
	var out strings.Builder
	in := strings.Repeat(`{"Action":"pass","Package":"p","Elapsed":1}`+"\n", shown+5)
	if err := summarize(strings.NewReader(in), &out); err != nil ||
		strings.Count(out.String(), "  p\n") != shown {
		t.Errorf("%v\n%s", err, out.String())
	}
}
