package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	summary     = "turn team chat into checked answers"
	description = `tri finds the few chat messages that need an answer, has an agent look into
your code, checks every line that the draft cites, asks a person, and posts once.
It is a set of small programs that read and write NDJSON.`
	// licence is what the checkout says of itself: nothing. A release does not
	// invent terms; both formats have this word for it.
	licence = "NOASSERTION"
)

// recommends are the tools that some of the programs run, and can do without.
var recommends = []string{"bubblewrap", "git", "tmux"}

// A release is what all of its files agree on.
type release struct {
	version string    // as git describes the commit
	at      time.Time // of the commit
}

// A target is a system and a processor, in the words of Go.
type target struct{ os, arch string }

var targets = []target{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}

func (t target) String() string { return t.os + "-" + t.arch }

var host = target{runtime.GOOS, runtime.GOARCH}

// choose finds targets by name; without names, all.
func choose(names []string) ([]target, error) {
	if len(names) == 0 {
		return targets, nil
	}
	var chosen []target
	for _, name := range names {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no target %q, but %v", name, targets)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// dist makes the release for some targets in out, which it empties before.
func dist(ctx context.Context, version, out string, targets []target) error {
	at, err := commitTime(ctx)
	if err != nil {
		return err
	}
	r := release{version, at}
	tmp, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o777)); err != nil {
		return err
	}
	extra, err := extras(ctx, r, tmp)
	if err != nil {
		return err
	}
	parts := bill{release: r}
	for _, t := range targets {
		if err := r.target(ctx, t, tmp, out, extra, &parts); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := parts.write(filepath.Join(out, "tri-"+version+".cdx.json")); err != nil {
		return err
	}
	return sums(out)
}

// target makes what there is for one target, and enters its programs into the bill.
func (r release) target(ctx context.Context, t target, tmp, out string, extra []file, parts *bill) error {
	bin := filepath.Join(tmp, t.String())
	if err := build(ctx, r, t, bin); err != nil {
		return err
	}
	programs, err := executables(bin)
	if err != nil {
		return err
	}
	for _, p := range programs {
		if err := parts.add(t, p); err != nil {
			return err
		}
	}
	tree := sorted(programs, fitting(extra, t))
	if err := save(filepath.Join(out, r.base(t)+".tar.gz"), func(w io.Writer) error {
		return archive(w, r.base(t)+"/", tree, r.at)
	}); err != nil || t.os != "linux" {
		return err
	}
	v := packageVersion(r.version, r.at)
	deb := filepath.Join(out, fmt.Sprintf("tri_%s_%s.deb", v, t.arch))
	if err := save(deb, func(w io.Writer) error { return writeDeb(w, r, t, tree) }); err != nil {
		return err
	}
	rpm := filepath.Join(out, fmt.Sprintf("tri-%s-1.%s.rpm", v, rpmArch[t.arch]))
	return save(rpm, func(w io.Writer) error { return writeRPM(w, r, t, tree) })
}

func (r release) base(t target) string { return "tri-" + r.version + "-" + t.String() }

// build has the Makefile build every program for t into bin, so that a release has
// the flags that everybody's build has.
func build(ctx context.Context, r release, t target, bin string) error {
	c := exec.CommandContext(ctx, "make", "-s", "all", "OUT="+bin+"/", "VERSION="+r.version)
	c.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=")
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// commitTime is SOURCE_DATE_EPOCH, or else when the commit was made.
func commitTime(ctx context.Context) (time.Time, error) {
	s := os.Getenv("SOURCE_DATE_EPOCH")
	if s == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("ask git for the time of the commit: %w", err)
		}
		s = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of the commit: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

var (
	tagged   = regexp.MustCompile(`^v?([0-9][0-9A-Za-z.]*)(-.*)?$`)
	unstated = regexp.MustCompile(`[^0-9A-Za-z.+~]+`)
)

// packageVersion is version in the alphabet that deb and rpm share, where what
// follows a tag sorts after it. A commit that no tag precedes sorts below every
// release, by its day. A bare hash of digits alone is not taken for a number.
func packageVersion(version string, at time.Time) string {
	m := tagged.FindStringSubmatch(version)
	if m == nil || !strings.Contains(m[1], ".") {
		return "0~" + at.Format("20060102") + "." + unstated.ReplaceAllString(version, "+")
	}
	return m[1] + unstated.ReplaceAllString(cmp.Or(m[2], ""), "+")
}

// save writes a file that is there whole or not at all.
func save(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// sums writes SHA256SUMS of the files in dir, for sha256sum -c.
func sums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(lines.String()), 0o666)
}
