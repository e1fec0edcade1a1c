package config

import (
	"errors"
	"net/url"
	"strings"
)

// Nats is the server that carries logs and runs between machines; see tri-nats(1). No other program
// connects to it.
type Nats struct {
	// nats://host:4222 or tls://host:4222, several with commas; "" means none
	URL      string `yaml:"url"`
	SeedFile string `yaml:"seed_file" is:"path"`  // the NKEY of this machine's role, mode 0600
	CAFile   string `yaml:"ca_file" is:"path"`    // of the server's certificate; "" means the system's
	Replicas int    `yaml:"replicas" default:"1"` // of each stream: 1, 3 or 5
	// seconds after which the run of a dead worker is given to another; default 30
	LeaseS float64 `yaml:"lease_s" default:"30"`
	// minutes after which a run that no worker has begun fails; default 60
	WaitMin float64 `yaml:"wait_min" default:"60"`
}

// compile refuses a connection over a network without TLS and a key.
func (n *Nats) compile(f *faults) {
	if n.URL == "" {
		return
	}
	for address := range strings.SplitSeq(n.URL, ",") {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.User != nil:
			f.add(errors.New("want nats://host:port or tls://host:port, without a password"), "nats", "url")
		case u.Scheme == "nats" && !IsLoopback(u.Hostname()):
			f.add(errors.New("want tls:// where the server is on another machine"), "nats", "url")
		case u.Scheme == "tls" && n.SeedFile == "":
			f.add(errors.New("needs seed_file too: the key of this machine"), "nats", "url")
		}
	}
}
