package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"path"
	"strings"
)

// writeDeb writes a Debian package, format 2.0 (deb(5)): an ar archive of its
// version, a tar of what the package says of itself, and a tar of the files.
func writeDeb(w io.Writer, r release, t target, tree []file) error {
	tree, err := packaged(tree)
	if err != nil {
		return err
	}
	for i, f := range tree {
		// Debian has its own place for these; the others' is not on its fpath.
		tree[i].name = strings.Replace(f.name, "zsh/site-functions", "zsh/vendor-completions", 1)
	}
	tree = sorted(tree)
	control, err := debControl(r, t, tree)
	if err != nil {
		return err
	}
	var about, files bytes.Buffer
	if err := archive(&about, "./", control, r.at); err != nil {
		return err
	}
	if err := archive(&files, "./", tree, r.at); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "!<arch>\n"); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", about.Bytes()}, {"data.tar.gz", files.Bytes()}} {
		if err := arMember(w, m.name, m.data, r.at.Unix()); err != nil {
			return err
		}
	}
	return nil
}

// debControl are the files control and md5sums.
func debControl(r release, t target, tree []file) ([]file, error) {
	var sums strings.Builder
	size := 0
	for _, f := range tree {
		data, err := f.bytes()
		if err != nil {
			return nil, err
		}
		size += (len(data) + 1023) / 1024 // in KiB, each file rounded up
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(data), f.name)
	}
	control := fmt.Sprintf(`Package: tri
Version: %s
Architecture: %s
Maintainer: tri <tri@localhost>
Installed-Size: %d
Recommends: %s
Section: utils
Priority: optional
Description: %s
 %s
`, packageVersion(r.version, r.at), t.arch, size, strings.Join(recommends, ", "), summary,
		strings.ReplaceAll(description, "\n", "\n "))
	return []file{{name: "control", mode: 0o644, data: []byte(control)},
		{name: "md5sums", mode: 0o644, data: []byte(sums.String())}}, nil
}

// arMember writes one member of an ar archive; an odd one is padded.
func arMember(w io.Writer, name string, data []byte, at int64) error {
	_, err := fmt.Fprintf(w, "%-16s%-12d%-6d%-6d%-8o%-10d`\n%s%s", path.Base(name), at, 0, 0, 0o100644,
		len(data), data, "\n"[:len(data)%2])
	return err
}
