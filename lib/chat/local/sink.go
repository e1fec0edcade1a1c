package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"tri/lib/chat"
)

// Sink writes the bot's messages. It is separate from Client so that a watcher, which uses only
// Client, links no code that can post.
type Sink struct{ *Client }

// NewSink opens the chat in an existing folder for writing.
func NewSink(o Options) (*Sink, error) {
	c, err := New(o)
	if err != nil {
		return nil, err
	}
	return &Sink{c}, nil
}

func (c *Sink) Limit() int { return maxText }

// Post appends the message with one write and makes it durable. It does not write a message whose
// key is already in the room.
func (c *Sink) Post(_ context.Context, p chat.Post) (chat.Posted, error) {
	thread, err := c.check(p)
	if err != nil {
		return chat.Posted{}, err
	}
	var posted chat.Posted
	err = c.locked(p.ChatID, os.O_RDWR|os.O_APPEND, func(f *os.File) error {
		s, err := c.look(f, p)
		if err != nil {
			return err
		}
		switch m := s.messages[thread]; {
		case s.proof == chat.Found:
			posted = s.posted
			return nil
		case m == nil || m.gone:
			return refuse("post %s: thread %s is not in room %q", p.Key, p.ThreadID, p.ChatID)
		}
		posted, err = c.append(f, s, encode(c.bot, thread, p.Key, p.Text))
		return err
	})
	return posted, err
}

// check refuses a post that cannot be a line of a room.
func (c *Sink) check(p chat.Post) (thread int64, err error) {
	thread, err = strconv.ParseInt(p.ThreadID, 10, 64)
	switch {
	case err != nil || thread < 0:
		return 0, refuse("post %s: %q is not a message id", p.Key, p.ThreadID)
	case strings.TrimSpace(p.Text) == "":
		return 0, refuse("post %s: no text", p.Key)
	case utf8.RuneCountInString(p.Text) > maxText:
		return 0, refuse("post %s: longer than %d characters", p.Key, maxText)
	}
	line := encode(c.bot, thread, p.Key, p.Text)
	if h, _, ok := parse(line[:strings.IndexByte(line, '\n')]); !ok || h.key != p.Key || h.id != thread {
		return 0, refuse("post %q: not a key", p.Key)
	}
	return thread, nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, chat.ErrRefused)...)
}

// isTransient reports whether err is caused by the disk or the machine, not by the room, and so may be
// temporary.
func isTransient(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) &&
		errno != syscall.ENOTDIR && errno != syscall.ELOOP
}

// locked runs fn with the room open under its lock. Only this project's programs take the lock;
// people append without it.
func (c *Sink) locked(name string, flag int, fn func(*os.File) error) error {
	f, err := c.open(name, flag)
	if isTransient(err) {
		return &chat.RetryError{After: time.Second, Err: err}
	}
	if err != nil {
		return refuse("room %q: %v", name, err)
	}
	defer f.Close() // also releases the lock
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return fmt.Errorf("lock room %q: %w", name, err)
	}
	return fn(f)
}

// sight is the state of a room that the sink needs.
type sight struct {
	*room
	proof  chat.Proof // of the post that is looked for
	posted chat.Posted
	torn   []int64 // incomplete copies of it, left by a killed writer
	open   bool    // the last line has no newline
}

// look reads the room for a post. Only the bot writes keys, under the lock that
// the caller holds, so a post that is absent cannot land later.
func (c *Sink) look(f *os.File, p chat.Post) (*sight, error) {
	s := &sight{room: newRoom(p.ChatID, c.bot), proof: chat.Absent}
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("room %q: %w", p.ChatID, err)
	}
	want := encodeText(p.Text)
	odd := false
	_, err = walk(f, 0, info.Size(), true, func(off int64, line []byte, long error) error {
		if long != nil {
			return nil
		}
		e, err := s.add(off, string(line), info.ModTime())
		if err != nil && !errors.As(err, new(*fault)) || e.edit || e.key != p.Key ||
			s.messages[e.id].author != c.bot {
			return nil
		}
		switch {
		// If a complete post lost its newline, somebody's line may follow it directly.
		case strings.HasPrefix(e.body, want) && s.proof != chat.Found:
			s.proof, s.posted = chat.Found, chat.Posted{MessageID: id(off), At: info.ModTime()}
		case strings.HasPrefix(want, e.body):
			s.torn = append(s.torn, off)
		default:
			odd = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("room %q: %w", p.ChatID, err)
	}
	if odd && s.proof != chat.Found {
		s.proof = chat.Unprovable
	}
	s.open, err = unfinished(f, info.Size())
	return s, err
}

// unfinished reports whether the last line has no newline.
func unfinished(f *os.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var last [1]byte
	_, err := f.ReadAt(last[:], size-1)
	return last[0] != '\n', err
}

// append writes line with one write, so that a person's echo goes before or after it, never inside.
func (c *Sink) append(f *os.File, s *sight, line string) (chat.Posted, error) {
	prefix := ""
	if s.open {
		// A writer was killed, or a person's editor or printf left no newline. Complete that line:
		// appending to it would join two messages, and waiting would not help its author.
		prefix = "\n"
	}
	for _, off := range s.torn {
		if !s.messages[off].gone {
			prefix += fmt.Sprintf("%s !%d:\n", c.bot, off)
		}
	}
	if _, err := f.WriteString(prefix + line); err != nil {
		return chat.Posted{}, fmt.Errorf("post to room %q: %w", s.name, err)
	}
	if err := f.Sync(); err != nil {
		return chat.Posted{}, fmt.Errorf("post to room %q: %w", s.name, err)
	}
	end, err := f.Seek(0, 1) // the end of this write, even if others have appended since
	if err != nil {
		return chat.Posted{}, fmt.Errorf("post to room %q: %w", s.name, err)
	}
	start := end - int64(len(line))
	var before [1]byte
	if start > 0 {
		if _, err := f.ReadAt(before[:], start-1); err != nil || before[0] != '\n' {
			return chat.Posted{}, fmt.Errorf("post to room %q: an unfinished line of another writer is before it",
				s.name)
		}
	}
	return chat.Posted{MessageID: id(start), At: c.now()}, nil
}

// Find looks for a post by its key and text. An incomplete post does not count: Post deletes it and
// writes it anew.
func (c *Sink) Find(_ context.Context, p chat.Post) (chat.Posted, chat.Proof, error) {
	var s *sight
	err := c.locked(p.ChatID, os.O_RDWR|os.O_APPEND, func(f *os.File) (err error) {
		if s, err = c.look(f, p); err == nil && s.proof == chat.Found && s.open {
			// Add the newline that a killed writer left out, if it is this post's.
			_, err = f.WriteString("\n")
		}
		return err
	})
	if err != nil {
		return chat.Posted{}, chat.Unprovable, fmt.Errorf("find %s: %w", p.Key, err)
	}
	return s.posted, s.proof, nil
}

// Message implements chat.Sink. A message that does not exist counts as deleted.
func (c *Sink) Message(_ context.Context, chatID, messageID string) (text string, gone bool, err error) {
	want, err := strconv.ParseInt(messageID, 10, 64)
	if err != nil {
		return "", false, fmt.Errorf("message %q: not an id of a local chat", messageID)
	}
	f, err := c.open(chatID, os.O_RDONLY)
	if err != nil {
		return "", false, fmt.Errorf("message %s: %w", messageID, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, fmt.Errorf("message %s: %w", messageID, err)
	}
	r, gone := newRoom(chatID, c.bot), true
	_, err = walk(f, 0, info.Size(), false, func(off int64, line []byte, long error) error {
		if long != nil {
			return nil
		}
		e, err := r.add(off, string(line), info.ModTime())
		if e.id == want && (err == nil || errors.As(err, new(*fault))) {
			text, gone = e.text, e.deleted
		}
		return nil
	})
	if err != nil {
		return "", false, fmt.Errorf("message %s: %w", messageID, err)
	}
	return text, gone, nil
}
