package account

import (
	"context"
	"errors"

	"github.com/gotd/td/telegram/dcs"
	"github.com/gotd/td/transport"
)

// away is a network without Telegram.
type away struct{ tried chan struct{} }

func (a away) Primary(context.Context, int, dcs.List) (transport.Conn, error) {
	a.tried <- struct{}{}
	return nil, errors.New("no route to host")
}

func (a away) MediaOnly(ctx context.Context, dc int, l dcs.List) (transport.Conn, error) {
	return a.Primary(ctx, dc, l)
}

func (a away) CDN(ctx context.Context, dc int, l dcs.List) (transport.Conn, error) {
	return a.Primary(ctx, dc, l)
}
