// Package sink is what the sinks of all platforms have in common: whether a text can
// be sent, what an error means for the post, and the wait until nothing can be left
// of an earlier try. A platform brings its calls and a table of its error codes.
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
	"tri/lib/chat"
)

// Outcome is what an answer that says no means for the post.
type Outcome int

const (
	// Unknown: the post may be on the platform. It is looked for before it is tried again.
	Unknown Outcome = iota
	// Refused: the platform will never take this post.
	Refused
	// Busy: nothing was posted; try again after as long as the answer says.
	Busy
	// Soon: nothing was posted; try again in seconds.
	Soon
	// Blocked: nothing was posted, because of the credential, the address or the way
	// there; a person has to act.
	Blocked
)

// How long to wait before the next try.
const (
	soon    = 5 * time.Second
	blocked = time.Minute
)

// ByStatus is the outcome of an HTTP status.
func ByStatus(status int) Outcome {
	switch {
	case status >= 500 || status < 300:
		return Unknown
	case status == http.StatusTooManyRequests:
		return Busy
	case status < 400, status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout:
		return Blocked
	}
	return Refused
}

// Frame is the common part of one platform's sink.
type Frame struct {
	Platform string
	Limit    int // characters of a message
	// Outcome says what an answer means. Nil: ByStatus.
	Outcome func(*httpapi.Error) Outcome
	// Explain gives an error that a person can act on its status and hint. May be nil.
	Explain func(error) error

	// Joined is how long the platform joins a repeated try with the first.
	Joined time.Duration
	// Settled is how old a try is when nothing of it can be under way any more. Zero:
	// Find need not wait.
	Settled time.Duration
	Now     func() time.Time
	Sleep   func(ctx context.Context, d time.Duration) error
}

// Refuse returns the error of a post that is refused unsent.
func (f *Frame) Refuse(chatID string, cause error) error {
	return fmt.Errorf("%s: post in %q: %w: %w", f.Platform, chatID, cause, chat.ErrRefused)
}

// Check refuses a text that cannot be sent; invalid is what else is wrong, nil for
// nothing.
func (f *Frame) Check(chatID, text string, invalid error) error {
	switch n := utf8.RuneCountInString(text); {
	case invalid != nil:
		return f.Refuse(chatID, invalid)
	case strings.TrimSpace(text) == "" || n > f.Limit:
		return f.Refuse(chatID, fmt.Errorf("%d characters; 1 to %d can be sent", n, f.Limit))
	case !utf8.ValidString(text):
		return f.Refuse(chatID, errors.New("not valid UTF-8"))
	}
	return nil
}

// ErrUnsent marks an error from before the post itself was sent.
var ErrUnsent = errors.New("nothing was sent")

// Send calls send once, and says what its error means for the post. A send that
// returns no error and no id may have posted.
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

// sort makes err a *chat.RetryError or a refusal where it is one.
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

// Find calls look for an earlier try of p. Where it finds none and the try may still
// be under way, it waits until it cannot, and looks again.
func (f *Frame) Find(ctx context.Context, p chat.Post, look func(context.Context) (chat.Posted, chat.Proof, error)) (chat.Posted, chat.Proof, error) {
	asked := f.Now()
	posted, proof, err := look(ctx)
	if err != nil || proof != chat.Absent || p.Tried.IsZero() {
		return posted, proof, err
	}
	age := max(asked.Sub(p.Tried), 0)
	if age < f.Joined || age >= f.Settled {
		return posted, proof, nil
	}
	if err := f.Sleep(ctx, f.Settled-age); err != nil {
		return chat.Posted{}, chat.Unprovable, err
	}
	return look(ctx)
}

// React sets the reactions that stand for a card's buttons, where a platform has no
// buttons for a bot. One that is there stays.
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
