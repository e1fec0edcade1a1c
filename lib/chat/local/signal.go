package local

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"tri/lib/base/text"
	"tri/lib/chat"
)

// React implements chat.Signaler. A reaction is not written if it changes nothing.
func (c *Sink) React(_ context.Context, chatID, messageID, char string, on bool) error {
	to, err := strconv.ParseInt(messageID, 10, 64)
	text := char
	if !on {
		text = "-" + char
	}
	line := fmt.Sprintf("%s ~%d: %s\n", c.bot, to, text)
	if h, _, ok := parse(strings.TrimSuffix(line, "\n")); err != nil || !ok || h.mark != '~' {
		return fmt.Errorf("local chat: react with %q to %q: %w", char, messageID, chat.ErrUnsupported)
	}
	return c.locked(chatID, os.O_RDWR|os.O_APPEND, func(f *os.File) error {
		s, err := c.look(f, chat.Post{ChatID: chatID})
		if err != nil {
			return err
		}
		m := s.messages[to]
		if m == nil || m.gone {
			return refuse("react: message %d is not in room %q", to, chatID)
		}
		if char, _, _ := reaction(char); m.marks[c.bot+" "+char] == on {
			return nil
		}
		_, err = c.append(f, s, line)
		return err
	})
}

// Typing implements chat.Signaler: a file has no typing indicator.
func (c *Sink) Typing(context.Context, string, string) error { return chat.ErrUnsupported }

func (c *Sink) Edit(_ context.Context, chatID, messageID, text string) error {
	sum := sha256.Sum256([]byte(text))
	return c.change(chatID, messageID, fmt.Sprintf("edit-%x", sum[:8]), text)
}

// PostCard implements chat.Signaler, with a message that lists the reaction for each button.
func (c *Sink) PostCard(_ context.Context, card chat.Card) (posted chat.Posted, err error) {
	text := card.WithReactions()
	if card.ThreadID != "" {
		return c.Post(context.Background(),
			chat.Post{ChatID: card.ChatID, ThreadID: card.ThreadID, Text: text, Key: card.Key})
	}
	line := fmt.Sprintf("%s [%s]: %s\n", c.bot, card.Key, encodeText(text))
	if err := writable(line, card.Key, text); err != nil {
		return posted, err
	}
	err = c.locked(card.ChatID, os.O_RDWR|os.O_APPEND, func(f *os.File) error {
		s, err := c.look(f, chat.Post{ChatID: card.ChatID, Key: card.Key, Text: text})
		if err == nil && s.proof == chat.Found {
			posted = s.posted
			return finish(f, s)
		} else if err == nil {
			posted, err = c.append(f, s, line)
		}
		return err
	})
	return posted, err
}

// finish adds the newline that is missing if the last writer was killed.
func finish(f *os.File, s *sight) error {
	if !s.open {
		return nil
	}
	if _, err := f.WriteString("\n"); err != nil {
		return fmt.Errorf("write to room %q: %w", s.name, err)
	}
	return nil
}

func (c *Sink) UpdateCard(_ context.Context, messageID string, card chat.Card) error {
	return c.change(card.ChatID, messageID, card.Key, card.WithReactions())
}

// writable refuses a text that cannot be a line of a room.
func writable(line, key, text string) error {
	if h, _, ok := parse(line[:strings.IndexByte(line, '\n')]); !ok || h.key != key {
		return refuse("card %q: not a key", key)
	}
	if strings.TrimSpace(text) == "" || utf8.RuneCountInString(text) > maxText {
		return refuse("card %s: 1 to %d characters can be written", key, maxText)
	}
	return nil
}

// change writes a new text of a message of the bot, unless it already has that text.
func (c *Sink) change(chatID, messageID, key, body string) error {
	of, err := strconv.ParseInt(messageID, 10, 64)
	if err != nil {
		return refuse("edit %q: no message id", messageID)
	}
	line := fmt.Sprintf("%s !%d [%s]: %s\n", c.bot, of, key, encodeText(body))
	if err := writable(line, key, body); err != nil {
		return err
	}
	return c.locked(chatID, os.O_RDWR|os.O_APPEND, func(f *os.File) error {
		s := &sight{room: newRoom(chatID, c.bot)}
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("room %q: %w", chatID, err)
		}
		stands := ""
		_, err = walk(f, 0, info.Size(), true, func(off int64, l []byte, long error) error {
			if long != nil {
				return nil
			}
			if e, err := s.add(off, string(l), info.ModTime()); e.id == of &&
				(err == nil || errors.As(err, new(*fault))) {
				stands = e.text
			}
			return nil
		})
		if err == nil {
			s.open, err = unfinished(f, info.Size())
		}
		switch m := s.messages[of]; {
		case err != nil:
			return fmt.Errorf("room %q: %w", chatID, err)
		case m == nil || m.gone || m.author != c.bot:
			return refuse("edit %s: no message of %q in room %q", messageID, c.bot, chatID)
		case stands == text.Visible(body):
			return finish(f, s)
		}
		_, err = c.append(f, s, line)
		return err
	})
}
