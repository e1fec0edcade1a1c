// Package local is a chat in a folder: one file a room, one line a message, written with
// echo and read with cat or tail -f.
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
// A message's id is the byte offset of its line. ">ID" puts a message into the
// thread of another, "!ID" changes one's own message, and with no text deletes
// it. "~ID" reacts to one with an emoji, or its name (":white_check_mark:"), and
// with a minus takes that away. A line that does not begin with a name and ": " is a message of "anon".
// Only lines with a [key], which are the bot's, go on in further lines: " \" at
// the end, a tab at the beginning. Who may write to the file may write as
// anybody: the folder's permissions are the accounts.
package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

// Platform is the name of this chat in every record.
const Platform = "local"

// Guide is how a local chat is set up.
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

// Limits. A message of the bot, escaped, and a person's line stay inside an
// event's line of 1 MiB however they are encoded.
const (
	maxText = 1 << 16   // runes in a message of the bot
	maxLine = 128 << 10 // bytes in a line that a person wrote
)

// Options say which chat.
type Options struct {
	Dir   string
	Bot   string           // the bot's name; default "tri"
	Rooms []string         // those that the source reads; none: all
	Once  bool             // the source ends when it has read what is there
	Now   func() time.Time // default time.Now
}

// Client is a chat in a folder, to read.
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
	_ chat.Sink     = (*Sink)(nil)
	_ chat.Signaler = (*Sink)(nil)
)

// New opens the chat in a folder that is there.
func New(o Options) (*Client, error) {
	if o.Bot == "" {
		o.Bot = "tri"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if h, _, ok := parse(o.Bot + ":"); !ok || h.name != o.Bot || h.name == anon {
		return nil, sysexit.With(sysexit.Config, fmt.Errorf("local chat: %q cannot be a name in a room", o.Bot))
	}
	if o.Dir == "" {
		err := sysexit.With(sysexit.Usage, errors.New("local chat: which folder?"))
		return nil, sysexit.Hint(err, "name it, or set chat.local.dir in config.yaml")
	}
	root, err := os.OpenRoot(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = sysexit.With(sysexit.NoInput, fmt.Errorf("local chat %q: %w", o.Dir, err))
		return nil, sysexit.Hint(err, "a local chat is a folder with a file for each room: mkdir it")
	}
	if err != nil {
		return nil, fmt.Errorf("local chat %q: %w", o.Dir, err)
	}
	return &Client{dir: o.Dir, root: root, bot: o.Bot, rooms: o.Rooms, once: o.Once, now: o.Now}, nil
}

// Close closes the folder.
func (c *Client) Close() error { return c.root.Close() }

// errHidden is a name that is no room and needs no word: editors and tools
// leave dot files and folders.
var errHidden = errors.New("hidden")

// roomName says why name cannot be a room's. It goes into file names, records
// and terminals, so it is kept to what is harmless in all of them.
func roomName(name string) error {
	if strings.HasPrefix(name, ".") {
		return errHidden
	}
	if len(name) == 0 || len(name) > 100 || !utf8.ValidString(name) {
		return fmt.Errorf("room %q: a name has 1 to 100 bytes of UTF-8", name)
	}
	for i, r := range name {
		plain := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || strings.ContainsRune("._-#+", r)
		if !plain || i == 0 && r == '-' {
			return fmt.Errorf("room %q: a name has letters, digits and . _ - # + only", name)
		}
	}
	return nil
}

// open opens a room, a plain file and nothing else: a link could lead to
// another room, a FIFO would wait for ever.
func (c *Client) open(name string, flag int) (*os.File, error) {
	if err := roomName(name); err != nil {
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
