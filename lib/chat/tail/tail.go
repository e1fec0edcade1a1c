// Package tail reads the text logs that chat clients and bots write (irssi, WeeChat, ZNC, HexChat,
// …): each line is a message, and appended lines are read at once, across rotation and truncation.
// It is a source only: nothing can be posted to a log.
package tail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// platform is the name of this platform in events.
const platform = "tail"

var (
	_ chat.Source  = (*Client)(nil)
	_ chat.Checker = (*Client)(nil)
)

// maxFiles is how many logs one source follows; their saved state is limited to 64 KiB.
const maxFiles = 256

// Options select the logs.
type Options struct {
	Files  []string // paths; one with * ? [ is a series of files, the last by name is current
	Format string   // name of a format; "": any that matches a line
	// instead: a regular expression with the groups nick and text, and optionally time and room
	Pattern string
	Room    string   // the chat_id of lines without a room; "": from the file's name
	Bot     string   // the bot's nick; default tri
	Rooms   []string // watched rooms; none: all
	Poll    bool     // do not use the kernel's change notifications

	Now  func() time.Time
	Tick time.Duration // interval of checks for rotation; default 1 s
}

// Client reads a set of logs.
type Client struct {
	o       Options
	formats []format
	logs    []string // absolute paths
}

// New returns the source. It opens no files.
func New(o Options) (*Client, error) {
	fault := func(format string, args ...any) error {
		return sysexit.Errorf(sysexit.Config, "tail: "+format, args...)
	}
	c := &Client{o: o}
	if c.o.Now == nil {
		c.o.Now = time.Now
	}
	if c.o.Tick <= 0 {
		c.o.Tick = time.Second
	}
	if c.o.Bot == "" {
		c.o.Bot = "tri"
	}
	for _, name := range o.Files {
		full, err := filepath.Abs(name)
		if err != nil {
			return nil, fault("%q: %w", name, err)
		}
		if _, err := filepath.Match(full, ""); err != nil && modified(full).IsZero() {
			return nil, fault("%q: %w", name, err)
		}
		c.logs = append(c.logs, full)
	}
	slices.Sort(c.logs)
	c.logs = slices.Compact(c.logs)
	if len(c.logs) == 0 || len(c.logs) > maxFiles {
		return nil, sysexit.Hint(fault("%d files; 1 to %d can be followed", len(c.logs), maxFiles),
			"tri-watch tail FILE, or chat.tail.files in config.yaml")
	}
	switch i := slices.IndexFunc(formats, func(f format) bool { return f.name == o.Format }); {
	case o.Pattern != "":
		re, err := regexp.Compile(o.Pattern)
		if err != nil {
			return nil, fault("pattern: %w", err)
		}
		if re.SubexpIndex("nick") < 0 || re.SubexpIndex("text") < 0 {
			return nil, sysexit.Hint(fault("pattern %q lacks a group", o.Pattern),
				"write (?P<nick>…) and (?P<text>…); (?P<time>…) and (?P<room>…) may be there")
		}
		c.formats = []format{{name: "pattern", lines: []*regexp.Regexp{re}}}
	case o.Format == "":
		c.formats = formats
	case i < 0:
		return nil, sysexit.Hint(fault("no format is called %q", o.Format),
			"there are: "+strings.Join(Formats(), ", ")+"; or write a pattern")
	default:
		c.formats = formats[i : i+1]
	}
	return c, nil
}

// Run implements chat.Source. It returns when ctx ends, or when an event cannot be stored.
func (c *Client) Run(ctx context.Context, resume chat.Resume, to chat.Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	st := &state{to: to, at: map[string]position{}}
	if resume.State != nil {
		if err := json.Unmarshal(resume.State, &st.at); err != nil {
			to.Logf("tail: the saved position cannot be read: %v", err)
		}
	}
	// A log that is not followed any more keeps its position while there is room for it.
	maps.DeleteFunc(st.at, func(key string, _ position) bool {
		return len(st.at) > maxFiles-len(c.logs) &&
			!slices.ContainsFunc(c.logs, func(name string) bool { return hash([]byte(name)) == key })
	})
	// Without a log, lines from before the first start are old and are skipped. With a log but without
	// saved state the files are read from the start: known lines are dropped by their ids.
	fresh := len(resume.Last) == 0 || resume.State != nil
	var wg, ready sync.WaitGroup
	ready.Add(len(c.logs))
	for _, name := range c.logs {
		l := &log{Client: c, Handler: to, name: name, state: st, fresh: fresh,
			heard: sync.OnceFunc(ready.Done)}
		wg.Go(func() {
			defer l.heard()
			if err := l.run(ctx); err != nil {
				cancel(fmt.Errorf("tail %q: %w", name, err))
			}
		})
	}
	ready.Wait()
	if ctx.Err() == nil {
		to.OnConnect(true)
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return st.save()
}

// state is the saved state: how far each log has been read.
type state struct {
	to chat.Handler

	mu    sync.Mutex
	at    map[string]position // by the hash of the name
	saved time.Time
	dirty bool
}

func (s *state) get(name string) (position, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.at[hash([]byte(name))]
	return p, ok
}

// set sets a position; with now it is saved before set returns, else with the next save.
func (s *state) set(name string, p position, now bool) error {
	s.mu.Lock()
	s.at[hash([]byte(name))] = p
	s.dirty = true
	late := time.Since(s.saved) > time.Second
	s.mu.Unlock()
	if now || late {
		return s.save()
	}
	return nil
}

func (s *state) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		return nil
	}
	b, err := json.Marshal(s.at)
	if err != nil {
		return err
	}
	s.saved, s.dirty = time.Now(), false
	return s.to.Save(b)
}

func (c *Client) Check(context.Context) (self event.Sender, findings []chat.Finding) {
	self = event.Sender{ID: c.o.Bot, Type: "bot", Name: c.o.Bot}
	for _, name := range c.logs {
		files := series(name)
		if len(files) == 0 {
			findings = append(findings, chat.Warning("file",
				"switch logging on in the chat client, or correct the name", "%s is not there yet", name))
			continue
		}
		f, err := os.Open(files[len(files)-1])
		if err != nil {
			findings = append(findings, chat.Bad("file", "let the user that runs tri read it", "%s",
				err.Error()))
			continue
		}
		_ = f.Close() // opened for reading only
		findings = append(findings, chat.Good("file", "%s can be read", f.Name()))
	}
	return self, findings
}

// Guide describes how to watch a log.
var Guide = chat.Guide{
	Steps: `1. Switch logging on in the chat client: irssi /set autolog ON, WeeChat's logger
   plugin, ZNC's module log, a bot's own log.
2. Name the files, or try one: tri-watch tail ~/irclogs/libera/#dev.log
Nothing is posted to a log: an approved answer is for a person to copy.
`,
	Config: `  tail:
    files: ["~/irclogs/libera/#dev.log"]
`,
}
