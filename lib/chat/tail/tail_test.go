package tail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// keeper is a log of events like tri-watch's: each id once.
type keeper struct {
	chat.Discard
	t     *testing.T
	mu    sync.Mutex
	seen  map[string]bool
	got   []event.Event
	said  []string
	state []byte
	fail  error
	calls int
}

func (k *keeper) OnEvents(events ...event.Event) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	for _, e := range events {
		if k.fail != nil {
			return k.fail
		}
		if k.seen == nil {
			k.seen = map[string]bool{}
		}
		if !k.seen[e.Identity()] {
			k.seen[e.Identity()] = true
			k.got = append(k.got, e)
		}
	}
	return nil
}

func (k *keeper) Save(b []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = slices.Clone(b)
	return nil
}

func (k *keeper) Logf(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.said = append(k.said, fmt.Sprintf(format, args...))
}

func (k *keeper) texts() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var texts []string
	for _, e := range k.got {
		texts = append(texts, e.Content)
	}
	return texts
}

func (k *keeper) resume() chat.Resume {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := chat.Resume{State: slices.Clone(k.state), Last: map[string]time.Time{}}
	for _, e := range k.got {
		r.Last[e.ChatID] = time.Now()
	}
	return r
}

// listen runs a source until stop is called.
func (k *keeper) listen(o Options) (stop func()) {
	k.t.Helper()
	c, err := New(o)
	if err != nil {
		k.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, up := make(chan error, 1), make(chan bool, 1)
	go func() { ended <- c.Run(ctx, k.resume(), &upper{k, up}) }()
	select {
	case <-up:
	case err := <-ended:
		k.t.Fatal("ended", err)
	}
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			k.t.Error(err)
		}
	})
}

type upper struct {
	*keeper
	up chan bool
}

func (u *upper) OnConnect(bool) { u.up <- true }

// wait waits until the last text is want.
func (k *keeper) wait(want string) {
	k.t.Helper()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(time.Millisecond) {
		if texts := k.texts(); len(texts) > 0 && texts[len(texts)-1] == want {
			return
		}
	}
	k.t.Fatalf("%q never came: %q, said %q", want, k.texts(), k.said)
}

// TestRotation: with a writer that rotates in every way, and a source that is stopped and killed,
// at any moment, each line is emitted once, and in order.
func TestRotation(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			dir := t.TempDir()
			name := filepath.Join(dir, "#dev.log")
			k := &keeper{t: t}
			o := Options{Files: []string{name}, Format: "znc", Tick: 10 * time.Millisecond, Poll: seed%3 == 2}
			stop := k.listen(o)
			var want []string
			write := func(n int) {
				f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				for range n {
					text := fmt.Sprintf("line %d %s", len(want), strings.Repeat("x", rnd.IntN(300)))
					cut := rnd.IntN(len(text)) // a line is written in several parts
					fmt.Fprintf(f, "[10:00:00] <ana> %s", text[:cut])
					if rnd.IntN(4) == 0 {
						time.Sleep(time.Millisecond)
					}
					fmt.Fprintf(f, "%s\n", text[cut:])
					want = append(want, text)
				}
			}
			shift := func() {
				for i := 30; i > 0; i-- {
					// most do not exist
					_ = os.Rename(fmt.Sprintf("%s.%d", name, i), fmt.Sprintf("%s.%d", name, i+1))
				}
			}
			// What is rotated away before the source has seen the file is not read.
			write(1)
			k.wait(want[0])
			for range 60 {
				write(1 + rnd.IntN(20))
				switch rnd.IntN(8) {
				case 0: // rename
					shift()
					_ = os.Rename(name, name+".1")
				case 1: // copy, truncate
					b, err := os.ReadFile(name)
					if err != nil {
						t.Fatal(err)
					}
					shift()
					if err := errors.Join(os.WriteFile(name+".1", b, 0o600),
						os.Truncate(name, 0)); err != nil {
						t.Fatal(err)
					}
				case 2: // stopped: the state is saved
					stop()
					stop = k.listen(o)
				case 3: // killed: the saved state may be older
					old := k.resume().State
					write(rnd.IntN(40))
					time.Sleep(time.Duration(rnd.IntN(10)) * time.Millisecond)
					stop()
					if rnd.IntN(2) == 0 && same(old, k.state) {
						k.state = old
					}
					stop = k.listen(o)
				case 4:
					time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
				}
			}
			write(1)
			k.wait(want[len(want)-1])
			stop()
			if got := k.texts(); !slices.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("%d lines written, %d heard; they differ from %d on: %.40q\nsaid: %q", len(want),
					len(got), i, got[i:min(i+3, len(got))], k.said)
			}
		})
	}
}

// same reports whether two states are of the same file: a source saves the state before it emits
// anything of another file.
func same(a, b []byte) bool {
	first := func(b []byte) string {
		_, s, _ := strings.Cut(string(b), `"first":`)
		return s
	}
	return first(a) == first(b)
}

// TestStart: the first start reads new lines only; a file that does not exist yet is waited for,
// and read from its start.
func TestStart(t *testing.T) {
	w := newWorld(t)
	k := &keeper{t: t}
	w.Say("#dev", "ana", "", "before the first start")
	o := w.options()
	stop := k.listen(o)
	w.Say("#dev", "ana", "", "after it")
	k.wait("after it")
	w.Say("#help", "ben", "", "first of all in a new file")
	k.wait("first of all in a new file")
	stop()
	if got := k.texts(); len(got) != 2 {
		t.Errorf("heard %q", got)
	}
}

// TestState: positions of logs that are no longer followed do not make the state too long to be saved, and
// those of the others are kept.
func TestState(t *testing.T) {
	name := filepath.Join(t.TempDir(), "dev.log")
	if err := os.WriteFile(name, []byte("10:00 <ana> one\n10:01 <ana> two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := hash([]byte("10:00 <ana> one"))
	at := map[string]position{hash([]byte(name)): {Offset: 16, Before: hash([]byte("10:00 <ana> one\n")),
		First: first}}
	for i := range 2 * maxFiles {
		old := hash(fmt.Append(nil, i))
		at[old] = position{Offset: 1 << 40, Before: old, Inode: 1 << 40, First: old, Day: "2026-11-23"}
	}
	state, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{t: t, state: state}
	stop := k.listen(Options{Files: []string{name}})
	k.wait("two")
	stop()
	var kept map[string]position
	if err := json.Unmarshal(k.state, &kept); err != nil || len(k.state) > 64<<10 || len(kept) > maxFiles ||
		len(k.got) != 1 {
		t.Errorf("%d bytes, %d positions, %d messages, %v", len(k.state), len(kept), len(k.got), err)
	}
}

// TestLost: a truncated file is read from its start, and the loss is logged.
func TestLost(t *testing.T) {
	w := newWorld(t)
	k := &keeper{t: t}
	o := w.options()
	defer k.listen(o)()
	w.Say("#dev", "ana", "", strings.Repeat("one,", 100))
	k.wait(strings.Repeat("one,", 100))
	if err := os.Truncate(w.path("#dev"), 0); err != nil {
		t.Fatal(err)
	}
	w.Say("#dev", "ana", "", "two")
	k.wait("two")
	k.mu.Lock()
	defer k.mu.Unlock()
	if said := strings.Join(k.said, "\n"); !strings.Contains(said, "are lost") {
		t.Errorf("said %q", said)
	}
}

// TestNotDurable: an event that cannot be stored ends the source, and is emitted at the next start.
func TestNotDurable(t *testing.T) {
	w := newWorld(t)
	k := &keeper{t: t}
	o := w.options()
	stop := k.listen(o)
	w.Say("#dev", "ana", "", "one")
	k.wait("one")
	stop()
	w.Say("#dev", "ana", "", "two")
	full := errors.New("disk full")
	k.fail = full
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), k.resume(), k); !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
	k.fail = nil
	defer k.listen(o)()
	k.wait("two")
}

// TestLong: an endless line is not kept in memory, whether it exists at the start or is written
// later.
func TestLong(t *testing.T) {
	w := newWorld(t)
	k := &keeper{t: t}
	o := w.options()
	w.Say("#dev", "ana", "", "zero")
	stop := k.listen(o)
	w.Say("#dev", "ana", "", "one")
	k.wait("one")
	stop()
	long := strings.Repeat("x", maxLine+100)
	w.Say("#dev", "ana", "", long)
	w.Say("#dev", "ana", "", "two")
	defer k.listen(o)()
	k.wait("two")

	f, err := os.OpenFile(w.path("#dev"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 30 {
		if _, err := f.WriteString(long[:maxLine/8]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	w.Say("#dev", "ana", "", "three")
	k.wait("three")
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.got) != 3 || strings.Count(strings.Join(k.said, "\n"), "left out") != 2 {
		t.Errorf("heard %d, said %q", len(k.got), k.said)
	}
}

// TestSeries: one file per day, as ZNC writes them.
func TestSeries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "#dev")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	put("2026-01-01.log", "[23:58:00] <ana> long ago\n")
	k := &keeper{t: t}
	o := Options{Files: []string{filepath.Join(dir, "*.log")}, Tick: 10 * time.Millisecond}
	stop := k.listen(o)
	put("2026-01-01.log", "[23:59:00] <ana> one\n")
	k.wait("one")
	stop()
	put("2026-01-01.log", "[23:59:59] <ben> two\n")
	put("2026-01-02.log", "[00:00:01] *** Joins: eve\n[00:00:02] <ben> three\n")
	put("2026-01-03.log", "[00:00:03] * ben four\n")
	defer k.listen(o)()
	k.wait("four")
	if got := k.texts(); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("heard %q", got)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, want := range []string{"2026-01-01T23:59:00", "2026-01-01T23:59:59", "2026-01-02T00:00:02",
		"2026-01-03T00:00:03"} {
		at, err := time.Parse(time.RFC3339, k.got[i].CreateTime)
		if err != nil || at.Local().Format("2006-01-02T15:04:05") != want || k.got[i].ChatID != "#dev" {
			t.Errorf("%d: %+v, want it at %s", i, k.got[i], want)
		}
	}
}

// TestBrackets: a file whose name is also a pattern, as of a nick with brackets, is that file, also while its
// rotation has moved it aside.
func TestBrackets(t *testing.T) {
	dir := t.TempDir()
	for _, base := range []string{"ana[1].log", "ana[.log"} {
		name := filepath.Join(dir, base)
		for _, file := range []string{name, filepath.Join(dir, "ana1.log")} {
			if err := os.WriteFile(file, []byte("10:00 <ana> old\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := New(Options{Files: []string{name}})
		if err != nil || !slices.Equal(series(name), []string{name}) {
			t.Errorf("%s: %q, %v", base, series(name), err)
		}
		if err := os.Rename(name, name+".1"); err != nil || !slices.Equal(series(name), []string{name + ".1"}) {
			t.Errorf("%s: %q, %v", base, series(name), err)
		}
	}
	if got := series(filepath.Join(dir, "ana[0-9].log")); len(got) != 1 {
		t.Errorf("a pattern: %q", got)
	}
}

// TestLines: the lines of each format.
func TestLines(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct{ format, pattern, log, want string }{
		{"irssi", "", "--- Log opened Tue Mar 03 10:00:00 2026\n10:01 <@ana> hi\n10:02 -!- ben [~b@h] has joined #dev\n10:03  * ben waves\n23:59 < ben> late\n00:01 < ben> early\n--- Day changed Wed Mar 04 2026\n00:02 <+ana> <b>: x",
			"03T10:01 ana hi|03T10:03 ben waves|03T23:59 ben late|04T00:01 ben early|04T00:02 ana <b>: x"},
		{"weechat", "", "2026-03-03 10:01:02\t@ana\thi there\n2026-03-03 10:01:03\t-->\tben joined\n2026-03-03 10:01:04\t *\tben waves\n2026-03-03 10:01:05\t--\tnotice", "03T10:01 ana hi there|03T10:01 ben waves"},
		{"znc", "", "[10:01:02] <ana> hi\n[10:01:03] *** Joins: ben\n[10:01:04] * ben waves\n[13:00:00] <ben> yesterday", "04T10:01 ana hi|04T10:01 ben waves|03T13:00 ben yesterday"},
		{"znc", "", "[12:20:00] <ana> hi", "04T12:00 ana hi"},
		{"hexchat", "", "Mar 03 10:01:02 <ana>\thi\nMar 03 10:01:03 *\tben has joined", "03T10:01 ana hi"},
		{"iso", "", "2026-03-03T10:01:02  <ana> hi\n2026-03-03T10:01:02  *** ben has joined",
			"03T10:01 ana hi"},
		{"", "", "2026-03-03 10:01:02\t@ana\ta\n[10:01:02] <ana> b\n10:03 <ana> c\nfree text",
			"03T10:01 ana a|04T10:01 ana b|04T10:03 ana c"},
		{"", `^(?P<time>\d+) (?P<room>#\w+) (?P<nick>\w+): (?P<text>.*)`,
			fmt.Sprintf("%d #ops ana: hi", now.Add(-time.Hour).Unix()), "04T11:00 ana hi #ops"},
		{"", `^(?P<nick>\w+): (?P<text>.*)`, "ana: hi\r", "04T12:00 ana hi"},
		{"znc", "", "[10:01:02] <a\x1b[2Jna> \x0304hi\x07 \xff there\x00\n[10:01:02] <> x\n[10:01:02] <ana> \n[10:01:02] <" + strings.Repeat("n", 65) + "> x\n[99:99:99] <ana> x",
			"04T10:01 a[2Jna 04hi \uFFFD there|04T12:00 ana x"},
		{"iso", "", "2030-01-01T00:00:00Z <ana> from the future", "04T12:00 ana from the future"},
	} {
		c, err := New(Options{Files: []string{"x"}, Format: tt.format, Pattern: tt.pattern})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		k := new(clock)
		for line := range strings.SplitSeq(tt.log, "\n") {
			if s, ok := c.parse(line, k, now); ok {
				got = append(got,
					strings.TrimSpace(fmt.Sprintf("%s %s %s %s", s.at.Local().Format("02T15:04"), s.nick,
						s.text, s.room)))
			}
		}
		if got := strings.Join(got, "|"); got != tt.want {
			t.Errorf("%s%s:\n got %q\nwant %q", tt.format, tt.pattern, got, tt.want)
		}
	}
}

func TestRoom(t *testing.T) {
	for base, want := range map[string]string{
		"#dev.log": "#dev", "#dev.log.1": "#dev", "#dev.log-20261122": "#dev",
		"irc.libera.#dev.weechatlog": "irc.libera.#dev",
		"2026-11-22.log":             "folder", "#dev_20261122.log": "#dev", "#dev": "#dev",
		"#c++.2026-11-22.log": "#c++", ".log": "folder",
	} {
		if got, _ := roomOf("folder", base); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{}, {Files: make([]string, maxFiles+1)}, {Files: []string{"a["}},
		{Files: []string{"a"}, Format: "mirc"},
		{Files: []string{"a"}, Pattern: "("}, {Files: []string{"a"}, Pattern: "(?P<nick>.)"},
	} {
		for i := range o.Files {
			if o.Files[i] == "" {
				o.Files[i] = fmt.Sprint(i)
			}
		}
		if _, err := New(o); err == nil {
			t.Errorf("%d files, format %q, pattern %q: no error", len(o.Files), o.Format, o.Pattern)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("10:01 <@ana> hi")
	f.Add("2026-03-03 10:01:02\t@ana\thi")
	f.Add("--- Log opened Tue Mar 03 10:00:00 2026")
	c, err := New(Options{Files: []string{"x"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		s, ok := c.parse(line, new(clock), time.Now())
		if ok && (s.nick == "" || s.text == "" || s.at.IsZero() ||
			strings.ContainsFunc(s.nick+s.text+s.room, control)) {
			t.Errorf("%q: %+v", line, s)
		}
	})
}
