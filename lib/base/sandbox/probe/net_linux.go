package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Outgoing packets are often dropped silently, so a wait may last for ever; on one machine there
// is always an answer, which may be late.
const (
	soon    = time.Second
	patient = 20 * time.Second
)

func patience(anybody bool) time.Duration {
	if anybody {
		return patient
	}
	return soon
}

// dials tries to connect to a server.
func dials(name string, anybody bool, network string, to func(*Stage) string) Probe {
	return Probe{Name: name, Anybody: anybody, try: func(s *Stage) error {
		return opened(net.DialTimeout(network, to(s), patience(anybody)))
	}}
}

// sends tries to get an answer to a datagram or, if none is expected, to send it.
func sends(name string, anybody bool, to func(*Stage) string) Probe {
	return Probe{Name: name, Anybody: anybody, try: func(s *Stage) error {
		conn, err := net.DialTimeout("udp", to(s), soon)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience(anybody))); err != nil {
			return err
		}
		if _, err = io.WriteString(conn, "pwned"); err != nil || !anybody {
			return err
		}
		_, err = conn.Read(make([]byte, 512))
		return err
	}}
}

// sockets tries to create a kind of socket.
func sockets(name string, family, kind, protocol int) Probe {
	return Probe{Name: name, try: func(*Stage) error {
		fd, err := unix.Socket(family, kind, protocol)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}}
}

// asks tries to get a request past the proxy.
func asks(name string, request func(*Stage) string) Probe {
	return Probe{Name: name, try: func(s *Stage) error {
		proxy, err := url.Parse(os.Getenv("HTTP_PROXY"))
		if err != nil || proxy.Host == "" {
			return errors.New("there is no proxy")
		}
		conn, err := net.DialTimeout("tcp", proxy.Host, patient)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patient)); err != nil {
			return err
		}
		if _, err := io.WriteString(conn, request(s)); err != nil {
			return err
		}
		answer, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && !strings.Contains(answer, " 200 ") {
			err = fmt.Errorf("%w: %q", errHeld, answer)
		}
		return err
	}}
}

func unixSocket(i int) func(*Stage) string { return func(s *Stage) string { return s.Unix[i] } }

// network are the probes of what can be reached.
func network() []Probe {
	host := func(s *Stage) string { return s.TCP }
	return []Probe{
		dials("dial this machine's loopback", true, "tcp", host),
		dials("dial this machine by its address", false, "tcp", func(s *Stage) string {
			if s.Public == "" {
				return "192.0.2.1:9"
			}
			return s.Public
		}),
		dials("dial the Internet", false, "tcp", fixed("1.1.1.1:443")),
		dials("dial the metadata address", false, "tcp", fixed("169.254.169.254:80")),
		dials("ask the docker socket", true, "unix", unixSocket(0)),
		dials("ask the tmux socket", true, "unix", unixSocket(1)),
		dials("ask the key agent", true, "unix", unixSocket(2)),
		dials("ask a socket of the repository", true, "unix", unixSocket(3)),
		dials("ask a socket of Git's", true, "unix", unixSocket(4)),
		{Name: "ask one in a run that may write", Anybody: true, Write: true, try: func(s *Stage) error {
			return opened(net.DialTimeout("unix", s.Unix[3], patient))
		}},
		dials("ask an abstract socket", true, "unix", func(s *Stage) string { return "@" + s.Name }),
		dials("ask the system bus", false, "unix", fixed("/run/dbus/system_bus_socket")),
		sends("send UDP to this machine", true, func(s *Stage) string { return s.UDP }),
		sends("send UDP to the Internet", false, fixed("1.1.1.1:53")),
		{Name: "resolve a name", try: func(*Stage) error {
			ctx, cancel := context.WithTimeout(context.Background(), soon)
			defer cancel()
			_, err := net.DefaultResolver.LookupHost(ctx, "example.com")
			return err
		}},
		{Name: "serve where others can reach it", Anybody: true, try: func(s *Stage) error {
			l, err := net.Listen("tcp", s.Absent)
			if err != nil {
				return err
			}
			defer l.Close()
			if ns, err := os.Readlink("/proc/self/ns/net"); err != nil || ns != s.Net {
				return fmt.Errorf("%w: in a network of its own", errHeld)
			}
			return nil
		}},
		asks("have the proxy connect elsewhere", func(s *Stage) string {
			return "CONNECT " + s.TCP + " HTTP/1.1\r\nHost: " + s.TCP + "\r\n\r\n"
		}),
		asks("have the proxy fetch elsewhere", func(s *Stage) string {
			return "GET http://" + s.TCP + "/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n"
		}),
		asks("confuse the proxy about the host", func(s *Stage) string {
			return "CONNECT allowed.example:443@" + s.TCP + " HTTP/1.1\r\nHost: allowed.example:443\r\n\r\n"
		}),
		sockets("listen to the kernel's events", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		sockets("hear the wire", unix.AF_PACKET, unix.SOCK_RAW, 0),
		sockets("make raw IP packets", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		sockets("talk to the host of a virtual machine", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		sockets("reach the kernel's ciphers", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
	}
}
