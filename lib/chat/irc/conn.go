package irc

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"tri/lib/base/sysexit"
)

// Timeouts and sizes of a connection.
const (
	dialTime = 30 * time.Second
	maxLine  = 16 << 10 // bytes: tags may have 8191, the rest 512; some servers allow more
)

// wanted are the capabilities that are requested if the server has them.
var wanted = []string{"message-tags", "server-time", "echo-message", "batch", "sasl", "draft/chathistory",
	"draft/event-playback"}

// conn is one registered connection.
type conn struct {
	net     net.Conn
	in      *bufio.Reader
	nick    string // as confirmed by the server
	caps    map[string]bool
	history int // maximum lines per CHATHISTORY; 0: not supported

	mu sync.Mutex // serializes writes
}

// dial connects and registers with the first free nick. During registration all other messages are
// ignored.
func (c *Client) dial(ctx context.Context, nicks ...string) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", c.o.Address)
	if err != nil {
		return nil, err
	}
	if !c.o.NoTLS {
		host, _, _ := net.SplitHostPort(c.o.Address)
		raw = tls.Client(raw, &tls.Config{ServerName: host, RootCAs: c.o.Roots, MinVersion: tls.VersionTLS12})
	}
	k := &conn{net: raw, in: bufio.NewReaderSize(raw, maxLine), caps: map[string]bool{}}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	if err := k.register(c.o.Nick, c.o.Password, nicks); err != nil {
		_ = raw.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return k, nil
}

// write sends one line. The parts must not contain line ends: see visible.
func (k *conn) write(parts ...string) error {
	s := strings.Join(parts, " ")
	if strings.ContainsAny(s, "\r\n\x00") {
		return sysexit.Errorf(sysexit.Software, "irc: a line with a line end in it: %.40q", s)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.net.SetWriteDeadline(time.Now().Add(dialTime)); err != nil {
		return err
	}
	_, err := io.WriteString(k.net, s+"\r\n")
	return err
}

// read returns the next line, with a timeout of limit. A line that is too long is skipped.
func (k *conn) read(limit time.Duration) (line, error) {
	for {
		if err := k.net.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return line{}, err
		}
		b, err := k.in.ReadSlice('\n')
		began := len(b) > 0
		for errors.Is(err, bufio.ErrBufferFull) {
			b = nil
			if _, err = k.in.ReadSlice('\n'); err == nil {
				b, err = k.in.ReadSlice('\n')
			}
		}
		if err != nil && began { // the rest would be taken for a line
			err = fmt.Errorf("a line was cut: %v", err)
		}
		if err != nil {
			return line{}, err
		}
		if l, ok := parse(strings.TrimRight(string(b), "\r\n")); ok {
			return l, nil
		}
	}
}

// register sends capabilities, SASL authentication if there is a password, and the nick.
func (k *conn) register(account, password string, nicks []string) error {
	k.nick = nicks[0]
	for _, s := range []string{"CAP LS 302", "NICK " + k.nick, "USER tri 0 * :tri"} {
		if err := k.write(s); err != nil {
			return err
		}
	}
	var offered []string
	for {
		l, err := k.read(dialTime)
		if err != nil {
			return fmt.Errorf("register: %w", err)
		}
		switch l.Command {
		case "PING":
			err = k.write("PONG", ":"+l.last())
		case "CAP":
			err = k.capability(&l, &offered, password != "")
		case "AUTHENTICATE":
			word := base64.StdEncoding.EncodeToString([]byte("\x00" + account + "\x00" + password))
			err = k.write("AUTHENTICATE", word)
		case "903": // RPL_SASLSUCCESS
			err = k.write("CAP END")
		case "902", "904", "905", "906", "908", "464", "465": // SASL failed, wrong password, banned
			return sysexit.Hint(sysexit.Errorf(sysexit.NoPerm, "register: %s %q", l.Command, l.last()),
				"the account or its password is not, or no longer, accepted")
		case "432", "433", "436": // the nick is in use
			if nicks = nicks[1:]; len(nicks) == 0 {
				return sysexit.Hint(fmt.Errorf("register: %q", l.last()),
					"another program has the nick: end it, or change chat.irc.nick")
			}
			k.nick = nicks[0]
			err = k.write("NICK", k.nick)
		case "ERROR":
			return fmt.Errorf("register: %q", l.last())
		case "005":
			k.support(l.Params)
		case "376", "422": // the end of the message of the day
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (k *conn) capability(l *line, offered *[]string, login bool) error {
	switch strings.ToUpper(l.param(1)) {
	case "LS":
		*offered = append(*offered, strings.Fields(l.last())...)
		if l.param(2) == "*" {
			return nil // more lines follow
		}
		var ask []string
		for _, o := range *offered {
			name, _, _ := strings.Cut(o, "=")
			if slices.Contains(wanted, name) && (name != "sasl" || login) {
				ask = append(ask, name)
			}
		}
		if login && !slices.Contains(ask, "sasl") {
			return sysexit.Hint(sysexit.Errorf(sysexit.Config, "register: the server knows no SASL"),
				"leave the password out, or use another server")
		}
		if len(ask) == 0 {
			return k.write("CAP END")
		}
		return k.write("CAP REQ", ":"+strings.Join(ask, " "))
	case "ACK":
		for name := range strings.FieldsSeq(l.last()) {
			k.caps[name] = true
		}
		if k.caps["sasl"] {
			return k.write("AUTHENTICATE PLAIN")
		}
		return k.write("CAP END")
	case "NAK":
		return k.write("CAP END")
	}
	return nil
}

// support reads the server's features (RPL_ISUPPORT).
func (k *conn) support(tokens []string) {
	for _, t := range tokens {
		if n, ok := strings.CutPrefix(t, "CHATHISTORY="); ok {
			_, err := fmt.Sscanf(n, "%d", &k.history)
			if err != nil || k.history <= 0 || k.history > 10_000 {
				k.history = 100
			}
		}
	}
}
