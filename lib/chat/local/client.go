// Package local is a chat in a folder: one file per room, one line per message, written with echo
// and read with cat or tail -f.
//
//	ana: where is the retry limit?
//	ben >0: I think in client.go
//	tri >0 [k-1]: It is 5: client.go:42. \
//		The test is beside it.
//	ben !31: no, in retry.go
//	ben !31:
//	ana ~52: ✅
//	ana ~52: -✅
//
// A message's id is the byte offset of its line. ">ID" replies in the thread of another message.
// "!ID" edits the author's own message, or deletes it if the text is empty. "~ID" reacts to a
// message with an emoji, or its name (":white_check_mark:"); a minus removes the reaction. A line
// that does not begin with a name and ": " is a message of "anon". Only lines with a [key], which
// the bot writes, continue on further lines: " \" at the end, a tab at the beginning.
//
// Whoever may write to the file may write under any name: access control is by the folder's
// permissions.
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// Platform is the name of this platform in every record.
const Platform = "local"

// Guide describes how to set up a local chat.
var Guide = chat.Guide{
	Steps: `1. mkdir a folder; each file in it is a room.
2. Say something: echo 'ana: where is the retry limit?' >> ~/chat/dev
3. Read what the bot answers: tail -f ~/chat/dev
`,
	Config: `  local:
    dir: ~/chat
    bot_name: tri
`,
}

// Limits. An escaped message of the bot and a person's line fit into an event's line of 1 MiB in
// any encoding.
const (
	maxText = 1 << 16   // runes in a message of the bot
	maxLine = 128 << 10 // bytes in a person's line
)

// Options identify the chat.
type Options struct {
	Dir   string
	Bot   string           // the bot's name; default "tri"
	Rooms []string         // rooms that the source reads; none: all
	Once  bool             // the source stops at the end of the rooms
	Now   func() time.Time // default time.Now
}

// Client reads a chat in a folder.
type Client struct {
	dir   string
	root  *os.Root
	bot   string
	rooms []string
	once  bool
	now   func() time.Time
}

var (
	_ chat.Source   = (*Client)(nil)
	_ chat.Checker  = (*Client)(nil)
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// New opens the chat in an existing folder.
func New(o Options) (*Client, error) {
	if o.Bot == "" {
		o.Bot = "tri"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if h, _, ok := parse(o.Bot + ":"); !ok || h.name != o.Bot || h.name == anon {
		return nil, sysexit.Errorf(sysexit.Config, "local chat: %q cannot be a name in a room", o.Bot)
	}
	if o.Dir == "" {
		err := sysexit.Errorf(sysexit.Usage, "local chat: which folder?")
		return nil, sysexit.Hint(err, "name it, or set chat.local.dir in config.yaml")
	}
	root, err := os.OpenRoot(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = sysexit.Errorf(sysexit.NoInput, "local chat %q: %w", o.Dir, err)
		return nil, sysexit.Hint(err, "a local chat is a folder with a file for each room: mkdir it")
	}
	if err != nil {
		return nil, fmt.Errorf("local chat %q: %w", o.Dir, err)
	}
	return &Client{dir: o.Dir, root: root, bot: o.Bot, rooms: o.Rooms, once: o.Once, now: o.Now}, nil
}

// Close closes the folder.
func (c *Client) Close() error { return c.root.Close() }

// errHidden means that a name is not a room and is silently ignored: editors and tools create dot
// files and folders.
var errHidden = errors.New("not a room: a folder, or its name begins with a dot")

// RoomName returns why name is not valid for a room, or nil. The name goes into file names, records
// and terminals and must be harmless in all of them.
func RoomName(name string) error {
	if strings.HasPrefix(name, ".") {
		return errHidden
	}
	if len(name) == 0 || len(name) > 100 || !utf8.ValidString(name) {
		return fmt.Errorf("room %q: a name has 1 to 100 bytes of UTF-8", name)
	}
	for i, r := range name {
		plain := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) ||
			strings.ContainsRune("._-#+", r)
		if !plain || i == 0 && r == '-' {
			return fmt.Errorf("room %q: a name has letters, digits and . _ - # + only", name)
		}
	}
	return nil
}

// open opens a room, which must be a regular file: a link could lead to another room, and opening a
// FIFO would block.
func (c *Client) open(name string, flag int) (*os.File, error) {
	if err := RoomName(name); err != nil {
		return nil, err
	}
	info, err := c.root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("room %q: %w", name, err)
	}
	if info.IsDir() {
		return nil, errHidden
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("room %q: not a plain file", name)
	}
	f, err := c.root.OpenFile(name, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("room %q: %w", name, err)
	}
	return f, nil
}

// Check implements chat.Checker: it names the files of the folder that are not read, since they are not
// rooms.
func (c *Client) Check(context.Context) (self event.Sender, findings []chat.Finding) {
	findings = []chat.Finding{chat.Good("folder", "%s", c.dir)}
	names, err := c.names()
	if err != nil {
		return self, []chat.Finding{chat.Bad("folder", "let this account read it", "%s", err.Error())}
	}
	for _, name := range names {
		f, err := c.open(name, os.O_RDONLY)
		switch {
		case err == nil:
			_ = f.Close() // it was only opened
		case !errors.Is(err, errHidden) && !errors.Is(err, fs.ErrNotExist):
			findings = append(findings, chat.Warning("room",
				"rename or remove it: tri-watch does not read it", "%s", err.Error()))
		}
	}
	return self, findings
}

// names returns the names in the folder, sorted.
func (c *Client) names() ([]string, error) {
	dir, err := c.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("local chat %q: %w", c.dir, err)
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, fmt.Errorf("local chat %q: %w", c.dir, err)
	}
	slices.Sort(names)
	return names, nil
}

// size returns the size of a room that is a regular file, and -1 otherwise.
func (c *Client) size(name string) int64 {
	if info, err := c.root.Lstat(name); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return -1
}
