package teams

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"tri/lib/base/httpapi"
	"tri/lib/chat"
)

var _ chat.Signaler = (*Sink)(nil)

// React implements chat.Signaler: a bot cannot react in Teams.
func (s *Sink) React(context.Context, string, string, string, bool) error {
	return chat.ErrUnsupported
}

// Typing implements chat.Signaler: the indicator is shown for a few seconds.
func (s *Sink) Typing(ctx context.Context, chatID, threadID string) error {
	if err := s.postable(chatID, threadID, "typing"); err != nil {
		return err
	}
	in := map[string]any{"type": "typing", "from": map[string]any{"id": s.botID()}}
	return s.service.do(ctx, httpapi.Request{Method: http.MethodPost, Path: conversationOf(chatID, threadID),
		JSON: in}, nil, s.service.api.Once)
}

func (s *Sink) Edit(ctx context.Context, chatID, messageID, text string) error {
	if err := s.postable(chatID, messageID, text); err != nil {
		return err
	}
	_, err := s.send(ctx, chatID, http.MethodPut, conversationOf(chatID, "")+"/"+place(messageID),
		s.messageActivity(text))
	return err
}

// PostCard implements chat.Signaler, with an Adaptive Card.
// https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/universal-actions-for-adaptive-cards/overview
func (s *Sink) PostCard(ctx context.Context, card chat.Card) (chat.Posted, error) {
	if err := s.postable(card.ChatID, card.ThreadID, card.Title+card.Text); err != nil {
		return chat.Posted{}, err
	}
	return s.send(ctx, card.ChatID, http.MethodPost, conversationOf(card.ChatID, card.ThreadID),
		s.cardActivity(card))
}

func (s *Sink) UpdateCard(ctx context.Context, messageID string, card chat.Card) error {
	if err := s.postable(card.ChatID, messageID, card.Title+card.Text); err != nil {
		return err
	}
	_, err := s.send(ctx, card.ChatID, http.MethodPut, conversationOf(card.ChatID, "")+"/"+place(messageID),
		s.cardActivity(card))
	if err != nil {
		return fmt.Errorf("teams: card %s: %w", messageID, err)
	}
	return nil
}

// cardActivity returns a card as an activity. A TextRun, unlike a TextBlock, is never interpreted as
// Markdown.
func (s *Sink) cardActivity(card chat.Card) map[string]any {
	type m = map[string]any
	block := func(text string, bold bool) m {
		run := m{"type": "TextRun", "text": text}
		if bold {
			run["weight"] = "Bolder"
		}
		return m{"type": "RichTextBlock", "inlines": []m{run}}
	}
	var body, actions []m
	if card.Title != "" {
		body = append(body, block(shown(card.Title), true))
	}
	for line := range strings.SplitSeq(shown(card.Text), "\n") {
		if line != "" {
			body = append(body, block(line, false))
		}
	}
	for _, b := range card.Buttons {
		style := "default"
		switch b.Style {
		case "primary":
			style = "positive"
		case "danger":
			style = "destructive"
		}
		actions = append(actions, m{"type": "Action.Execute", "title": shown(b.Label), "verb": b.Name,
			"style": style, "data": m{"tri": b.Value}})
	}
	content := m{"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"version": "1.4", "body": body}
	if actions != nil {
		content["actions"] = actions
	}
	return m{
		"type": "message", "from": m{"id": s.botID()}, "summary": shown(card.Title),
		"attachments": []m{{"contentType": "application/vnd.microsoft.card.adaptive", "content": content}},
	}
}
