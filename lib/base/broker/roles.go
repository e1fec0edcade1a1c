package broker

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"tri/lib/base/sysexit"
)

// Roles of machines.
const (
	RoleHub    = "hub"    // has the logs, hands out jobs
	RoleWatch  = "watch"  // reads chats near their networks, and sends its events
	RoleCopy   = "copy"   // keeps copies of all logs
	RoleWorker = "worker" // runs agents
)

// Rights are the subjects that a role may publish and subscribe to, besides its own inbox.
type Rights struct{ Publish, Subscribe []string }

// RightsOf returns the rights of a role, on a machine with a public key. A worker can neither
// write a log nor read one, nor read what other workers found or are told; a machine that watches reads
// and writes its own two logs; a copy writes nothing.
func RightsOf(role, public string) Rights {
	read := func(names ...string) (subjects []string) {
		for _, n := range names {
			s := logStream(n)
			subjects = append(subjects, "$JS.API.STREAM.INFO."+s, "$JS.API.DIRECT.GET."+s)
		}
		return subjects
	}
	write := func(names ...string) (subjects []string) {
		for _, n := range names {
			subjects = append(subjects, logSubject(n), "$JS.API.STREAM.CREATE."+logStream(n))
		}
		return append(subjects, read(names...)...)
	}
	switch role {
	case RoleHub:
		r := Rights{Publish: write(logs...), Subscribe: []string{upSubject("*", "*"), "tri.log.*"}}
		r.Publish = append(r.Publish, "tri.work.*", downSubject("*", "*"), whoSubject,
			"$JS.API.CONSUMER.INFO."+workStream+"."+workers,
			"$JS.API.CONSUMER.CREATE."+workStream+"."+workers,
			"$JS.API.CONSUMER.DURABLE.CREATE."+workStream+"."+workers,
			"$JS.API.STREAM.MSG.DELETE."+workStream, "$JS.API.STREAM.MSG.GET."+workStream,
			"$JS.API.DIRECT.GET."+resultStream+".>")
		for _, s := range []string{workStream, resultStream} {
			r.Publish = append(r.Publish, "$JS.API.STREAM.INFO."+s, "$JS.API.STREAM.CREATE."+s)
		}
		return r
	case RoleWatch:
		return Rights{Publish: write("events", "actions"),
			Subscribe: []string{logSubject("events"), logSubject("actions")}}
	case RoleCopy:
		return Rights{Publish: read(logs...), Subscribe: []string{"tri.log.*"}}
	case RoleWorker:
		return Rights{
			Publish: []string{"tri.result.*", "tri.part.*.*", "tri.start.*.*", upSubject(public, "*"),
				"$JS.ACK." + workStream + "." + workers + ".>",
				"$JS.API.CONSUMER.INFO." + workStream + "." + workers,
				"$JS.API.CONSUMER.MSG.NEXT." + workStream + "." + workers},
			Subscribe: []string{downSubject(public, "*"), whoSubject},
		}
	}
	return Rights{}
}

// answers are the roles that may answer a request, once and at its inbox.
var answers = []string{RoleWorker}

// Init writes into dir a server's configuration with an account for one home, a key for each machine, and
// certificates for the names of the server. dir must not exist. It returns the names of the keys' files.
func Init(dir string, hosts []string, workers int) ([]string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, sysexit.Hint(sysexit.Errorf(sysexit.Usage, "%q already exists", dir),
				"move it away to make new keys; every machine then needs its new key")
		}
		return nil, sysexit.With(sysexit.IO, err)
	}
	files, err := certificates(hosts)
	if err != nil {
		return nil, err
	}
	var users bytes.Buffer
	names := []string{RoleHub, RoleWatch, RoleCopy}
	for i := range workers {
		names = append(names, fmt.Sprintf("%s%d", RoleWorker, i+1))
	}
	for _, name := range names {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, fmt.Errorf("make key: %w", err)
		}
		public, err1 := pair.PublicKey()
		seed, err2 := pair.Seed()
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("make key: %w", err)
		}
		files[name+".seed"] = append(seed, '\n')
		users.WriteString(user(name, public))
	}
	files["nats-server.conf"] = fmt.Appendf(nil, serverConf, users.String())
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, sysexit.With(sysexit.IO, err)
		}
	}
	return names, nil
}

// serverConf is written for nats-server -c, started in its folder.
const serverConf = `# Written by tri-nats init. Start it in this folder: nats-server -c nats-server.conf
listen: "0.0.0.0:4222"
max_payload: 2MB
jetstream {
  store_dir: "store"
  max_file_store: 12GB
}
tls {
  cert_file: "server.pem"
  key_file: "server.key"
  timeout: 10 # seconds for a login: a slow network needs more than 2
}
accounts {
  TRI {
    jetstream: enabled
    users: [
%s    ]
  }
}
`

// user returns the lines of a user of the server's configuration.
func user(name, public string) string {
	role := strings.TrimRight(name, "0123456789")
	r := RightsOf(role, public)
	list := func(subjects []string) string {
		return `["` + strings.Join(subjects, `", "`) + `"]`
	}
	more := ""
	if slices.Contains(answers, role) {
		more = "\n        allow_responses: true"
	}
	return fmt.Sprintf("      # %s\n      { nkey: %s, permissions: {\n        publish: { allow: %s }\n        subscribe: { allow: %s }%s\n      } }\n",
		name, public, list(r.Publish), list(append(r.Subscribe, inboxOf(public)+".>")), more)
}

// certificates returns a new authority and a certificate of the server. The authority's key is not kept.
func certificates(hosts []string) (map[string][]byte, error) {
	now := time.Now()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "tri-nats authority"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: new(big.Int).Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: "nats-server"},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	caKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	caDER, err1 := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	der, err2 := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	keyDER, err3 := x509.MarshalECPrivateKey(key)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("make certificate: %w", err)
	}
	encode := func(kind string, b []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
	}
	return map[string][]byte{
		"ca.pem": encode("CERTIFICATE", caDER), "server.pem": encode("CERTIFICATE", der),
		"server.key": encode("EC PRIVATE KEY", keyDER),
	}, nil
}
