package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/config"
	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/text"
)

// How long the oldest message may wait for a stage before that is reported. Both stages need
// milliseconds.
const (
	late  = 10 * time.Second
	stuck = 5 * time.Minute
)

// The same for Watch, which measures the time itself and does not rely on a chat's clock.
const (
	stalled = 20 * time.Second // without progress while a message waits
	slow    = time.Minute      // of waiting, with progress
)

// lag reports how far the classifier is behind the log of events (or behind tri-thread and
// tri-turn, if they run in between), and the dispatcher behind the classifier. Both are measured in
// the events' own log, by seq.
func (x *checker) lag() {
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
	_, end, err := durable.LastLine(events, info.Size())
	if err != nil {
		x.failed("lag", "", err)
		return
	}
	if !x.home.Exists(classifiedName) {
		return // the stages are joined by a pipe
	}
	for _, stage := range between {
		if !x.runsBetween(stage.name, stage.out) {
			continue
		}
		name := "lag tri-" + stage.name
		reached, err := x.reach(events, stage.out)
		if err != nil {
			x.failed(name, "restore the old log, or move all files made from it away and start again", err)
			return
		}
		x.behind(name, events, reached, end)
		end = reached
	}
	classified, err := x.reach(events, classifiedName)
	if err != nil {
		x.failed("lag tri-classify", "restore the old log, or move both away and start again", err)
		return
	}
	x.behind("lag tri-classify", events, classified, end)
	dispatched, err := x.dispatched(events)
	if err != nil {
		x.failed("lag tri-dispatch", "tri-dispatch --rebuild", err)
		return
	}
	x.behind("lag tri-dispatch", events, dispatched, classified)
	x.unread()
}

// between are the stages between the log and the classifier, each with its output, which exists only if
// the stage runs.
var between = []struct{ name, out string }{{"thread", config.ThreadedName}, {"turn", config.TurnsName}}

// runsBetween reports whether such a stage runs.
func (x *checker) runsBetween(name, out string) bool {
	return x.home.Exists(out) && slices.ContainsFunc(x.stages(), func(s config.Stage) bool {
		return s.Name == name
	})
}

// leftOut reports whether a stage is one of them, in a pipe without it.
func (x *checker) leftOut(name string) bool {
	for _, b := range between {
		if b.name == name {
			return !x.home.Exists(b.out)
		}
	}
	return false
}

// unread reports how far a running dispatcher is behind the logs of decisions and replies.
func (x *checker) unread() {
	if _, held, err := x.holder("locks/dispatch"); err != nil || !held {
		return
	}
	mark, err := x.mark()
	if err != nil {
		return // the events' row reports it
	}
	for _, log := range []struct {
		name string
		at   int64
	}{{"decisions.ndjson", mark.Decisions}, {"replies.ndjson", mark.Replies}} {
		info, err := x.home.Root().Stat(log.name)
		if err != nil {
			continue
		}
		name := "lag tri-dispatch " + strings.TrimSuffix(log.name, ".ndjson")
		waits, still := x.memory.of(name).see(log.at, info.Size(), x.Now())
		if log.at >= info.Size() {
			waits, still = 0, 0
		} else if x.memory.looks == 1 {
			waits = x.Now().Sub(info.ModTime())
			still = waits
		}
		x.waits(name, size(max(0, info.Size()-log.at))+" behind", waits, still)
	}
}

// marked is dispatch.json: the dispatcher's position.
type marked struct {
	Seq       int64 `json:"seq"`
	Decisions int64 `json:"decisions"`
	Replies   int64 `json:"replies"`
}

func (x *checker) mark() (marked, error) {
	mark := marked{Seq: -1}
	text, err := x.home.ReadFile(markName)
	if errors.Is(err, fs.ErrNotExist) {
		return mark, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &mark)
	}
	if err != nil {
		return mark, fmt.Errorf("read %s: %w", markName, err)
	}
	return mark, nil
}

// reach returns the position, in the log of events, that a log derived from it has reached.
func (x *checker) reach(events *os.File, name string) (int64, error) {
	seq, err := stream.LastSeq(x.home.Path(name))
	if err != nil {
		return 0, err
	}
	return after(events, seq)
}

// dispatched returns the dispatcher's low-water mark.
func (x *checker) dispatched(events *os.File) (int64, error) {
	mark, err := x.mark()
	if err != nil {
		return 0, err
	}
	return after(events, mark.Seq)
}

// after returns the offset after the event with a seq, which is the offset of its line.
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

// behind reports how far a stage at position at lags behind the end of the log. If an earlier look
// is remembered, the waiting time and the progress of the stage were measured here; otherwise the
// age of the message is used.
func (x *checker) behind(name string, events *os.File, at, end int64) {
	waits, still := x.memory.of(name).see(at, end, x.Now())
	if at >= end {
		x.ok(name, "none")
		return
	}
	if x.memory.looks > 1 {
		x.waits(name, fmt.Sprintf("%s behind", size(end-at)), waits, still)
		return
	}
	if line, err := lineAt(events, at); err == nil {
		waits = x.Now().Sub(text.ParseTime(gjson.GetBytes(line, "create_time").String()))
	}
	message := fmt.Sprintf("%s behind, the first message of %s ago", size(end-at), ago(waits))
	switch {
	case waits > stuck:
		x.fail(name, x.fix(name), "%s", message)
	case waits > late:
		x.warn(name, x.fix(name), "%s", message)
	default:
		x.ok(name, "%s", message)
	}
}

// waits reports the state of a stage: its oldest unread message has been waiting for waits, and it
// has made no progress for still.
func (x *checker) waits(name, message string, waits, still time.Duration) {
	switch {
	case min(waits, still) >= stalled:
		x.fail(name, x.fix(name), "stalled: has not moved for %s, %s", ago(min(waits, still)), message)
	case waits >= slow:
		x.warn(name, "it works, and more comes than it can take: see what else this machine does",
			"falls behind: %s, the first has waited for %s", message, ago(waits))
	default:
		x.ok(name, "%s", message)
	}
}

// fix returns the fix for a stage that makes no progress.
func (x *checker) fix(name string) string {
	stage := strings.TrimPrefix(strings.Fields(strings.TrimPrefix(name, "lag "))[0], "tri-")
	return fmt.Sprintf("tri-supervise restart %s, or start it by hand; %s says why", stage,
		x.home.Path("logs/"+stage+".log"))
}

// logs checks the logs themselves.
func (x *checker) logs() {
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
	line, _, err := durable.LastLine(f, info.Size())
	if err != nil || line == nil {
		return
	}
	at, err := time.Parse(time.RFC3339, gjson.GetBytes(line, "create_time").String())
	if err == nil && at.Sub(x.Now()) > stuck {
		x.warn("clock", "set it", "the last event is %s ahead of this machine's clock", ago(at.Sub(x.Now())))
	}
}
