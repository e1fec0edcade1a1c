package account

import (
	"context"
	"errors"
	"io"

	"github.com/gotd/td/telegram"
	"github.com/gotd/td/telegram/auth"
	"github.com/gotd/td/tg"

	"tri/lib/base/cli"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
)

// Login asks a person at the terminal for phone number, code and password, and stores the session. What
// is typed is not shown, logged or stored.
func Login(ctx context.Context, o Options, terminal io.Reader) error {
	if !term.Is(terminal) {
		return sysexit.Hint(cli.Usagef("login: standard input is not a terminal"),
			"log in by hand: a code or password in a file or pipe is found by others")
	}
	lock, s, err := o.open()
	if err != nil {
		return err
	}
	client := o.client(telegram.Options{SessionStorage: s,
		// Without a handler gotd would wrap requests in invokeWithoutUpdates, which is not allowed.
		UpdateHandler: telegram.UpdateHandlerFunc(func(context.Context, tg.UpdatesClass) error {
			return nil
		}),
	})
	err = client.Run(ctx, func(ctx context.Context) error {
		flow := auth.NewFlow(&asker{terminal: terminal, say: o.Say}, auth.SendCodeOptions{})
		if err := client.Auth().IfNecessary(ctx, flow); err != nil {
			return err
		}
		self, err := client.Self(ctx)
		if err == nil {
			o.Say("logged in as user %d; the session is in %q", self.ID, s.dir.Path(s.name))
		}
		return err
	})
	return errors.Join(explain(err), lock.Unlock())
}

// asker is the person at the terminal.
type asker struct {
	terminal io.Reader
	say      func(format string, args ...any)
}

var _ auth.UserAuthenticator = (*asker)(nil)

// line reads what is typed, without echo.
func (a *asker) line(what string) (string, error) {
	text, err := term.Hidden(a.terminal, func() { a.say("%s (not shown):", what) })
	if err == nil && text == "" {
		err = sysexit.With(sysexit.NoInput, errors.New("nothing was typed"))
	}
	return text, err
}

// Phone implements auth.UserAuthenticator.
func (a *asker) Phone(context.Context) (string, error) {
	return a.line("phone number of the account, with its country code")
}

// Code implements auth.UserAuthenticator.
func (a *asker) Code(context.Context, *tg.AuthSentCode) (string, error) {
	return a.line("code that Telegram has sent")
}

// Password implements auth.UserAuthenticator.
func (a *asker) Password(context.Context) (string, error) {
	return a.line("password of two-step verification")
}

var errNoAccount = sysexit.With(sysexit.NoPerm,
	errors.New("this number has no account: make one in Telegram's app"))

// AcceptTermsOfService implements auth.UserAuthenticator: no account is made here.
func (a *asker) AcceptTermsOfService(context.Context, tg.HelpTermsOfService) error {
	return errNoAccount
}

// SignUp implements auth.UserAuthenticator.
func (a *asker) SignUp(context.Context) (auth.UserInfo, error) { return auth.UserInfo{}, errNoAccount }
