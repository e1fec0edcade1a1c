package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/chat"
	"tri/lib/record/event"
	"tri/lib/record/presence"
)

// log is events.ndjson and its contents: which events it has, and the time of the latest event of each
// chat.
type log struct {
	*durable.Log
	name string                          // full path
	size int64                           // size when it was opened
	last map[string]map[string]time.Time // by platform and chat
	kept func()                          // called after new events were appended
	fail func(error)                     // called when a record could not be kept: the feed ends

	actions *actions
	typing  *presence.Board
	raw     *durable.Log // nil: the platforms' own records are not kept

	mu   sync.Mutex
	seen *set
}

// openLog opens the log, cuts a torn tail left by a killed watcher, and reads it.
func openLog(h *durable.Home) (*log, error) {
	f, err := h.OpenLog(LogName)
	if err != nil {
		return nil, err
	}
	l := &log{Log: f, name: h.Path(LogName), last: map[string]map[string]time.Time{}, seen: newSet()}
	if err := h.Check(LogName, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if l.size, err = f.Write(func(int64) ([]byte, error) { return nil, nil }); err == nil {
		err = l.read()
	}
	if err != nil {
		_ = f.Close() // report the error above
		return nil, err
	}
	return l, nil
}

// read reads every line. A line whose seq is not its offset means that the file was cut or edited: a
// reader by offset would go wrong after it.
func (l *log) read() error {
	r := ndjson.NewReader(io.NewSectionReader(l.File(), 0, l.size), l.name, 0, 0)
	var b ndjson.Batch
	for {
		err := r.Next(&b)
		if err == io.EOF {
			l.seen.merge()
			return nil
		}
		if err != nil {
			return sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", l.name, err))
		}
		for i := range b.Lines {
			if err := l.take(&b.Lines[i]); err != nil {
				return err
			}
		}
	}
}

func (l *log) take(line *ndjson.Line) error {
	e, seq := identify(line.Bytes)
	if seq != line.Offset {
		err := sysexit.With(sysexit.Data,
			fmt.Errorf("%s:%d: the line at offset %d has another seq: the log was cut, edited or mixed",
				l.name, line.Line, line.Offset))
		return sysexit.Hint(err,
			"restore the old file, or start again by moving it away with the files made from it")
	}
	l.seen.add(hashOf(&e))
	last := l.last[e.Platform]
	if last == nil {
		last = map[string]time.Time{}
		l.last[strings.Clone(e.Platform)] = last
	}
	if at := e.ChangedAt(); at.After(last[e.ChatID]) {
		last[strings.Clone(e.ChatID)] = at
	}
	return nil
}

// identify reads the fields that identity and time need. seq is -1 if there is none. The line was checked
// before it was written.
func identify(line []byte) (e event.Event, seq int64) {
	seq = -1
	gjson.ParseBytes(line).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "seq":
			seq = ndjson.Seq([]byte(value.Raw))
		case "platform":
			e.Platform = value.Str
		case "chat_id":
			e.ChatID = value.Str
		case "message_id":
			e.MessageID = value.Str
		case "create_time":
			e.CreateTime = value.Str
		case "edited_at":
			e.EditedAt = value.Str
		case "edit_id":
			e.EditID = value.Str
		case "deleted":
			e.Deleted = value.Bool()
		}
		return true
	})
	return e, seq
}

// keep appends the new items in one durable write. An error ends the feed, also where a source goes on
// after it.
func (l *log) keep(items []Item) error { return l.failed(l.append(items)) }

func (l *log) failed(err error) error {
	if err != nil {
		l.fail(err)
	}
	return err
}

func (l *log) append(items []Item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	items = l.seen.fresh(items)
	if len(items) == 0 {
		return nil
	}
	if err := l.keepRaw(items); err != nil {
		return err
	}
	_, err := l.Append(func(end int64) ([]byte, error) { return stamp(nil, end, items), nil })
	if err != nil {
		return err
	}
	for _, item := range items {
		l.seen.add(item.ID)
	}
	l.kept()
	return nil
}

// stamp appends the items to dst as lines whose seq is their offset. The first is at offset end.
func stamp(dst []byte, end int64, items []Item) []byte {
	for _, item := range items {
		seq := end + int64(len(dst))
		dst = append(strconv.AppendInt(append(dst, `{"seq":`...), seq, 10), ',')
		dst = append(append(dst, item.Body[1:]...), '\n')
	}
	return dst
}

// open implements Open: it starts a platform's heartbeat.
func (l *log) open(o Options, b *heartbeat, platform string) (chat.Resume, chat.Handler, error) {
	p := &port{log: l, home: o.Home, platform: platform, link: b.linkOf(platform),
		typing: l.typing, say: o.Say}
	state, err := o.Home.ReadSealed(p.state())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return chat.Resume{}, nil, fmt.Errorf("watch %s: %w", platform, err)
	}
	return chat.Resume{Last: l.last[platform], State: state}, p, nil
}

// port receives everything from a platform except events.
type port struct {
	chat.Discard
	log      *log
	home     *durable.Home
	platform string
	link     func(up bool)
	typing   *presence.Board
	say      func(format string, args ...any)
}

func (p *port) OnAction(a event.Action) error   { return p.log.failed(p.log.actions.keep(a)) }
func (p *port) OnTyping(t presence.Typing)      { p.typing.Set(t) }
func (p *port) OnConnect(up bool)               { p.link(up) }
func (p *port) Logf(format string, args ...any) { p.say(format, args...) }
func (p *port) state() string                   { return "watch/" + p.platform + ".json" }

func (p *port) Save(state []byte) error {
	if len(state) > maxState {
		return sysexit.With(sysexit.Software,
			fmt.Errorf("keep the state of %s: %d bytes", p.platform, len(state)))
	}
	if err := p.home.MkdirAll("watch"); err != nil {
		return err
	}
	return p.home.ReplaceSealed(p.state(), state)
}

// maxState bounds the state that a source may keep, in bytes.
const maxState = 64 << 10

// start returns the offset from which to print: 0 without after, otherwise Window bytes before the last
// seq in the file named after.
func (l *log) start(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	seq, err := stream.LastSeq(after)
	if err != nil || seq < 0 {
		return 0, err
	}
	head := make([]byte, 32)
	n, _ := l.File().ReadAt(head, seq) // beyond the end it is empty, and the check below fails
	if want := fmt.Sprintf(`{"seq":%d,`, seq); !bytes.HasPrefix(head[:n], []byte(want)) {
		err := sysexit.With(sysexit.Data,
			fmt.Errorf("%q ends with seq %d, which is not in %q: not made from this log", after, seq, l.name))
		return 0, sysexit.Hint(err,
			"restore the old log, or start again by moving away the files made from it")
	}
	return lineAt(l.File(), max(0, seq-Window), seq)
}

// lineAt returns the offset of the first line that begins at or after from, at most to.
func lineAt(f io.ReaderAt, from, to int64) (int64, error) {
	if from == 0 {
		return 0, nil
	}
	buf := make([]byte, 64<<10)
	for at := from - 1; at < to; {
		n, err := f.ReadAt(buf, at)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return min(at+int64(i)+1, to), nil
		}
		if n == 0 {
			return to, sysexit.With(sysexit.IO, err)
		}
		at += int64(n)
	}
	return to, nil
}

// maxBody leaves room in a line for the seq.
const maxBody = ndjson.MaxLine - 64

// maxContent is how much of a text is kept, in bytes, if its line would be too long for readers.
const maxContent = 100 << 10

// maxName is how much of a name is then kept, in bytes.
const maxName = 1 << 10

// encode makes the item of an event.
func encode(e *event.Event, say func(string, ...any)) (Item, error) {
	if e.Platform == "" || e.ChatID == "" || e.MessageID == "" {
		return Item{}, sysexit.With(sysexit.Software,
			fmt.Errorf("event of platform %q, chat %q, message %q: an id is missing", e.Platform, e.ChatID,
				e.MessageID))
	}
	// The identity must match the event as it will be read back.
	for _, id := range []*string{&e.Platform, &e.ChatID, &e.MessageID, &e.EditID, &e.EditedAt} {
		*id = strings.ToValidUTF8(*id, "\uFFFD")
	}
	// Users of some platforms set their times, as on Matrix: one that no stage reads is replaced by one that
	// is the same at every delivery, and too old to open anything.
	for _, at := range []*string{&e.CreateTime, &e.EditedAt} {
		if _, err := time.Parse(time.RFC3339, *at); err != nil && (*at != "" || at == &e.CreateTime) {
			say("message %q of chat %q: no time: %.40q", e.MessageID, e.ChatID, *at)
			*at = "1970-01-01T00:00:00Z"
		}
	}
	e.Seq = nil
	if e.Mentions == nil {
		e.Mentions = []string{}
	}
	body, err := marshal(e)
	if err == nil && len(body) > maxBody {
		say("message %q of chat %q: cut to %d bytes", e.MessageID, e.ChatID, maxContent)
		e.Content = strings.ToValidUTF8(e.Content[:min(len(e.Content), maxContent)], "") + " […]"
		e.Attachments = nil
		// Users name themselves on some platforms, and integrations on Mattermost.
		e.Sender.Name, e.ChatName = text.CutBytes(e.Sender.Name, maxName), text.CutBytes(e.ChatName, maxName)
		size := 0
		for i, who := range e.Mentions {
			if size += len(who) + 3; size > maxContent/4 {
				e.Mentions = e.Mentions[:i]
				break
			}
		}
		body, err = marshal(e)
	}
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("longer than a record may be")
	}
	if err != nil {
		return Item{}, sysexit.With(sysexit.Data,
			fmt.Errorf("message %q of chat %q: %w", e.MessageID, e.ChatID, err))
	}
	return Item{ID: hashOf(e), Body: body, Raw: e.Raw}, nil
}

func marshal(e *event.Event) ([]byte, error) {
	var b bytes.Buffer
	if err := ndjson.Write(&b, e); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
