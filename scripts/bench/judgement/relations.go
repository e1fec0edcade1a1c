package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tri/lib/judge/relation"
	"tri/lib/record/event"
)

// related is a line of data/relations: what a reader says a message does to its asker's open question.
type related struct{ room, id, question, half, kind string }

// unscored is the label of a message that is small talk: whatever it is taken for changes nothing.
const unscored = "none"

var relationKinds = []string{relation.Ack, relation.Status, relation.Cancel, relation.Redirect,
	relation.Answer, relation.Branch, relation.Append}

func readRelated(path string) (all []related, err error) {
	text, err := os.ReadFile(path)
	for n, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		f := strings.Split(l, "\t")
		if len(f) != 5 || f[4] != unscored && !slices.Contains(relationKinds, f[4]) {
			return nil, fmt.Errorf("%s:%d: not a room, two ids, a half and a kind", path, n+1)
		}
		all = append(all, related{f[0], f[1], f[2], f[3], f[4]})
	}
	return all, err
}

// readMade reads messages that one author made, in eight languages, and writes a room for each into dir: a
// question, what somebody else asks back if anything, and the message.
func readMade(path, dir string) (all []related, err error) {
	text, err := os.ReadFile(path)
	for n, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		f := strings.Split(l, "\t")
		if len(f) != 5 || !slices.Contains(relationKinds, f[1]) {
			return nil, fmt.Errorf("%s:%d: not a language, a kind and three texts", path, n+1)
		}
		var lines []byte
		for i, said := range []struct{ id, who, text string }{{"q", "ana", f[2]}, {"b", "ben", f[3]},
			{"m", "ana", f[4]}} {
			to := []string{}
			switch {
			case said.text == "":
				continue
			case said.who == "ben":
				to = []string{"ana"}
			}
			line, _ := json.Marshal(map[string]any{"seq": len(lines), "platform": "local", "chat_id": "c", // plain
				"chat_name": "c", "message_id": said.id, "msg_type": "text", "thread_id": nil,
				"create_time": stamp(float64(60 * i)), "content": said.text, "mentions": to,
				"sender": map[string]string{"id": said.who, "name": said.who, "type": "user"}})
			lines = append(append(lines, line...), '\n')
		}
		room := fmt.Sprint("made-", n+1)
		if err := os.WriteFile(filepath.Join(dir, room+".ndjson"), lines, 0o600); err != nil {
			return nil, err
		}
		all = append(all, related{room, "m", "q", "made", f[1]})
	}
	return all, err
}

// relationsPart scores the rules on messages in a row of two kinds of chat, on messages with a cue of a rare
// kind, and on made ones. Only the rows have the base rates of a room.
func relationsPart(out io.Writer, in inputs) error {
	dir, err := os.MkdirTemp("", "relations")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, sample := range []string{"rows", "cued", "slack", "made"} {
		read, chat := readRelated, in.chat
		if sample == "made" {
			read, chat = func(path string) ([]related, error) { return readMade(path, dir) }, dir
		}
		labels, err := read(filepath.Join(in.data, "relations", sample+".tsv"))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s: %d messages\n", sample, len(labels))
		if err := judgeRelations(out, chat, labels); err != nil {
			return err
		}
	}
	return nil
}

// judgeRelations prints how right the rules are on the labels of a sample, by half.
func judgeRelations(out io.Writer, chat string, labels []related) (err error) {
	scored := map[string]map[string]*yesNo{}
	wrong := map[string]int{}
	var t *talk
	for i, l := range labels {
		if i == 0 || labels[i-1].room != l.room {
			if t, err = readTalk(filepath.Join(chat, l.room+".ndjson")); err != nil {
				return err
			}
		}
		if i == 0 || labels[i-1].room != l.room || labels[i-1].question != l.question {
			t.begin(l.question)
		}
		got, err := t.judge(l)
		if err != nil {
			return err
		}
		if l.kind == unscored {
			continue
		}
		if scored[l.half] == nil {
			scored[l.half] = map[string]*yesNo{}
		}
		for _, kind := range relationKinds {
			if scored[l.half][kind] == nil {
				scored[l.half][kind] = &yesNo{}
			}
			scored[l.half][kind].add(got == kind, l.kind == kind)
		}
		if got != l.kind {
			wrong[l.half+", "+l.kind+" taken for "+got]++
		}
	}
	for _, half := range sorted(scored) {
		sum, n := 0.0, 0
		for _, kind := range relationKinds {
			if c := scored[half][kind]; c.want+c.said > 0 {
				c.print(out, half+", "+kind)
				if c.want > 0 {
					sum, n = sum+c.f1(), n+1
				}
			}
		}
		fmt.Fprintf(out, "  %s, macro F1 of %d kinds: %.3f\n", half, n, sum/float64(max(1, n)))
	}
	for _, what := range sorted(wrong) {
		fmt.Fprintf(out, "    %3d  %s\n", wrong[what], what)
	}
	return nil
}

// talk is a room with the open items of one asker.
type talk struct {
	messages []event.Classified
	at       map[string]int
	items    []relation.Item
	last     int // the asker's message before
}

func readTalk(path string) (*talk, error) {
	byID, err := roomOf(path)
	if err != nil {
		return nil, err
	}
	lines, err := records[event.Classified](path)
	t := &talk{at: map[string]int{}}
	for i, l := range lines {
		t.at[l.MessageID] = i
		t.messages = append(t.messages, byID[l.MessageID])
	}
	return t, err
}

func (t *talk) begin(question string) {
	t.last = t.at[question]
	q := t.messages[t.last]
	t.items = []relation.Item{{Texts: []string{q.Content}, IDs: []string{q.MessageID}}}
}

// judge has the rules judge a message as tri-dispatch does, and then adds it to the items as its label says.
func (t *talk) judge(l related) (string, error) {
	i, ok := t.at[l.id]
	if !ok {
		return "", fmt.Errorf("there is no message %q in %s", l.id, l.room)
	}
	e := t.messages[i]
	for _, own := range t.messages[t.last+1 : i] { // of a message with a cue, those before it have no label
		if own.Sender.ID == e.Sender.ID {
			t.last, t.items[0].Texts = t.at[own.MessageID], append(t.items[0].Texts, own.Content)
		}
	}
	last, asked := &t.items[len(t.items)-1], false
	for _, other := range t.messages[t.turnBefore(e, i)+1 : i] {
		if other.Sender.ID != e.Sender.ID && (talksIn(other, e) ||
			slices.Contains(other.Mentions, e.Sender.ID)) {
			asked = asked || strings.ContainsAny(other.Content, "?？")
		}
	}
	last.Asked = asked
	m := relation.Message{Text: e.Content, Names: relation.Names{People: e.Mentions},
		Asks: e.Classification == event.Actionable}
	m.Ack = e.IsAckOrEmoji && !e.IsQuestion && !relation.Withdraws(e.Content, m.Names)
	m.Elsewhere = !talksIn(e, t.messages[t.at[last.IDs[len(last.IDs)-1]]])
	got := relation.Judge(m, t.items).Kind
	t.last = i
	switch l.kind {
	case relation.Branch:
		t.items = append(t.items, relation.Item{Texts: []string{e.Content}, IDs: []string{e.MessageID}})
	case relation.Append, relation.Answer, relation.Redirect:
		last.Texts, last.IDs = append(last.Texts, e.Content), append(last.IDs, e.MessageID)
	}
	return got, nil
}

// turnBefore returns the position of the sender's last message before the turn of e, which is at i, or -1.
func (t *talk) turnBefore(e event.Classified, i int) int {
	for i--; i >= 0; i-- {
		if t.messages[i].Sender.ID == e.Sender.ID && t.messages[i].TurnID != e.TurnID {
			break
		}
	}
	return i
}

// talksIn reports whether tri-thread puts two messages into one conversation.
func talksIn(a, b event.Classified) bool {
	of := func(e event.Classified) string {
		if e.ThreadID == nil {
			return e.MessageID
		}
		return *e.ThreadID
	}
	return of(a) == of(b)
}
