package history

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/text"
)

// Talk contains the classified messages of a window, by day.
type Talk struct {
	Days   []Day // in order, only days with messages
	Waits  []Wait
	Broken int // lines that cannot be parsed
}

// Day is one day (UTC) of messages.
type Day struct {
	Date                     string
	Actionable, Ambient, Ack int
	// Lags are the times from sending to classification, of the messages that were read live.
	Lags Lags
}

// Lags counts messages by lag, in tenths of a second. The classifier's clock has whole seconds; the
// memory does not grow with the number of messages.
type Lags map[int]int

// Seconds returns the percentile of the lags in seconds: percent of the messages had a shorter lag;
// NaN if there are none.
func (l Lags) Seconds(percent int) float64 {
	n := 0
	for _, messages := range l {
		n += messages
	}
	rank := min(n-1, n*percent/100)
	for _, lag := range slices.Sorted(maps.Keys(l)) {
		if rank -= l[lag]; rank < 0 {
			return float64(lag) / 10
		}
	}
	return math.NaN()
}

// Total returns the number of messages of the day.
func (d *Day) Total() int { return d.Actionable + d.Ambient + d.Ack }

// Wait is how long the asker of a question waited for another person's reply.
type Wait struct {
	At   time.Time // when it was asked
	Took time.Duration
}

// live is the lag up to which a message counts as read live, not imported.
const live = 24 * time.Hour

// message is a message that may be a question or an answer.
type message struct {
	at             time.Time
	asks, bot      bool
	thread, sender string
	root           bool
}

// ReadTalk reads the classified events of a window; a zero end means the end of the log. Waits are
// collected for questions before waitsBefore; zero means none.
func ReadTalk(h *durable.Home, from, until, waitsBefore time.Time) (*Talk, error) {
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
	cuts, err := Split(h, ClassifiedLog, off, end, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(cuts)-1)
	var wg sync.WaitGroup
	for i := range parts {
		parts[i] = part{from: from, waits: waitsBefore, days: map[string]*Day{}, asked: map[string]*message{},
			others: map[string]int{}}
		wg.Go(func() { parts[i].err = h.LinesUntil(ClassifiedLog, cuts[i], cuts[i+1], parts[i].line) })
	}
	wg.Wait()
	return join(parts)
}

// Past is the log of an exported history from before the home, classified. Only reports read it.
const Past = "history.ndjson"

// ReadPast returns the waits in the exported history for questions before a time; nil if there is
// none.
func ReadPast(h *durable.Home, before time.Time) ([]Wait, error) {
	p := part{waits: before, days: map[string]*Day{}, asked: map[string]*message{}, others: map[string]int{}}
	err := h.Lines(Past, 0, p.line)
	return p.Waits, err
}

// part is one goroutine's share of the log.
type part struct {
	from  time.Time // messages sent before it are skipped
	waits time.Time // questions before it are kept for their answers
	scan  ndjson.Scanner
	err   error

	Talk
	days   map[string]*Day
	asked  map[string]*message // by thread, open questions; nil for an answered one
	early  []message           // in threads that began in an earlier part, the first of each of two people
	others map[string]int      // by thread, the index of the last of them
}

var (
	actionable = []byte(`"actionable"`)
	ack        = []byte(`"ack"`)
)

func (p *part) line(line []byte) error {
	if p.scan.Scan(line) != nil {
		p.Broken++
		return nil
	}
	var m message
	var chat, id, thread, sender, classified, class []byte
	for i := range p.scan.Members {
		v := &p.scan.Members[i]
		switch string(v.Key) {
		case "create_time":
			m.at = text.ParseTime(plain(v.Value))
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
			class = v.Value
		}
	}
	if m.at.Before(p.from) {
		return nil
	}
	day(p.days, m.at.UTC().Format(time.DateOnly)).count(class, text.ParseTime(plain(classified)).Sub(m.at))
	m.asks = bytes.Equal(class, actionable)
	m.root = thread == nil || string(thread) == "null" || bytes.Equal(thread, id)
	if !m.at.Before(p.waits) || m.root && !m.asks {
		return nil
	}
	if m.root {
		thread = id
	}
	m.thread = string(chat) + string(thread)
	m.sender = gjson.GetBytes(sender, "id").String()
	m.bot = gjson.GetBytes(sender, "type").Str == "bot"
	p.wait(&m)
	return nil
}

// plain returns the text of a raw JSON string without escapes.
func plain(raw []byte) string { return strings.Trim(string(raw), `"`) }

// day returns the day of a date, and creates it if necessary.
func day(days map[string]*Day, date string) *Day {
	d := days[date]
	if d == nil {
		d = &Day{Date: date, Lags: Lags{}}
		days[date] = d
	}
	return d
}

func (d *Day) count(class []byte, lag time.Duration) {
	switch {
	case bytes.Equal(class, actionable):
		d.Actionable++
	case bytes.Equal(class, ack):
		d.Ack++
	default:
		d.Ambient++
	}
	if lag >= 0 && lag <= live {
		d.Lags[int(math.Round(lag.Seconds()*10))]++
	}
}

// wait matches a question that opens a thread with the first reply of another person. If the
// question is not in this part, it may be in an earlier one.
func (p *part) wait(m *message) {
	asked, here := p.asked[m.thread]
	switch {
	case m.thread == "" || m.bot:
	case m.root:
		p.asked[m.thread] = m
	case !here:
		p.keep(m)
	case m.answers(asked):
		p.Waits = append(p.Waits, Wait{asked.at, m.at.Sub(asked.at)})
		p.asked[m.thread] = nil
	}
}

func (m *message) answers(asked *message) bool {
	return asked != nil && asked.sender != m.sender && !m.at.Before(asked.at)
}

// keep keeps a message that may answer a question in an earlier part. Messages of two people
// suffice: one of them is not the asker.
func (p *part) keep(m *message) {
	const settled = -1
	last, ok := p.others[m.thread]
	switch {
	case !ok:
		p.others[m.thread] = len(p.early)
	case last == settled || p.early[last].sender == m.sender:
		return
	default:
		p.others[m.thread] = settled
	}
	p.early = append(p.early, *m)
}

// join combines the parts in order.
func join(parts []part) (*Talk, error) {
	t := &Talk{}
	days, waiting := map[string]*Day{}, map[string]*message{}
	var errs error
	for i := range parts {
		p := &parts[i]
		errs = errors.Join(errs, p.err)
		t.Broken += p.Broken
		for k := range p.early {
			if m := &p.early[k]; m.answers(waiting[m.thread]) {
				t.Waits = append(t.Waits, Wait{waiting[m.thread].at, m.at.Sub(waiting[m.thread].at)})
				delete(waiting, m.thread)
			}
		}
		t.Waits = append(t.Waits, p.Waits...)
		maps.Copy(waiting, p.asked)
		for date, d := range p.days {
			day(days, date).add(d)
		}
	}
	for _, d := range days {
		t.Days = append(t.Days, *d)
	}
	slices.SortFunc(t.Days, func(a, b Day) int { return strings.Compare(a.Date, b.Date) })
	return t, errs
}

func (d *Day) add(more *Day) {
	d.Actionable += more.Actionable
	d.Ambient += more.Ambient
	d.Ack += more.Ack
	for lag, messages := range more.Lags {
		d.Lags[lag] += messages
	}
}

// Totals returns the number of actionable messages and of all messages.
func (t *Talk) Totals() (asking, all int) {
	for i := range t.Days {
		asking += t.Days[i].Actionable
		all += t.Days[i].Total()
	}
	return asking, all
}
