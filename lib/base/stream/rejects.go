package stream

import (
	"bytes"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"tri/lib/base/durable"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/ndjson"
	"tri/lib/base/text"
)

// rejects reports refused records and saves them.
type rejects struct {
	say   func(string, ...any)
	log   *durable.Log
	dirty bool
	kinds map[string]int64 // refusals so far
	shown int64            // refusals of one kind that are reported one by one
}

const (
	maxShown = 10 // refusals of one kind that are reported one by one
	maxKinds = 100
)

func openRejects(in Input) (*rejects, error) {
	r := &rejects{say: in.Say, kinds: map[string]int64{}, shown: maxShown}
	if r.say == nil {
		r.say = func(string, ...any) {}
	}
	if in.Rejects == "" {
		return r, nil
	}
	var err error
	r.log, err = durable.OpenLogFile(in.Rejects)
	return r, err
}

// add saves one record, as {"source","line","offset","reason","text"}. Of an over-long line text
// is only the head; if text is not UTF-8, "base64" has the bytes.
func (r *rejects) add(line *ndjson.Line, reason error) error {
	r.tell(line, reason)
	if r.log == nil {
		return nil
	}
	b := ndjson.AppendString([]byte(`{"source":`), line.Source)
	b = strconv.AppendInt(append(b, `,"line":`...), line.Line, 10)
	b = strconv.AppendInt(append(b, `,"offset":`...), line.Offset, 10)
	b = ndjson.AppendString(append(b, `,"reason":`...), reason.Error())
	b = ndjson.AppendString(append(b, `,"text":`...), string(line.Bytes))
	if !utf8.Valid(line.Bytes) {
		b = append(b, `,"base64":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, line.Bytes), '"')
	}
	b = append(b, "}\n"...)
	r.dirty = true
	_, err := r.log.Write(func(int64) ([]byte, error) { return b, nil })
	return err
}

// tell reports a refusal: the first ten of a kind, then those whose number is a power of ten. Of
// input of another form, it reports what to do about it, and the first refusal.
func (r *rejects) tell(line *ndjson.Line, reason error) {
	if line.Line == 1 {
		if form := formOf(line.Bytes); form != "" {
			r.say("%s: %s", line.Source, form)
			r.shown = 1
		}
	}
	kind := kindOf(reason)
	if _, known := r.kinds[kind]; !known && len(r.kinds) >= maxKinds {
		kind = "refused for other reasons"
	}
	r.kinds[kind]++
	n := r.kinds[kind]
	switch {
	case n <= r.shown:
		r.say("%s:%d: %v", line.Source, line.Line, reason)
	case powerOfTen(n) && n > maxShown:
		r.say("%s:%d: %v (%d of this kind so far)", line.Source, line.Line, reason, n)
	}
}

func powerOfTen(n int64) bool {
	for n%10 == 0 && n > 0 {
		n /= 10
	}
	return n == 1
}

var details = lazyregexp.New(`"[^"]*"|'[^']*'|[0-9]+`)

// kindOf is a reason without the words and numbers of its record.
func kindOf(reason error) string {
	return text.CutBytes(details.ReplaceAllString(reason.Error(), "…"), 200)
}

var (
	opens  = lazyregexp.New(`^\s*[{\[]\s*$`)
	header = lazyregexp.New(`^"?[\w. -]+"?([,;\t]"?[\w. -]*"?)+\s*$`)
)

// formOf returns what to do about input whose first line is not a record; "" if that is not clear.
func formOf(line []byte) string {
	first := bytes.TrimSpace(line)
	switch {
	case opens.Match(line):
		return "a record is one line: jq -c . makes it one; of a list, jq -c '.[]'"
	case bytes.HasPrefix(first, []byte("[")) && ndjson.Check(first) != nil:
		return "a record is one line and no list: jq -c '.[]' makes records of a list"
	case bytes.IndexByte(first, 0) >= 0:
		return "this looks like a binary file: a record is a line of JSON"
	case len(first) == 0 || first[0] == '{' || first[0] == '[' || !utf8.Valid(first):
		return ""
	case header.Match(line):
		return "this looks like CSV: mlr --icsv --ojsonl cat makes records of it"
	}
	return "this looks like plain text: tri-watch stdin --text makes records of lines"
}

func (r *rejects) sync() error {
	if !r.dirty {
		return nil
	}
	r.dirty = false
	return r.log.Sync()
}

func (r *rejects) close() error {
	for _, kind := range slices.Sorted(maps.Keys(r.kinds)) {
		if n := r.kinds[kind] - r.shown; n > 0 {
			r.say("and %d more: %s", n, kind)
		}
	}
	if r.log == nil {
		return nil
	}
	return errors.Join(r.sync(), r.log.Close())
}
