// Package account is a person's Telegram account that only listens: it hears who is typing, writes what
// concerns open items into typing/presence.json of a home, and can send nothing.
package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gotd/td/session"
	"github.com/gotd/td/telegram"
	"github.com/gotd/td/telegram/auth"
	"github.com/gotd/td/tg"
	"github.com/gotd/td/tgerr"

	"tri/lib/base/cli"
	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
)

// Options identify the account and what it listens for.
type Options struct {
	Home    *durable.Home
	Chats   []string // ids of the watched chats, as in events
	Session string   // the file
	APIID   int      // of this program, by https://my.telegram.org
	APIHash string   // for Login
	Say     func(format string, args ...any)

	server func(*telegram.Options) // of a test
}

// open takes the lock of the account and opens its session.
func (o *Options) open() (*durable.Lock, *store, error) {
	s, err := openStore(o.Session, o.Home)
	if err != nil {
		return nil, nil, err
	}
	lock, err := o.Home.TryLock("locks/presence")
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(err, "another tri-presence uses this home; one at a time may")
	}
	return lock, s, err
}

// client returns a client whose every request passes onlyAllowed. It keeps no log.
func (o *Options) client(t telegram.Options) *telegram.Client {
	t.Middlewares = []telegram.Middleware{telegram.MiddlewareFunc(onlyAllowed)}
	t.Device = telegram.DeviceConfig{DeviceModel: "tri-presence", SystemVersion: runtime.GOOS,
		AppVersion: cli.Version()}
	if o.server != nil {
		o.server(&t)
	}
	return telegram.NewClient(o.APIID, o.APIHash, t)
}

// Run listens until ctx ends. It reconnects by itself.
func Run(ctx context.Context, o Options) error {
	if len(o.Chats) == 0 {
		return sysexit.Hint(sysexit.With(sysexit.Config, errors.New("watched_chats names no chat of telegram")),
			"tri-watch telegram --no-log prints the ids of the bot's groups")
	}
	lock, s, err := o.open()
	if err != nil {
		return err
	}
	if _, err := s.LoadSession(ctx); errors.Is(err, session.ErrNotFound) {
		return errors.Join(noLogin(err), lock.Unlock())
	}
	l := newListener(o.Home, o.Chats, time.Now)
	var up atomic.Bool
	client := o.client(telegram.Options{
		SessionStorage: s, UpdateHandler: l,
		OnSelfError: func(_ context.Context, err error) error { return err },
		OnSelfSuccess: func(self *tg.User) {
			if !up.Swap(true) {
				o.Say("listens as user %d", self.ID)
			}
		},
		OnDead: func(err error) {
			if up.Swap(false) {
				o.Say("connection lost, connects again: %v", err)
			}
		},
	})
	err = client.Run(ctx, func(ctx context.Context) error { return l.run(ctx, client.API()) })
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(explain(err), lock.Unlock())
}

// renew is how often updates are asked for when none come: Telegram stops sending them to a client that
// makes no request (https://core.telegram.org/api/updates).
const renew = 15 * time.Minute

// run looks for new items of those who type, and keeps updates coming.
func (l *listener) run(ctx context.Context, api *tg.Client) error {
	look, again := time.NewTicker(every), time.NewTicker(renew)
	defer look.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			l.write()
		case <-again.C:
			if _, err := api.UpdatesGetState(ctx); auth.IsUnauthorized(err) {
				return err
			} else if err != nil {
				slog.Warn("updates.getState", "err", err)
			}
		}
	}
}

func noLogin(err error) error {
	return sysexit.Hint(sysexit.With(sysexit.NoPerm, fmt.Errorf("not logged in: %w", err)),
		"tri-presence login, at a terminal")
}

// explain gives an error of gotd its status.
func explain(err error) error {
	answer, refused := tgerr.As(err)
	switch {
	case err == nil:
		return nil
	case auth.IsUnauthorized(err) || tgerr.Is(err, "AUTH_KEY_DUPLICATED"):
		return noLogin(err)
	case refused && answer.IsType(tgerr.ErrFloodWait):
		return sysexit.Hint(sysexit.With(sysexit.TempFail, err),
			fmt.Sprintf("Telegram wants %d s of silence from this account", answer.Argument))
	case refused || errors.Is(err, auth.ErrPasswordInvalid):
		return sysexit.With(sysexit.NoPerm, err)
	}
	if _, ok := sysexit.Of(err); ok {
		return err
	}
	return sysexit.With(sysexit.Unavailable, err)
}
