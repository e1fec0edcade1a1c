// Package sink is the part that the sinks of all platforms share: whether a text can be sent, what
// an error means for the post, and the wait until no earlier attempt can still land. A platform
// adds its calls and a table of its error codes.
package sink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
)

// Outcome is what an error response means for the post.
type Outcome int

const (
	// Unknown: the post may be on the platform. It is looked up before it is retried.
	Unknown Outcome = iota
	// Refused: the platform will never accept this post.
	Refused
	// Busy: nothing was posted; retry after the time that the response gives.
	Busy
	// Soon: nothing was posted; retry in seconds.
	Soon
	// Blocked: nothing was posted, because of the credential, the address or the network; a person has
	// to act.
	Blocked
)

// Delays before the next attempt.
const (
	soon    = 5 * time.Second
	blocked = time.Minute
)

// ByStatus returns the outcome of an HTTP status.
func ByStatus(status int) Outcome {
	switch {
	case status >= 500 || status < 300:
		return Unknown
	case status == http.StatusTooManyRequests:
		return Busy
	case status < 400, status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusRequestTimeout:
		return Blocked
	}
	return Refused
}

// Frame is the common part of a platform's sink, which embeds it.
type Frame struct {
	Platform string
	Max      int // maximum characters of a message
	// Outcome classifies an error response. Nil: ByStatus.
	Outcome func(*httpapi.Error) Outcome
	// Explain adds a status and a hint to an error that a person can resolve. May be nil.
	Explain func(error) error

	// Joined is how long the platform merges a repeated attempt with the first (idempotency).
	Joined time.Duration
	// Settled is the age at which no part of an attempt can still be in progress. Zero: Find need not
	// wait.
	Settled time.Duration
	Now     func() time.Time
	Sleep   func(ctx context.Context, d time.Duration) error
}

func (f *Frame) Limit() int { return f.Max }

// Typing implements chat.Signaler for a platform without a typing indicator for bots.
func (f *Frame) Typing(context.Context, string, string) error {
	return fmt.Errorf("%s: typing: %w", f.Platform, chat.ErrUnsupported)
}

// Refuse returns the error of a post that is refused before it is sent.
func (f *Frame) Refuse(chatID string, cause error) error {
	return fmt.Errorf("%s: post in %q: %w: %w", f.Platform, chatID, cause, chat.ErrRefused)
}

// Check refuses a text that cannot be sent; invalid is an error that the caller found, or nil.
func (f *Frame) Check(chatID, text string, invalid error) error {
	switch n := utf8.RuneCountInString(text); {
	case invalid != nil:
		return f.Refuse(chatID, invalid)
	case strings.TrimSpace(text) == "" || n > f.Max:
		return f.Refuse(chatID, fmt.Errorf("%d characters; 1 to %d can be sent", n, f.Max))
	case !utf8.ValidString(text):
		return f.Refuse(chatID, errors.New("not valid UTF-8"))
	}
	return nil
}

// ErrUnsent marks an error that occurred before the post itself was sent.
var ErrUnsent = errors.New("nothing was sent")

// Send calls send once and classifies its error. If send returns neither an error nor an id, the
// message may have been posted.
func (f *Frame) Send(chatID string, send func() (chat.Posted, error)) (chat.Posted, error) {
	posted, err := send()
	if err == nil && posted.MessageID == "" {
		err = errors.New("the answer has no id")
	}
	if err != nil {
		return chat.Posted{}, f.sort(fmt.Errorf("%s: post in %s: %w", f.Platform, chatID, err))
	}
	return posted, nil
}

// sort turns err into a *chat.RetryError or a refusal where it is one.
func (f *Frame) sort(err error) error {
	if chat.IsRefused(err) || errors.As(err, new(*chat.RetryError)) {
		return err
	}
	outcome, e := Unknown, (*httpapi.Error)(nil)
	answered := errors.As(err, &e)
	switch {
	case httpapi.NotSent(err):
		outcome = Soon
	case errors.Is(err, ErrUnsent):
		outcome = Soon
		if answered && ByStatus(e.Status) != Unknown {
			outcome = Blocked
		}
		if answered && e.Status == http.StatusTooManyRequests {
			outcome = Busy
		}
	case !answered:
	case f.Outcome != nil:
		outcome = f.Outcome(e)
	default:
		outcome = ByStatus(e.Status)
	}
	switch outcome {
	case Refused:
		return fmt.Errorf("%w: %w", err, chat.ErrRefused)
	case Busy:
		return &chat.RetryError{After: e.After, Err: err}
	case Soon:
		return &chat.RetryError{After: soon, Err: f.explain(err)}
	case Blocked:
		return &chat.RetryError{After: blocked, Err: f.explain(err)}
	}
	return err
}

func (f *Frame) explain(err error) error {
	if f.Explain == nil {
		return err
	}
	return f.Explain(err)
}

// started is about when this process started.
var started = time.Now()

// Find calls look for an earlier attempt of p. If look finds none but the attempt may still be in
// progress, Find waits until it cannot be, and looks again. An attempt of an earlier process is at
// least as old as this process; its wall clock proves no more, since it may have been set.
func (f *Frame) Find(ctx context.Context, p chat.Post,
	look func(context.Context, chat.Post) (chat.Posted, chat.Proof, error)) (chat.Posted, chat.Proof, error) {
	asked := f.Now()
	posted, proof, err := look(ctx, p)
	if err != nil || proof != chat.Absent || p.Tried.IsZero() {
		return posted, proof, err
	}
	age := max(asked.Sub(p.Tried), 0)
	wall := asked.Round(0).Sub(p.Tried.Round(0)) // the monotonic clock may stop while the machine sleeps
	if !p.Own {
		age = min(age, time.Since(started))
	}
	if p.Own && max(age, wall) < f.Joined || age >= f.Settled {
		return posted, proof, nil
	}
	if err := f.Sleep(ctx, f.Settled-age); err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	return look(ctx, p)
}

// React sets the reactions that replace a card's buttons, on platforms without buttons for a bot.
// Existing reactions stay.
func React(ctx context.Context, s chat.Signaler, messageID string, card chat.Card) error {
	for _, b := range card.Buttons {
		if mark := chat.ButtonReactions[b.Name]; mark != "" {
			if err := s.React(ctx, card.ChatID, messageID, mark, true); err != nil {
				return fmt.Errorf("card in %s: %w", card.ChatID, err)
			}
		}
	}
	return nil
}

// Pictures replaces the control characters of text, except newline and tab, by their visible
// symbols: their handling is not documented by any platform.
func Pictures(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ':
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0:
			return utf8.RuneError
		}
		return r
	}, text)
}

// First returns the first n characters of text.
func First(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// CardText returns a card as plain text.
func CardText(card chat.Card) string { return strings.TrimSpace(card.Title + "\n\n" + card.Text) }

var (
	buttonName  = lazyregexp.New(`^[a-z]{1,12}$`)
	buttonValue = lazyregexp.New(`^[a-zA-Z0-9._:-]{0,48}$`)
)

// IsButton reports whether a click's name and value have the form of a card posted by this package.
func IsButton(name, value string) bool {
	return buttonName.MatchString(name) && buttonValue.MatchString(value)
}

// CheckButtons returns an error for a button whose name or value some platform cannot return with a
// click.
func CheckButtons(buttons []chat.Button) error {
	for _, b := range buttons {
		if !IsButton(b.Name, b.Value) {
			return sysexit.Errorf(sysexit.Software, "button %q carries %q", b.Name, b.Value)
		}
	}
	return nil
}
