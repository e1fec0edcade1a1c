package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
)

// A filter that keeps the original bytes of the records that it passes on.
func ExampleRun() {
	in := stream.Input{After: -1, Stdin: strings.NewReader(`{"lang":"en","content":"why?"}
{"lang":"de","content":"warum?"}
no record
`), Say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	stage := stream.Stage[[]byte]{
		Prepare: func(rec ndjson.Record, line *[]byte) error {
			*line = nil
			if string(rec.Get("lang")) == `"de"` {
				*line = rec.Bytes
			}
			return nil
		},
		Emit: func(dst []byte, line *[]byte) ([]byte, error) {
			if *line == nil {
				return dst, nil
			}
			return append(append(dst, *line...), '\n'), nil
		},
	}
	var out bytes.Buffer
	_, err := stream.Run(context.Background(), in, stream.Output{Stdout: &out}, stage)
	fmt.Print(out.String(), err, "\n")
	// Output:
	// stdin:3: invalid JSON at byte 0: unexpected 'n' where a value belongs
	// {"lang":"de","content":"warum?"}
	// 1 record refused
}

// A stage may hold records back: this one until the same person speaks again. Each
// line says up to which seq all is out ("low"), so a restart behind it loses nothing.
func ExampleRun_holding() {
	held := map[string]ndjson.Record{} // by person
	var due []byte
	stage := stream.Stage[ndjson.Record]{
		Prepare: func(rec ndjson.Record, r *ndjson.Record) error {
			*r = rec
			r.Members = slices.Clone(rec.Members)
			return nil
		},
		Emit: func(dst []byte, r *ndjson.Record) ([]byte, error) {
			who := string(r.Get("who"))
			if first, ok := held[who]; ok {
				due = fmt.Appendf(due, "%s\n%s\n", first.Bytes, r.Bytes)
				delete(held, who)
			} else {
				held[who] = ndjson.Record{Seq: r.Seq, Bytes: bytes.Clone(r.Bytes)}
			}
			return dst, nil
		},
		Flush: func(dst []byte, _ time.Time, all bool) ([]byte, int64, time.Time) {
			lowest := int64(-1)
			for _, r := range held {
				if lowest < 0 || r.Seq < lowest {
					lowest = r.Seq
				}
			}
			dst, due = append(dst, due...), nil
			return dst, lowest, time.Time{}
		},
		Hold: 1 << 20,
	}
	in := strings.NewReader(`{"seq":1,"who":"A"}
{"seq":2,"who":"B"}
{"seq":3,"who":"B"}
{"seq":4,"who":"A"}
`)
	_, err := stream.Run(context.Background(), stream.Input{Stdin: in, After: -1},
		stream.Output{Stdout: os.Stdout}, stage)
	fmt.Println(err)
	// Output:
	// {"seq":2,"who":"B","low":-1}
	// {"seq":3,"who":"B","low":-1}
	// {"seq":1,"who":"A","low":-1}
	// {"seq":4,"who":"A","low":4}
	// <nil>
}

// Each reads the records of a log, here those after one that was read before.
func ExampleEach() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "events.ndjson")
	_ = os.WriteFile(log, []byte("{\"seq\":0,\"content\":\"one\"}\n{\"seq\":26,\"content\":\"two\"}\n"),
		0o600)
	stats, err := stream.Each(context.Background(), stream.Input{Files: []string{log}, After: 0},
		func(rec ndjson.Record) error {
			fmt.Printf("line %d: %s\n", rec.Line, rec.Bytes)
			return nil
		})
	fmt.Println(stats.Records, err)
	// Output:
	// line 2: {"seq":26,"content":"two"}
	// 1 <nil>
}
