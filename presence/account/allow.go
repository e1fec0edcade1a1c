package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/gotd/td/bin"
	"github.com/gotd/td/telegram"
	"github.com/gotd/td/tg"

	"tri/lib/base/sysexit"
)

// allowed are the requests that may be sent. None writes anything that another person can see, and none
// reads a message. With the two that gotd wraps around them, initConnection and invokeWithLayer, nine
// of the schema's requests reach Telegram.
var allowed = map[uint32]bool{
	tg.HelpGetConfigRequestTypeID:      true, // the addresses of the data centres
	tg.UsersGetUsersRequestTypeID:      true, // of this account itself: subscribes to updates
	tg.UpdatesGetStateRequestTypeID:    true, // renews the subscription
	tg.AuthSendCodeRequestTypeID:       true, // the four of a login
	tg.AuthSignInRequestTypeID:         true,
	tg.AccountGetPasswordRequestTypeID: true, // how the password is to be hashed
	tg.AuthCheckPasswordRequestTypeID:  true,
}

// onlyAllowed refuses every other request before it is encrypted. It judges the bytes, and passes those
// bytes on.
func onlyAllowed(next tg.Invoker) telegram.InvokeFunc {
	return func(ctx context.Context, request bin.Encoder, answer bin.Decoder) error {
		var b bin.Buffer
		encoding := request.Encode(&b)
		id, err := b.PeekID()
		switch {
		case err != nil:
			return fmt.Errorf("request without a type: %w", errors.Join(encoding, err))
		case !allowed[id]:
			return sysexit.With(sysexit.Software,
				fmt.Errorf("request %s is not allowed: tri-presence only listens", nameOf(id)))
		case encoding != nil:
			return encoding
		}
		return next.Invoke(ctx, encoded(b.Buf), answer)
	}
}

// encoded is a request in its final form.
type encoded []byte

// Encode implements bin.Encoder.
func (e encoded) Encode(b *bin.Buffer) error {
	b.Put(e)
	return nil
}

// nameOf returns the name of a request in Telegram's schema.
func nameOf(id uint32) string {
	if name := tg.TypesMap()[id]; name != "" {
		return name
	}
	return fmt.Sprintf("#%x", id)
}
