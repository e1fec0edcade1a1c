package ledger

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/disk"
	"tri/lib/ndjson"
)

// Talk is what the classifier made of the messages of a time, by day.
type Talk struct {
	Days   []Day // in order, those on which something was said
	Waits  []Wait
	Broken int // lines that are no records
}

// Day is one day (UTC) of messages.
type Day struct {
	Date                     string
	Actionable, Ambient, Ack int
	// Lags are, of the messages that were read live, the seconds between being said
	// and being classified.
	Lags []float64
}

// Total is how many messages the day has.
func (d *Day) Total() int { return d.Actionable + d.Ambient + d.Ack }

// Wait is how long people waited for other people's reply to a question.
type Wait struct {
	At   time.Time // asked
	Took time.Duration
}

// live is the lag up to which a message was read as it came, not imported.
const live = 24 * time.Hour

// message is what is kept of one until all parts are together.
type message struct {
	at             time.Time
	lag            float64 // seconds, negative: not read live
	class          byte
	bot            bool
	thread, sender string // only of what may be asked or answered before us
	root           bool
}

// ReadTalk reads the classified events of a time; a zero end is that of the log.
// Waits are gathered for questions before another time, zero being none.
func ReadTalk(h *disk.Home, from, until, waitsBefore time.Time) (*Talk, error) {
	off, err := Since(h, ClassifiedLog, "classified_at", from)
	if err != nil {
		return nil, err
	}
	end := int64(-1)
	if !until.IsZero() {
		if end, err = Since(h, ClassifiedLog, "classified_at", until); err != nil {
			return nil, err
		}
	}
	cuts, err := Parts(h, ClassifiedLog, off, end, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(cuts)-1)
	var wg sync.WaitGroup
	for i := range parts {
		parts[i].waits, parts[i].from = waitsBefore, from
		wg.Go(func() { parts[i].err = h.LinesUntil(ClassifiedLog, cuts[i], cuts[i+1], parts[i].line) })
	}
	wg.Wait()
	return join(parts)
}

// part is one goroutine's share of the log.
type part struct {
	from     time.Time // said, not before
	waits    time.Time // questions before it are kept for their answers
	scan     ndjson.Scanner
	messages []message
	broken   int
	err      error
}

var (
	actionable = []byte(`"actionable"`)
	ack        = []byte(`"ack"`)
)

func (p *part) line(line []byte) error {
	if p.scan.Scan(line) != nil {
		p.broken++
		return nil
	}
	var m message
	var chat, id, thread, sender, classified []byte
	for i := range p.scan.Members {
		v := &p.scan.Members[i]
		switch string(v.Key) {
		case "create_time":
			m.at = Instant(plain(v.Value))
		case "classified_at":
			classified = v.Value
		case "chat_id":
			chat = v.Value
		case "message_id":
			id = v.Value
		case "thread_id":
			thread = v.Value
		case "sender":
			sender = v.Value
		case "classification":
			switch {
			case bytes.Equal(v.Value, actionable):
				m.class = 'q'
			case bytes.Equal(v.Value, ack):
				m.class = 'k'
			}
		}
	}
	if m.at.Before(p.from) {
		return nil
	}
	lag := Instant(plain(classified)).Sub(m.at)
	if m.lag = lag.Seconds(); lag < 0 || lag > live {
		m.lag = -1
	}
	if m.at.Before(p.waits) {
		m.root = thread == nil || string(thread) == "null" || bytes.Equal(thread, id)
		if m.root {
			thread = id
		}
		m.thread = string(chat) + string(thread)
		m.sender = gjson.GetBytes(sender, "id").String()
		m.bot = gjson.GetBytes(sender, "type").Str == "bot"
	}
	p.messages = append(p.messages, m)
	return nil
}

// plain is the text of a raw string in which nothing is escaped.
func plain(raw []byte) string { return strings.Trim(string(raw), `"`) }

// join puts the parts together, in their order.
func join(parts []part) (*Talk, error) {
	t := &Talk{}
	days := map[string]*Day{}
	waiting := map[string]*message{}
	var errs error
	for i := range parts {
		errs = errors.Join(errs, parts[i].err)
		t.Broken += parts[i].broken
		for k := range parts[i].messages {
			m := &parts[i].messages[k]
			t.count(days, m)
			t.wait(waiting, m)
		}
	}
	for _, d := range days {
		t.Days = append(t.Days, *d)
	}
	slices.SortFunc(t.Days, func(a, b Day) int { return strings.Compare(a.Date, b.Date) })
	return t, errs
}

func (t *Talk) count(days map[string]*Day, m *message) {
	date := m.at.UTC().Format(time.DateOnly)
	d := days[date]
	if d == nil {
		d = &Day{Date: date}
		days[date] = d
	}
	switch m.class {
	case 'q':
		d.Actionable++
	case 'k':
		d.Ack++
	default:
		d.Ambient++
	}
	if m.lag >= 0 {
		d.Lags = append(d.Lags, m.lag)
	}
}

// wait matches a question that opens a thread with the first word of another
// person below it.
func (t *Talk) wait(waiting map[string]*message, m *message) {
	switch asked := waiting[m.thread]; {
	case m.thread == "" || m.bot:
	case m.root && m.class == 'q':
		waiting[m.thread] = m
	case asked != nil && asked.sender != m.sender && !m.at.Before(asked.at):
		t.Waits = append(t.Waits, Wait{asked.at, m.at.Sub(asked.at)})
		delete(waiting, m.thread)
	}
}

// Totals are the messages of all days, by what the classifier made of them.
func (t *Talk) Totals() (asking, all int) {
	for i := range t.Days {
		asking += t.Days[i].Actionable
		all += t.Days[i].Total()
	}
	return asking, all
}
