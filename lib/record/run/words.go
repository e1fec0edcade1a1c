package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
)

// Kinds of Word.
const (
	Append   = "append"   // more about the question
	Redirect = "redirect" // another question in place of this one: what is under way is interrupted
	Edit     = "edit"     // a message was changed
	Withdraw = "withdraw" // a message was deleted
	Stop     = "stop"     // the run is no longer wanted
)

// Word is a line of words.ndjson: something said to a run while it works. It is durable there
// before the agent receives it.
type Word struct {
	N          int      `json:"n"`  // from 1, without gaps; set by Tell
	ID         string   `json:"id"` // WordID
	At         string   `json:"at"` // RFC 3339; set by Tell
	Kind       string   `json:"kind"`
	By         string   `json:"by"` // asker, or a person's name
	MessageIDs []string `json:"message_ids,omitempty"`
	Text       string   `json:"text"`
}

// WordID returns the id of the word that a message is: the same for every attempt to write it. edit
// distinguishes the changes of a message: its edited_at, the kind of change, "" for the message.
func WordID(key, message, edit string) string {
	return "w-" + text.SHA256(fmt.Sprintf("%s\x00%s\x00%s", key, message, edit))[:24]
}

// maxWord is the maximum size of a word's text, in bytes: its line stays below ndjson.MaxLine
// however the text is escaped.
const maxWord = 128 << 10

const (
	wordsName      = "words.ndjson"
	heardName      = "heard.ndjson"
	checkpointName = "checkpoint.json"
)

// Tell durably appends those words that the run's log does not have yet, by their ids, and returns
// how many they were. A run has one writer of words: the dispatcher, or the holder of its lock.
func Tell(h *durable.Home, id string, now time.Time, words ...Word) (added int, err error) {
	name := Folder(h, id) + "/" + wordsName
	log, err := h.OpenLog(name)
	if err != nil {
		return 0, err
	}
	_, err = log.Append(func(int64) ([]byte, error) {
		var lines bytes.Buffer
		told, err := Words(h.Path(Folder(h, id)))
		for _, w := range words {
			if err != nil || slices.ContainsFunc(told, func(t Word) bool { return t.ID == w.ID }) {
				continue
			}
			w.N, w.At, w.Text = len(told)+1, text.Timestamp(now), text.CutBytes(w.Text, maxWord)
			var line []byte
			if line, err = json.Marshal(w); err == nil {
				lines.Write(append(line, '\n'))
				told, added = append(told, w), added+1
			}
		}
		return lines.Bytes(), err
	})
	if err = errors.Join(err, log.Close()); err != nil {
		return 0, fmt.Errorf("tell run %s: %w", id, err)
	}
	return added, nil
}

// Words returns the words of the run in folder dir, in order; nil if there are none.
func Words(dir string) (words []Word, err error) {
	err = lines(dir, wordsName, func(line []byte) error {
		w, err := word(line, len(words)+1)
		words = append(words, w)
		return err
	})
	return words, err
}

// FollowWords calls fn with each word of the run in folder dir whose N is above after, and waits
// for more until ctx ends, which is not an error. Words that are not durable yet are not delivered.
func FollowWords(ctx context.Context, dir string, after int, fn func(Word) error) error {
	n := 0
	return stream.Follow(ctx, filepath.Join(dir, wordsName), 0, func(line []byte, _ int64) error {
		n++
		w, err := word(line, n)
		if err != nil || n <= after {
			return err
		}
		return fn(w)
	})
}

func word(line []byte, n int) (w Word, err error) {
	if err = ndjson.Check(line); err == nil {
		err = ndjson.Decode(line, &w)
	}
	if err == nil && w.N != n {
		err = fmt.Errorf("word %d where %d is due", w.N, n)
	}
	if err != nil {
		return w, sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", wordsName, err))
	}
	return w, nil
}

// What became of a word, the values of Heard.How.
const (
	Prompt = "prompt"    // it is in the prompt of the leg
	Sent   = "sent"      // it was written to the program
	Taken  = "taken"     // the program says that its model has it
	Unread = "cancelled" // the program gave it back unread
	Late   = "late"      // the program had ended
)

// Heard is a line of heard.ndjson: what became of a word. The run's owner writes it.
type Heard struct {
	ID   string `json:"id"` // of the word
	At   string `json:"at"` // RFC 3339
	How  string `json:"how"`
	Leg  int    `json:"leg"`            // from 1; an agent that is started again begins a leg
	Call int    `json:"call,omitempty"` // number of the model's calls before, 0 if unknown
}

// HeardLog appends to heard.ndjson.
type HeardLog struct{ log *durable.Log }

// OpenHeard opens the log of the run in folder dir. Only the run's owner may write it.
func OpenHeard(dir string) (*HeardLog, error) {
	log, err := durable.OpenLogFile(filepath.Join(dir, heardName))
	if err != nil {
		return nil, err
	}
	return &HeardLog{log}, nil
}

// Note durably appends lines.
func (l *HeardLog) Note(heard ...Heard) error {
	var b bytes.Buffer
	for _, h := range heard {
		line, err := json.Marshal(h)
		if err != nil {
			return fmt.Errorf("note what was heard: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	_, err := l.log.Append(func(int64) ([]byte, error) { return b.Bytes(), nil })
	return err
}

// Close closes the log.
func (l *HeardLog) Close() error { return l.log.Close() }

// Hearing returns the lines of heard.ndjson of the run in folder dir.
func Hearing(dir string) (all []Heard, err error) {
	err = lines(dir, heardName, func(line []byte) error {
		var h Heard
		err := ndjson.Check(line)
		if err == nil {
			err = ndjson.Decode(line, &h)
		}
		if err != nil {
			return sysexit.With(sysexit.Data, fmt.Errorf("read %s: %w", heardName, err))
		}
		all = append(all, h)
		return nil
	})
	return all, err
}

// Answered returns the ids of the words that a result answers: those in the prompt of the last leg,
// and those that its program took. What an earlier leg heard ended with it.
func Answered(all []Heard) (ids []string) {
	last := 0
	for _, h := range all {
		last = max(last, h.Leg)
	}
	for _, h := range all {
		if h.Leg == last && (h.How == Prompt || h.How == Taken) && !slices.Contains(ids, h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// lines calls fn with the whole lines of a log in a folder. A missing log is empty.
func lines(dir, name string, fn func(line []byte) error) error {
	h, err := openFolder(dir)
	if err != nil || h == nil {
		return err
	}
	return errors.Join(h.Lines(name, 0, fn), h.Close())
}

// openFolder opens an existing folder, nil if there is none.
func openFolder(dir string) (*durable.Home, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return durable.Open(dir)
}
