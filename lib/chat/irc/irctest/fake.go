// Package irctest is a fake IRC server: registration, channels, the IRCv3 extensions that
// lib/chat/irc uses, with injectable faults.
package irctest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// Faults are the probabilities of each fault, between 0 and 1.
type Faults struct {
	Seed       uint64
	Cut        float64 // a connection ends before a message
	Duplicate  float64 // a message is sent twice
	LoseAnswer float64 // a message is posted, and the poster's connection ends
	Fail       float64 // a connection ends when it makes a request
	Busy       float64 // a connection is refused: too fast
}

// Server is one server.
type Server struct {
	Addr string
	// Modern servers have message ids, times and history.
	Modern bool
	// Meanwhile are messages posted, once, while the history of a channel is being requested.
	Meanwhile map[string]Said
	// Joins are how many people joined a channel before its first message; they are in its history.
	Joins map[string]int

	ln net.Listener

	mu      sync.Mutex
	faults  Faults
	chance  *rand.Rand
	conns   map[*conn]bool
	said    []Said
	revoked bool
	clock   time.Time
}

// Said is a message posted in a channel.
type Said struct {
	ID, Nick, Channel, Text, Reply string
	At                             time.Time
}

type conn struct {
	s    *Server
	net  net.Conn
	nick string
	caps map[string]bool
	in   map[string]bool
	user bool
	wait bool // CAP END has not been received
	sasl bool
}

// New starts a server on the loopback interface.
func New(modern bool) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fake irc: %w", err)
	}
	s := &Server{Addr: ln.Addr().String(), Modern: modern, ln: ln, conns: map[*conn]bool{},
		chance: rand.New(rand.NewPCG(0, 0)), clock: time.Now()}
	go s.accept()
	return s, nil
}

// Close stops the server.
func (s *Server) Close() {
	_ = s.ln.Close()
	s.Cut()
}

// Cut ends every connection.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.net.Close()
	}
}

// SetFaults sets the injected faults.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = f, rand.New(rand.NewPCG(f.Seed, 2))
}

// Revoke rejects every password from now on, and ends all connections.
func (s *Server) Revoke() {
	s.mu.Lock()
	s.revoked = true
	s.mu.Unlock()
	s.Cut()
}

// Garble sends a line that is far too long, and some invalid ones.
func (s *Server) Garble() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		for _, noise := range []string{strings.Repeat("x", 1<<20), ":", "@ ", "@a", ":a", "PRIVMSG",
			":a!b@c PRIVMSG", ":a!b@c PRIVMSG #dev", "\x00\xff\xfe"} {
			c.send(noise)
		}
	}
}

// All returns the posted messages, in order.
func (s *Server) All() []Said {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Said(nil), s.said...)
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

func (s *Server) accept() {
	for {
		raw, err := s.ln.Accept()
		if err != nil {
			return
		}
		c := &conn{s: s, net: raw, caps: map[string]bool{}, in: map[string]bool{}}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		go c.serve()
	}
}

func (c *conn) serve() {
	defer func() {
		_ = c.net.Close()
		c.s.mu.Lock()
		delete(c.s.conns, c)
		c.s.mu.Unlock()
	}()
	c.s.mu.Lock()
	busy := c.s.roll(c.s.faults.Busy)
	c.s.mu.Unlock()
	if busy {
		c.send("ERROR :Closing link: (throttled)")
		return
	}
	in := bufio.NewScanner(c.net)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		c.s.mu.Lock()
		goOn := c.handle(strings.TrimRight(in.Text(), "\r"))
		c.s.mu.Unlock()
		if !goOn {
			return
		}
	}
}

// send writes a line. A client that does not read is disconnected.
func (c *conn) send(format string, args ...any) {
	_ = c.net.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	_, _ = c.net.Write([]byte(format + "\r\n"))
}

func (c *conn) handle(text string) bool {
	tags := ""
	if strings.HasPrefix(text, "@") {
		tags, text, _ = strings.Cut(text[1:], " ")
	}
	command, rest, _ := strings.Cut(text, " ")
	head, trailing, _ := strings.Cut(" "+rest, " :")
	args := strings.Fields(head)
	switch strings.ToUpper(command) {
	case "CAP":
		c.capability(args, trailing)
	case "AUTHENTICATE":
		if args[0] == "PLAIN" {
			c.send("AUTHENTICATE +")
		} else if c.s.revoked {
			c.send(":fake 904 * :SASL authentication failed")
		} else {
			c.sasl = true
			c.send(":fake 903 * :SASL authentication successful")
		}
	case "NICK":
		for other := range c.s.conns {
			if other != c && strings.EqualFold(other.nick, args[0]) {
				c.send(":fake 433 * %s :Nickname is already in use", args[0])
				return true
			}
		}
		c.nick = args[0]
		c.welcome()
	case "USER":
		c.user = true
		c.welcome()
	case "PING":
		c.send(":fake PONG fake :%s", args[0])
	case "JOIN":
		for channel := range strings.SplitSeq(args[0], ",") {
			if channel == "#closed" || strings.HasPrefix(channel, "no-such") {
				c.send(":fake 473 %s %s :Cannot join channel (+i)", c.nick, channel)
				continue
			}
			c.in[channel] = true
			c.send(":%s!x@fake JOIN %s", c.nick, channel)
			c.send(":fake 353 %s = %s :@ana ben chen %s", c.nick, channel, c.nick)
			c.send(":fake 366 %s %s :End of /NAMES list", c.nick, channel)
		}
	case "CHATHISTORY":
		return c.history(args)
	case "PRIVMSG":
		return c.post(tags, args[0], trailing)
	case "QUIT":
		return false
	}
	return true
}

func (c *conn) capability(args []string, asked string) {
	switch args[0] {
	case "LS":
		c.wait = true
		if c.s.Modern {
			c.send(":fake CAP * LS * :multi-prefix message-tags server-time")
			c.send(":fake CAP * LS :echo-message batch sasl=PLAIN draft/chathistory draft/event-playback")
		} else {
			c.send(":fake CAP * LS :multi-prefix sasl=PLAIN")
		}
	case "REQ":
		for name := range strings.FieldsSeq(asked) {
			c.caps[name] = true
		}
		c.send(":fake CAP * ACK :%s", asked)
	case "END":
		c.wait = false
		c.welcome()
	}
}

func (c *conn) welcome() {
	if c.nick == "" || !c.user || c.wait {
		return
	}
	c.user = false // only once
	c.send(":fake 001 %s :Welcome", c.nick)
	if c.s.Modern {
		c.send(":fake 005 %s CHATHISTORY=200 CASEMAPPING=ascii :are supported by this server", c.nick)
	}
	c.send(":fake 376 %s :End of /MOTD command", c.nick)
}

// post posts a message of a connection.
func (c *conn) post(tags, target, text string) bool {
	if c.s.roll(c.s.faults.Fail) {
		return false
	}
	if !c.in[target] {
		c.send(":fake 404 %s %s :Cannot send to channel", c.nick, target)
		return true
	}
	reply := ""
	for t := range strings.SplitSeq(tags, ";") {
		if v, ok := strings.CutPrefix(t, "+draft/reply="); ok {
			reply = v
		}
	}
	m := c.s.store(c.nick, target, text, reply)
	if c.s.roll(c.s.faults.LoseAnswer) {
		c.s.tell(m, c)
		return false
	}
	c.s.tell(m, nil)
	return true
}

func (s *Server) store(nick, channel, text, reply string) Said {
	s.clock = s.clock.Add(time.Millisecond)
	if now := time.Now(); now.After(s.clock) {
		s.clock = now
	}
	m := Said{ID: fmt.Sprintf("m%06d", len(s.said)), Nick: nick, Channel: channel, Text: text,
		Reply: reply, At: s.clock}
	s.said = append(s.said, m)
	return m
}

// Say posts a message in a channel and returns its id.
func (s *Server) Say(nick, channel, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store(nick, channel, text, "")
	s.tell(m, nil)
	return m.ID
}

func (s *Server) tell(m Said, not *conn) {
	for c := range s.conns {
		if c == not || !c.in[m.Channel] || c.nick == m.Nick && !c.caps["echo-message"] {
			continue
		}
		if s.roll(s.faults.Cut) {
			_ = c.net.Close()
			continue
		}
		c.send(c.line(m, ""))
		if s.roll(s.faults.Duplicate) && c.caps["message-tags"] {
			c.send(c.line(m, ""))
		}
	}
}

func (c *conn) line(m Said, batch string) string {
	var tags []string
	if batch != "" {
		tags = append(tags, "batch="+batch)
	}
	if c.caps["server-time"] {
		tags = append(tags, "time="+m.At.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	if c.caps["message-tags"] {
		tags = append(tags, "msgid="+m.ID)
		if m.Reply != "" {
			tags = append(tags, "+draft/reply="+m.Reply)
		}
	}
	s := fmt.Sprintf(":%s!%s@fake PRIVMSG %s :%s", m.Nick, m.Nick, m.Channel, m.Text)
	if len(tags) > 0 {
		s = "@" + strings.Join(tags, ";") + " " + s
	}
	return s
}

// history answers CHATHISTORY AFTER.
func (c *conn) history(args []string) bool {
	if c.s.roll(c.s.faults.Fail) {
		return false
	}
	if len(args) < 4 || args[0] != "AFTER" {
		c.send("FAIL CHATHISTORY INVALID_PARAMS :%s", "no")
		return true
	}
	channel, from := args[1], args[2]
	if m, ok := c.s.Meanwhile[channel]; ok {
		delete(c.s.Meanwhile, channel)
		c.s.tell(c.s.store(m.Nick, m.Channel, m.Text, ""), nil)
	}
	c.send(":fake BATCH +h1 chathistory %s", channel)
	n := 0
	for i := range c.s.Joins[channel] { // lines that are not messages, before all others
		id := fmt.Sprintf("0join%04d", i)
		if n < 200 && (strings.HasPrefix(from, "timestamp=") || from < "msgid="+id) {
			n++
			c.send("@batch=h1;msgid=%s;time=2026-01-01T00:00:00.000Z :eve!e@fake JOIN %s", id, channel)
		}
	}
	for _, m := range c.s.said {
		if m.Channel != channel || n == 200 {
			continue
		}
		if id, ok := strings.CutPrefix(from, "msgid="); ok && m.ID <= id {
			continue
		}
		if at, ok := strings.CutPrefix(from, "timestamp="); ok &&
			m.At.UTC().Format("2006-01-02T15:04:05.000Z") <= at {
			continue
		}
		n++
		c.send(c.line(m, "h1"))
	}
	c.send(":fake BATCH -h1")
	return true
}
