package sandbox

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"tri/lib/base/sysexit"
)

// target is an allowed host:port.
type target struct {
	host string // lower case, without a final dot; an address in canonical form
	port uint16
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }

// parseTarget parses host:port.
func parseTarget(s string) (target, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return target{}, fmt.Errorf("%q is not a host:port", s)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || host == "" || len(host) > 253 {
		return target{}, fmt.Errorf("%q is not a host:port", s)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		return target{addr.Unmap().WithZone("").String(), uint16(n)}, nil
	}
	if strings.Contains("."+host+".", "..") { // some resolvers take "localhost.." for localhost
		return target{}, fmt.Errorf("%q has a name with an empty part", s)
	}
	for _, r := range host {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_' {
			return target{}, fmt.Errorf("%q is not a host:port", s)
		}
	}
	// Some resolvers take digits and dots for an address, in forms like 127.1.
	if strings.Trim(host, "0123456789.") == "" || strings.HasPrefix(host, "0x") {
		return target{}, fmt.Errorf("%q is not an address in its usual form", s)
	}
	return target{host, uint16(n)}, nil
}

// loopback reports whether t is on this machine, for which programs use no proxy.
func (t target) loopback() bool {
	addr, err := netip.ParseAddr(t.host)
	return err == nil && addr.IsLoopback() || t.host == "localhost" || strings.HasSuffix(t.host, ".localhost")
}

// allowList is the allow-list.
type allowList struct {
	targets []target
	lookup  func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

func newAllowList(list []string) (*allowList, error) {
	r := &allowList{
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
		dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr.String())
		},
	}
	for _, s := range list {
		t, err := parseTarget(s)
		if err != nil {
			return nil, sysexit.Errorf(sysexit.Config, "what a program may reach: %w", err)
		}
		if !slices.Contains(r.targets, t) {
			r.targets = append(r.targets, t)
		}
	}
	return r, nil
}

// refusal is the reason for a refused connection.
type refusal string

func (r refusal) Error() string { return string(r) }

// Dial connects to host:port if it is on the list and its addresses are acceptable.
func (r *allowList) Dial(ctx context.Context, hostport string) (net.Conn, error) {
	t, err := parseTarget(hostport)
	if err != nil {
		return nil, refusal(err.Error())
	}
	if !slices.Contains(r.targets, t) {
		return nil, refusal("not on the list")
	}
	addrs, err := r.addresses(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		var conn net.Conn
		if conn, err = r.dial(ctx, netip.AddrPortFrom(addr, t.port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// addresses returns the addresses of t that may be dialled. A public name that resolves to an
// address of this machine or network would lead inside (DNS rebinding): that address is allowed
// only if it is on the list too.
func (r *allowList) addresses(ctx context.Context, t target) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(t.host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if t.loopback() {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	found, err := r.lookup(ctx, t.host)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	for _, addr := range found {
		addr = addr.Unmap().WithZone("")
		if public(addr) || local(t.host) && addr.IsPrivate() ||
			slices.Contains(r.targets, target{addr.String(), t.port}) {
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 {
		return nil, refusal("the name leads to a private address: " + fmt.Sprint(found[:min(len(found), 4)]))
	}
	return addrs, nil
}

// local reports whether a name cannot be a public one (RFC 6761, RFC 6762 appendix G, and
// .internal, which ICANN reserves).
func local(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	for _, suffix := range []string{".internal", ".local", ".lan", ".intranet", ".private", ".corp", ".home",
		".home.arpa", ".test"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// special are networks that are neither private nor public (IANA's registries of special-purpose
// addresses), or that embed an address of the other IP version.
var special = func() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}()

// public reports whether addr is a public Internet address.
func public(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}
