package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"time"
)

// archive writes a compressed tar of the tree and the folders that it stands in,
// with prefix before every name.
func archive(w io.Writer, prefix string, tree []file, at time.Time) error {
	z := gzip.NewWriter(w) // no name and no time in its header
	t := tar.NewWriter(z)
	head := tar.Header{Format: tar.FormatUSTAR, Uname: "root", Gname: "root", ModTime: at}
	for _, dir := range append([]string{""}, folders(tree)...) {
		h := head
		h.Typeflag, h.Name, h.Mode = tar.TypeDir, prefix+dir, 0o755
		if dir != "" {
			h.Name += "/"
		}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
	}
	for _, f := range tree {
		data, err := f.bytes()
		if err != nil {
			return err
		}
		h := head
		h.Typeflag, h.Name, h.Mode, h.Size = tar.TypeReg, prefix+f.name, f.mode, int64(len(data))
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// compressed is data as gzip -9n leaves it.
func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
