package dispatch

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/prompt"
	"tri/lib/judge/intent"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/event"
	"tri/lib/record/run"
)

// second asks a small model which of the two best intents of the rules a message of an inbox has, where they
// are close. It runs where events are read, so that a slow model delays no other input. A nil one asks
// nothing.
type second struct {
	Options
	book *budget.Book
	rest time.Time // until when it is not asked, after a failure
}

const (
	secondLasts = 10 * time.Second // that an answer may take
	secondRests = time.Minute      // after a failure
)

func openSecond(o Options) (*second, error) {
	if o.Second == nil || !o.Config.Inbox.Model {
		return nil, nil
	}
	book, err := budget.Open(o.Home, o.Config.Budget)
	return &second{Options: o, book: book}, err
}

func (s *second) close() error {
	if s == nil {
		return nil
	}
	return s.book.Close()
}

// ask returns the intent that the model prefers, "" if it was not asked. What is not an intent says why there
// is none. The error is that of the spend log.
func (s *second) ask(ctx context.Context, e *event.Classified) (string, error) {
	if s == nil || e.Sender.Type == "bot" || changes(e) || !s.Config.IsInbox(e.Platform, e.ChatID) ||
		s.Now().Before(s.rest) {
		return "", nil
	}
	in := intent.Judge(messageOf(e))
	if in.Next == "" || in.Margin >= *s.Config.Inbox.Margin {
		return "", nil
	}
	id := "intent-" + decision.Sum(e.Identity())[:24]
	if s.book.Reserved(id) {
		return "", nil // it was asked before a kill, and is not paid twice
	}
	err := s.book.Take(budget.Run{ID: id, Key: e.Key(), Person: e.Sender.ID, Work: budget.Intent,
		Agent: s.Config.Voice.Model.Agent}, s.Now())
	if errors.Is(err, budget.ErrSpent) {
		return "no-budget", nil
	}
	if err != nil {
		return "", err
	}
	res, err := s.run(ctx, e.Content, in)
	if failed := s.book.Settle(id, e.Key(), e.Sender.ID, &res.Usage, s.Now()); failed != nil {
		return "", failed
	}
	if err != nil {
		s.rest = s.Now().Add(secondRests)
		return "failed", nil
	}
	return cmp.Or(strings.ToLower(strings.Trim(res.Text, " \t\r\n.`\"'*")), "nothing"), nil
}

func (s *second) run(ctx context.Context, said string, in intent.Intent) (res agent.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, secondLasts)
	defer cancel()
	dir, err := os.MkdirTemp("", "tri-intent-")
	if err != nil {
		return res, err
	}
	defer os.RemoveAll(dir)
	empty := filepath.Join(dir, "empty") // it has nothing to read
	if err := os.Mkdir(empty, 0o700); err != nil {
		return res, err
	}
	asked, err := s.Prompts.Render("intent.md", map[string]any{
		"Message": prompt.Quote("message", prompt.Cut(said, maxSource)), "First": in.Name, "Second": in.Next,
	})
	if err != nil {
		return res, err
	}
	return s.Second.Run(ctx, agent.Task{Prompt: asked, Question: said, Codebase: empty, Dir: dir,
		SessionID: run.UUID()})
}
