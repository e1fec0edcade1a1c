package demo

import (
	"bytes"
	"os"
	"time"

	"tri/lib/base/term"
)

// counts shows how often p.ends occurs in the file that p writes, until done is called.
func (d *demo) counts(p pipe) (done func()) {
	shown := term.NewProgress(d.Err, nil, p.what)
	if shown == nil || p.ends == "" {
		return func() {}
	}
	shown.Of(int64(p.most), 0)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer shown.Done()
		have := int64(0)
		for more := true; more; {
			select {
			case <-stop:
				more = false
			case <-time.After(time.Second / 4):
			}
			text, _ := os.ReadFile(p.into) // that it cannot be read is said by whoever needs it
			n := int64(bytes.Count(text, []byte(p.ends)))
			shown.Add(n-have, n-have)
			have = n
		}
	}()
	return func() { close(stop); <-ended }
}
