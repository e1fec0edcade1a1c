// Package irc reads and posts in the channels of an IRC network. It implements the protocol itself,
// with the IRCv3 extensions that the server supports: the time and id of each message, and history
// after a gap.
//
// IRC has no edits, deletions or threads, and most servers keep no history: messages sent while the
// program is not connected are lost, which is logged. The result of a reply whose connection was
// cut cannot be determined.
//
// The watcher uses the configured nick; the poster, on another connection, the same with "_"
// appended.
package irc

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"

	"tri/lib/base/config"
	"tri/lib/base/httpapi"
	"tri/lib/base/lazyregexp"
	"tri/lib/base/sysexit"
	"tri/lib/chat"
	"tri/lib/record/event"
)

// platform is the name of this platform in events.
const platform = "irc"

var (
	_ chat.Source  = (*Client)(nil)
	_ chat.Checker = (*Client)(nil)
	_ chat.App     = (*Client)(nil)
	_ chat.Sink    = (*Sink)(nil)
)

// Options identify the network and the account.
type Options struct {
	Address  string // host:port
	NoTLS    bool
	Nick     string
	Password string // of SASL PLAIN; "": no SASL
	Chats    []string

	Roots  *x509.CertPool // nil: the system's
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Chance func() float64
	Pulse  time.Duration // timeout for a silent server; default 90 s
}

// Client is the connection of one nick to one network.
type Client struct{ o Options }

// FromConfig returns the options of the configuration.
func FromConfig(cfg *config.Config) (Options, error) {
	i := cfg.Chat.IRC
	o := Options{Address: i.Address, NoTLS: i.NoTLS, Nick: i.Nick, Chats: cfg.Chats(platform)}
	if i.PasswordFile != "" || os.Getenv(i.PasswordEnv) != "" {
		var err error
		if o.Password, err = cfg.Secret(i.PasswordEnv, i.PasswordFile); err != nil {
			return o, err
		}
	}
	return o, nil
}

var nickForm = lazyregexp.New(`^[A-Za-z\[\]\\^_{|}` + "`" + `][A-Za-z0-9\[\]\\^_{|}` + "`" + `-]{0,29}$`)

// New returns the client of a network. It makes no network calls.
func New(o Options) (*Client, error) {
	fault := func(format string, args ...any) error {
		return sysexit.Errorf(sysexit.Config, "irc: "+format, args...)
	}
	host, _, err := net.SplitHostPort(o.Address)
	switch {
	case err != nil || host == "":
		return nil, fault("address %q: want host:port", o.Address)
	case !nickForm.MatchString(o.Nick):
		return nil, fault("nick %q: letters, digits and []\\^_{|}-, at most 30", o.Nick)
	case o.Password != "" && o.NoTLS && !config.IsLoopback(host):
		return nil, sysexit.Hint(fault("a password would go over the network in the clear"),
			"remove no_tls")
	case strings.ContainsAny(o.Password, "\r\n\x00"):
		return nil, fault("the password has a line end in it")
	}
	for _, c := range o.Chats {
		if c == "" || len(c) > 64 || strings.ContainsAny(c, " ,\a\r\n\x00") ||
			!isChannel(c) && !nickForm.MatchString(c) {
			return nil, sysexit.Hint(fault("chat %q: no channel and no nick", c), "write '#dev', in quotes")
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = httpapi.Sleep
	}
	if o.Chance == nil {
		o.Chance = rand.Float64
	}
	o.Pulse = cmp.Or(o.Pulse, 90*time.Second)
	return &Client{o}, nil
}

// backoff returns the delay before attempt try: it doubles, from 2 seconds to 2 minutes, since
// networks require a minimum time between two connections. chance, in [0, 1), adds jitter.
func backoff(try int, chance float64) time.Duration {
	d := min(2*time.Second<<min(try-1, 6), 2*time.Minute)
	return d/2 + time.Duration(chance*float64(d/2))
}

// AppID implements chat.App: one nick is one connection.
func (c *Client) AppID() string { return platform + " " + c.o.Address + " " + fold(c.o.Nick) }

// Guide describes how to set up a nick.
var Guide = chat.Guide{
	Steps: `1. Choose a nick, and register it with the network's services where there are any
   (/msg NickServ REGISTER …). Ask the channels' operators: networks want bots known.
2. Put the password into $IRC_PASSWORD, or a file of mode 0600 (SASL PLAIN).
3. Name the channels under watched_chats: platform: irc, chat_id: '#dev'.
The watcher joins with the nick; replies come from the same nick with "_" behind it,
which is to be allowed to speak too.
`,
	Config: `  irc:
    address: irc.libera.chat:6697
    nick: tri
    password_env: IRC_PASSWORD
`,
}

// Check implements chat.Checker: it connects under a separate nick.
func (c *Client) Check(ctx context.Context) (self event.Sender, findings []chat.Finding) {
	self = event.Sender{ID: c.o.Nick, Type: "bot", Name: c.o.Nick}
	say := func(f chat.Finding) { findings = append(findings, f) }
	if len(c.o.Chats) == 0 {
		say(chat.Bad("chat", "watched_chats: [{platform: irc, chat_id: '#dev'}]", "no channel is watched"))
	}
	k, err := c.dial(ctx, c.o.Nick+"-c", c.o.Nick+"-d")
	if err != nil {
		say(chat.Bad("server", sysexit.HintOf(err, "is the address right, and reached from here?"), "%s: %v",
			c.o.Address, err))
		return self, findings
	}
	defer k.net.Close()
	say(chat.Good("server", "%s lets us in", c.o.Address))
	if k.history > 0 && k.caps["draft/chathistory"] {
		say(chat.Good("history", "the server keeps history"))
	} else {
		say(chat.Warning("history", "connect through a bouncer that has chathistory, or accept it",
			"the server keeps no history: messages sent while tri-watch is not connected are lost"))
	}
	if !k.caps["message-tags"] {
		say(chat.Warning("ids", "accept it: tri then does not recognize its own replies",
			"the server gives messages no ids"))
	}
	return self, findings
}

var errCut = errors.New("the connection was cut before the server had answered")
