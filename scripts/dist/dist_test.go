package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	when  = time.Unix(1_700_000_000, 0).UTC()
	linux = target{"linux", "amd64"}
	small = release{"v1.2.3", when}
)

// sample is a tree with one of everything that is treated differently.
func sample(program string) []file {
	return sorted([]file{
		{name: "share/man/man1/tri.1", mode: 0o644, data: []byte(".Dd today\n")},
		{name: "lib/systemd/system/tri.service", mode: 0o644,
			data: []byte("ExecStart=/usr/local/bin/tri-supervise run\n")},
		{name: "share/zsh/site-functions/_tri", mode: 0o644, data: []byte("#compdef tri\n")},
		{name: "share/doc/tri/examples/cron/crontab", mode: 0o644},
		{name: "share/tri/schemas/event.json", mode: 0o644, data: []byte("{}")},
		{name: "bin/tri", mode: 0o755, from: program},
	})
}

// built builds a program in the way of the Makefile, in the folder of its module.
func built(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, pkg)
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// hello builds a small program whose sources stand in a folder of their own.
func hello(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module hello\n",
		"main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return built(t, dir, ".")
}

// TestDeterministic: the same program, written and built in two folders, makes the same bytes.
func TestDeterministic(t *testing.T) {
	writers := map[string]func(io.Writer, []file) error{
		"tar":  func(w io.Writer, tree []file) error { return archive(w, "tri/", tree, when) },
		"deb":  func(w io.Writer, tree []file) error { return writeDeb(w, small, linux, tree) },
		"rpm":  func(w io.Writer, tree []file) error { return writeRPM(w, small, linux, tree) },
		"bill": func(w io.Writer, tree []file) error { return writeBill(w, tree) },
	}
	first, second := sample(hello(t)), sample(hello(t))
	for name, write := range writers {
		var a, b bytes.Buffer
		if err := write(&a, first); err != nil {
			t.Fatal(name, err)
		}
		if err := write(&b, second); err != nil {
			t.Fatal(name, err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) || a.Len() == 0 {
			t.Errorf("%s: two of the same differ (%d and %d bytes)", name, a.Len(), b.Len())
		}
	}
}

func writeBill(w io.Writer, tree []file) error {
	b := bill{release: small}
	if err := b.add(linux, tree[0]); err != nil {
		return err
	}
	data, err := b.json()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// script stands in for a program where its bytes do not matter.
func script(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "tri")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// untar gives "mode name" of each entry, and the bytes by name.
func untar(t *testing.T, data []byte) (list []string, content map[string]string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if !z.ModTime.IsZero() || z.Name != "" {
		t.Errorf("gzip tells of %q at %v", z.Name, z.ModTime)
	}
	content = map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return list, content
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(when) {
			t.Errorf("%s: of %d:%d at %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		list, content[h.Name] = append(list, fmt.Sprintf("%o %s", h.Mode, h.Name)), string(body)
	}
}

func TestArchive(t *testing.T) {
	var b bytes.Buffer
	if err := archive(&b, "tri-1/", sample(script(t)), when); err != nil {
		t.Fatal(err)
	}
	list, content := untar(t, b.Bytes())
	for _, want := range []string{"755 tri-1/", "755 tri-1/bin/", "755 tri-1/bin/tri",
		"644 tri-1/share/man/man1/tri.1", "644 tri-1/lib/systemd/system/tri.service"} {
		if !slices.Contains(list, want) {
			t.Errorf("no %q in %q", want, list)
		}
	}
	if content["tri-1/bin/tri"] != "#!/bin/sh\n" {
		t.Errorf("bin/tri holds %q", content["tri-1/bin/tri"])
	}
}

// TestFitting: a Mac gets no units.
func TestFitting(t *testing.T) {
	tree := sample("")
	if got := fitting(tree, target{"darwin", "arm64"}); len(got) != len(tree)-1 {
		t.Errorf("%v", got)
	}
	if got := fitting(tree, linux); len(got) != len(tree) {
		t.Errorf("%v", got)
	}
}

func TestDeb(t *testing.T) {
	var b bytes.Buffer
	if err := writeDeb(&b, small, linux, sample(script(t))); err != nil {
		t.Fatal(err)
	}
	members := unar(t, b.Bytes())
	if string(members["debian-binary"]) != "2.0\n" {
		t.Errorf("debian-binary is %q", members["debian-binary"])
	}
	_, about := untar(t, members["control.tar.gz"])
	for _, want := range []string{"Package: tri\n", "Version: 1.2.3\n", "Architecture: amd64\n",
		"\nDescription: "} {
		if !strings.Contains(about["./control"], want) {
			t.Errorf("control has no %q:\n%s", want, about["./control"])
		}
	}
	list, content := untar(t, members["data.tar.gz"])
	for _, want := range []string{"755 ./usr/", "755 ./usr/bin/tri", "644 ./usr/share/man/man1/tri.1.gz",
		"644 ./usr/share/zsh/vendor-completions/_tri"} {
		if !slices.Contains(list, want) {
			t.Errorf("no %q in %q", want, list)
		}
	}
	if unit := content["./usr/lib/systemd/system/tri.service"]; unit != "ExecStart=/usr/bin/tri-supervise run\n" {
		t.Errorf("the unit says %q", unit)
	}
	if n := strings.Count(about["./md5sums"], "\n"); n != 6 {
		t.Errorf("%d sums:\n%s", n, about["./md5sums"])
	}
}

// unar reads an ar archive, by its specification and not by our writer.
func unar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	data, ok := bytes.CutPrefix(data, []byte("!<arch>\n"))
	if !ok {
		t.Fatal("no ar archive")
	}
	members := map[string][]byte{}
	for len(data) > 0 {
		size, err := strconv.Atoi(strings.TrimSpace(string(data[48:58])))
		if err != nil || string(data[58:60]) != "`\n" {
			t.Fatalf("header %q: %v", data[:60], err)
		}
		members[strings.TrimSpace(string(data[:16]))] = data[60 : 60+size]
		data = data[60+size+size%2:]
	}
	return members
}

func TestRPM(t *testing.T) {
	var b bytes.Buffer
	if err := writeRPM(&b, small, linux, sample(script(t))); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	if !bytes.HasPrefix(data, []byte("\xed\xab\xee\xdb\x03")) {
		t.Fatalf("lead %x", data[:8])
	}
	digests, n := tags(t, data[96:])
	data = data[96+(n+7)&^7:]
	header, n := tags(t, data)
	if got, want := digests[273], fmt.Sprintf("%x\x00",
		sha256.Sum256(data[:n])); !strings.HasPrefix(got, want) {
		t.Errorf("digest of the header: %q, want %q", got, want)
	}
	if got, want := header[5092], fmt.Sprintf("%x\x00",
		sha256.Sum256(data[n:])); !strings.HasPrefix(got, want) {
		t.Errorf("digest of the payload: %q, want %q", got, want)
	}
	for tag, want := range map[uint32]string{
		1000: "tri\x00", 1001: "1.2.3\x00", 1022: "x86_64\x00",
		// in the order of the paths
		1117: "tri\x00tri.service\x00tri\x00examples\x00cron\x00crontab\x00tri.1.gz\x00tri\x00schemas\x00event.json\x00_tri\x00",
	} {
		if !strings.HasPrefix(header[tag], want) {
			t.Errorf("tag %d is %.60q, want %q", tag, header[tag], want)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(data[n:]))
	if err != nil {
		t.Fatal(err)
	}
	cpio, err := io.ReadAll(z)
	if err != nil || !bytes.Contains(cpio, []byte("./usr/bin/tri\x00")) ||
		len(cpio) != int(binary.BigEndian.Uint32([]byte(digests[1007]))) {
		t.Errorf("payload of %d bytes: %v", len(cpio), err)
	}
}

// tags reads a header: each value runs to the end of the store, which is enough to
// see how it begins. It gives the header's length, too.
func tags(t *testing.T, data []byte) (map[uint32]string, int) {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("\x8e\xad\xe8\x01")) {
		t.Fatalf("no header: %x", data[:8])
	}
	n, size := int(binary.BigEndian.Uint32(data[8:])), int(binary.BigEndian.Uint32(data[12:]))
	store := data[16+16*n : 16+16*n+size]
	values := map[uint32]string{}
	for i := range n {
		row := data[16+16*i:]
		values[binary.BigEndian.Uint32(row)] = string(store[binary.BigEndian.Uint32(row[8:]):])
	}
	return values, 16 + 16*n + size
}

// TestBill: every module that the go command compiles into a program is named, with
// the version and the line that go.sum has.
func TestBill(t *testing.T) {
	path := built(t, "../..", "./cmd/tri-classify")
	b := bill{release: small}
	if err := b.add(linux, file{name: "bin/tri-classify", from: path}); err != nil {
		t.Fatal(err)
	}
	data, err := b.json()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components   []component
		Dependencies []dependency
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range doc.Components {
		if c.Type == "library" && c.Name != "stdlib" {
			got[c.Name+" "+c.Version] = c.Properties[0].Value
		}
	}
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}",
		"./cmd/tri-classify")
	c.Dir = "../.."
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	locked, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && line != "tri" {
			want[line] = true
		}
	}
	for m := range want {
		if !strings.Contains(string(locked), m+" "+got[m]+"\n") || got[m] == "" {
			t.Errorf("%s has the sum %q, which is not in go.sum", m, got[m])
		}
	}
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d modules are named, %d are in it", len(got), len(want))
	}
	for _, ref := range doc.Dependencies[0].DependsOn {
		if !slices.ContainsFunc(doc.Components, func(c component) bool { return c.Ref == ref }) {
			t.Errorf("%s is needed and nowhere described", ref)
		}
	}
	if len(doc.Dependencies) != 1 || len(doc.Dependencies[0].DependsOn) != len(want)+1 {
		t.Errorf("dependencies: %v", doc.Dependencies)
	}
}

func TestChoose(t *testing.T) {
	if got, err := choose(nil); err != nil || len(got) != 4 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := choose([]string{"linux-amd64"}); err != nil || len(got) != 1 || got[0] != linux {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := choose([]string{"linux-amd64", "plan9-mips"}); err == nil {
		t.Errorf("%v", got)
	}
}

func TestPackageVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                  "1.2.3",
		"1.2.3":                   "1.2.3",
		"v1.2.3-4-g0123abc":       "1.2.3+4+g0123abc",
		"v1.2.3-4-g0123abc-dirty": "1.2.3+4+g0123abc+dirty",
		"0123abc":                 "0~20231114.0123abc",
		"1234567":                 "0~20231114.1234567",
		"0123abc-dirty":           "0~20231114.0123abc+dirty",
	} {
		if got := packageVersion(version, when); got != want {
			t.Errorf("packageVersion(%q) = %q, want %q", version, got, want)
		}
	}
}

func TestSums(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sums(dir); err != nil {
		t.Fatal(err)
	}
	// The sums of "abc" and of nothing are those of FIPS 180-2.
	want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n" +
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n"
	if got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS")); err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
