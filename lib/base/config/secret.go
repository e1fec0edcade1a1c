package config

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"tri/lib/base/sysexit"
)

// maxSecret is the maximum size of a secret file, in bytes.
const maxSecret = 16 << 10

// Secret reads a secret from the environment, or else from a file that only its owner can read.
// Secrets are never in the configuration itself, nor in a flag.
func (c *Config) Secret(env, file string) (string, error) { return secret(env, file) }

func secret(env, file string) (string, error) {
	if v := os.Getenv(env); env != "" && v != "" {
		return v, nil
	}
	if file == "" {
		return "", sysexit.Hint(sysexit.Errorf(sysexit.NoPerm, "no token: $%s is empty", env),
			"set it, or name a token_file of mode 0600")
	}
	v, err := ReadSecret(file)
	return v, sysexit.With(sysexit.NoPerm, err)
}

// ReadSecret reads one line from a file that only its owner can read. It checks the file that it has
// opened, so that the file cannot be replaced between the check and the read.
func ReadSecret(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("token file %q: not a file", file)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return "", sysexit.Hint(fmt.Errorf("token file %q: belongs to another user", file),
			"chown it to the user that runs tri")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", sysexit.Hint(fmt.Errorf("token file %q: mode %#o: others can read it", file,
			info.Mode().Perm()), "chmod 600 "+file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	secret := strings.TrimSpace(string(b))
	if secret == "" || len(b) > maxSecret || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("token file %q: should hold one line, the token", file)
	}
	return secret, nil
}

// Secrets returns all available secrets, for the check that no draft contains one.
func (c *Config) Secrets() []string {
	var secrets []string
	add := func(env, file string) {
		if v, err := secret(env, file); err == nil && v != "" {
			secrets = append(secrets, v)
		}
	}
	// X_env names the variable of a secret, and X_file its file: so a new platform's are among them.
	eachField(reflect.ValueOf(&c.Chat).Elem(), func(f reflect.StructField, v, of reflect.Value) {
		if name, ok := strings.CutSuffix(f.Name, "Env"); ok {
			file := ""
			if f := of.FieldByName(name + "File"); f.IsValid() {
				file = f.String()
			}
			add(v.String(), file)
		}
	})
	for _, at := range c.Forge.credential() {
		add(at[0], at[1])
	}
	var names []string
	for _, known := range variables { // another program's key may be in our environment too
		names = append(names, keys(known)...)
	}
	for _, a := range []Agent{c.Investigator, c.Validator, c.Voice.Model, c.Box.Agent} {
		names = append(names, a.Env...)
		if v, err := a.Key(); err == nil {
			secrets = append(secrets, v)
		}
		for _, e := range a.Fallback {
			if v, err := a.At(e).Key(); err == nil {
				secrets = append(secrets, v)
			}
		}
	}
	for _, s := range c.MCPServers {
		names = append(append(names, s.Env...), s.TokenEnv)
	}
	return append(secrets, values(names)...)
}

// values returns the values of variables that are long enough to be a secret.
func values(names []string) []string {
	var found []string
	for _, name := range names {
		if v := os.Getenv(name); len(v) >= 12 && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	return found
}
