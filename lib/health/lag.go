package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/disk"
	"tri/lib/ndjson"
	"tri/lib/stream"
)

// How long the oldest message may wait for a stage before there is something to
// say. Both stages need milliseconds.
const (
	late  = 10 * time.Second
	stuck = 5 * time.Minute
)

// lag says how far the classifier is behind the log of events, or behind tri-thread
// where that runs between, and the dispatcher behind the classifier. All are measured in the events' own log, by seq.
func (x *examination) lag() {
	events, err := x.home.Root().Open(eventsName)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		x.failed("lag", "", err)
		return
	}
	defer events.Close()
	info, err := events.Stat()
	if err != nil {
		x.failed("lag", "", err)
		return
	}
	_, end, err := disk.LastLine(events, info.Size())
	if err != nil {
		x.failed("lag", "", err)
		return
	}
	if !x.home.Exists(classifiedName) {
		return // the stages are joined by a pipe
	}
	if x.home.Exists(threadedName) {
		threaded, err := x.reach(events, threadedName)
		if err != nil {
			x.failed("lag tri-thread", "put the old log back, or move all made from it away and begin anew", err)
			return
		}
		x.behind("lag tri-thread", events, threaded, end)
		end = threaded
	}
	classified, err := x.reach(events, classifiedName)
	if err != nil {
		x.failed("lag tri-classify", "put the old log back, or move both away and begin anew", err)
		return
	}
	x.behind("lag tri-classify", events, classified, end)
	dispatched, err := x.dispatched(events)
	if err != nil {
		x.failed("lag tri-dispatch", "tri-dispatch --rebuild", err)
		return
	}
	x.behind("lag tri-dispatch", events, dispatched, classified)
}

// reach is how far into the events a log made from them has come.
func (x *examination) reach(events *os.File, name string) (int64, error) {
	seq, err := stream.LastSeq(x.home.Path(name))
	if err != nil {
		return 0, err
	}
	return after(events, seq)
}

// dispatched is how far the dispatcher's low-water mark has come.
func (x *examination) dispatched(events *os.File) (int64, error) {
	text, err := x.home.ReadFile(markName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	mark := struct {
		Seq int64 `json:"seq"`
	}{-1}
	if err := json.Unmarshal(text, &mark); err != nil {
		return 0, fmt.Errorf("read %s: %w", markName, err)
	}
	return after(events, mark.Seq)
}

// after is the offset behind the event with a seq: its line stands there.
func after(events *os.File, seq int64) (int64, error) {
	if seq < 0 {
		return 0, nil
	}
	line, err := lineAt(events, seq)
	if err != nil || gjson.GetBytes(line, "seq").Int() != seq {
		return 0, fmt.Errorf("event %d is not where it was: %w", seq, errCut)
	}
	return seq + int64(len(line)) + 1, nil
}

func lineAt(f *os.File, off int64) ([]byte, error) {
	buf := make([]byte, 4<<10)
	for {
		n, err := f.ReadAt(buf, off)
		for i, c := range buf[:n] {
			if c == '\n' {
				return buf[:i], nil
			}
		}
		if err != nil || len(buf) > ndjson.MaxLine {
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
		buf = make([]byte, 4*len(buf))
	}
}

// behind says how far a stage that has come to at lags behind what stands until
// end.
func (x *examination) behind(name string, events *os.File, at, end int64) {
	if at >= end {
		x.ok(name, "none")
		return
	}
	waits := time.Duration(0)
	if line, err := lineAt(events, at); err == nil {
		if t, err := time.Parse(time.RFC3339, gjson.GetBytes(line, "create_time").String()); err == nil {
			waits = x.Now().Sub(t)
		}
	}
	message := fmt.Sprintf("%s behind, the first message of %s ago", size(end-at), ago(waits))
	switch {
	case waits > stuck:
		x.fail(name, "see that it runs, and what it says", "%s", message)
	case waits > late:
		x.warn(name, "see that it runs, and what it says", "%s", message)
	default:
		x.ok(name, "%s", message)
	}
}

// logs looks at what the logs themselves can tell.
func (x *examination) logs() {
	x.chain()
	f, err := x.home.Root().Open(eventsName)
	if err != nil {
		return // none yet
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	line, _, err := disk.LastLine(f, info.Size())
	if err != nil || line == nil {
		return
	}
	at, err := time.Parse(time.RFC3339, gjson.GetBytes(line, "create_time").String())
	if err == nil && at.Sub(x.Now()) > stuck {
		x.warn("clock", "set it", "the last event is %s ahead of this machine's clock", ago(at.Sub(x.Now())))
	}
}
