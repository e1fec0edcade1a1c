package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// rpmArch are the processors' names in the words of rpm.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// writeRPM writes an rpm package, format 4 (rpm.org, "RPM V4 Package format"): a
// lead that only file(1) reads, the digests, the header, and the files as a
// compressed cpio archive. It is not signed.
func writeRPM(w io.Writer, r release, t target, tree []file) error {
	tree, err := packaged(tree)
	if err != nil {
		return err
	}
	for _, dir := range folders(tree) {
		// the others are the system's
		if strings.HasPrefix(dir+"/", "usr/share/tri/") || strings.HasPrefix(dir+"/", "usr/share/doc/tri/") {
			tree = append(tree, file{name: dir, mode: 0o040755})
		}
	}
	tree = sorted(tree)
	payload, size, err := rpmPayload(tree, r.at)
	if err != nil {
		return err
	}
	h := rpmHeader{}
	h.describe(r, t)
	h.relate(r, t)
	if err := h.files(tree, r.at); err != nil {
		return err
	}
	h.texts(5092, fmt.Sprintf("%x", sha256.Sum256(payload)))
	h.ints(5093, 8) // by SHA-256
	head := h.bytes(63)
	body := slices.Concat(head, payload)
	sum := md5.Sum(body)
	sig := rpmHeader{}
	sig.text(269, fmt.Sprintf("%x", sha1.Sum(head)))
	sig.text(273, fmt.Sprintf("%x", sha256.Sum256(head)))
	sig.ints(1000, int32(len(body)))
	sig.add(1004, typeBin, len(sum), sum[:])
	sig.ints(1007, int32(size))
	digests := sig.bytes(62)
	digests = append(digests, make([]byte, -len(digests)&7)...)
	for _, part := range [][]byte{rpmLead(r), digests, body} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// rpmLead is the 96 bytes that rpm began with in 1995.
func rpmLead(r release) []byte {
	lead := make([]byte, 96)
	copy(lead, "\xed\xab\xee\xdb\x03\x00\x00\x00\x00\x01")
	copy(lead[10:75], "tri-"+packageVersion(r.version, r.at)+"-1")
	lead[77], lead[79] = 1, 5 // Linux; digests in a header
	return lead
}

// describe adds the tags that say what the package is.
func (h *rpmHeader) describe(r release, t target) {
	v := packageVersion(r.version, r.at)
	h.texts(100, "C")
	h.text(1000, "tri")
	h.text(1001, v)
	h.text(1002, "1")
	h.add(1004, typeI18N, 1, []byte(summary+"\x00"))
	h.add(1005, typeI18N, 1, []byte(description+"\x00"))
	h.ints(1006, int32(r.at.Unix()))
	h.text(1007, "localhost") // the builder's name is nobody's business and no two are equal
	h.text(1014, licence)
	h.add(1016, typeI18N, 1, []byte("Unspecified\x00"))
	h.text(1021, "linux")
	h.text(1022, rpmArch[t.arch])
	h.text(1044, "tri-"+v+"-1.src.rpm") // a package without it is taken for sources
	h.text(1124, "cpio")
	h.text(1125, "gzip")
	h.text(1126, "6")
}

// relate adds what the package provides, needs of rpm, and can use.
func (h *rpmHeader) relate(r release, t target) {
	const equal, rpmlib = 8, 1<<24 | 2 | 8 // a feature of rpm, from that version on
	version := packageVersion(r.version, r.at) + "-1"
	h.texts(1047, "tri", "tri("+strings.ReplaceAll(rpmArch[t.arch], "_", "-")+")")
	h.ints(1112, equal, equal)
	h.texts(1113, version, version)
	h.ints(1048, rpmlib, rpmlib, rpmlib, rpmlib)
	h.texts(1049, "rpmlib(CompressedFileNames)", "rpmlib(FileDigests)", "rpmlib(PayloadFilesHavePrefix)",
		"rpmlib(TildeInVersions)")
	h.texts(1050, "3.0.4-1", "4.6.0-1", "4.0-1", "4.10.0-1")
	h.texts(5046, recommends...)
	h.texts(5047, make([]string, len(recommends))...)
	h.ints(5048, make([]int32, len(recommends))...)
}

// files adds the arrays that describe the files, in the order of the payload.
func (h *rpmHeader) files(tree []file, at time.Time) error {
	n := len(tree)
	var digests, bases, dirs []string
	sizes, flags, inodes, indexes := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	modes, total := make([]int16, n), int32(0)
	for i, f := range tree {
		data, err := f.bytes()
		if err != nil {
			return err
		}
		digest := fmt.Sprintf("%x", sha256.Sum256(data))
		if f.folder() {
			digest = ""
		}
		dir := "/" + path.Dir(f.name) + "/"
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		if strings.HasPrefix(f.name, "usr/share/doc/") || strings.HasPrefix(f.name, "usr/share/man/") {
			flags[i] = 2 // documentation
		}
		digests, bases = append(digests, digest), append(bases, path.Base(f.name))
		sizes[i], modes[i], inodes[i] = int32(len(data)), int16(uint16(f.typed())), int32(i+1)
		indexes[i] = int32(slices.Index(dirs, dir))
		total += sizes[i]
	}
	h.ints(1009, total)
	h.ints(1028, sizes...)
	h.shorts(1030, modes...)
	h.shorts(1033, make([]int16, n)...)
	h.ints(1034, slices.Repeat([]int32{int32(at.Unix())}, n)...)
	h.texts(1035, digests...)
	h.texts(1036, make([]string, n)...)
	h.ints(1037, flags...)
	h.texts(1039, slices.Repeat([]string{"root"}, n)...)
	h.texts(1040, slices.Repeat([]string{"root"}, n)...)
	h.ints(1045, slices.Repeat([]int32{-1}, n)...) // rpm -V looks at everything
	h.ints(1095, slices.Repeat([]int32{1}, n)...)
	h.ints(1096, inodes...)
	h.texts(1097, make([]string, n)...)
	h.ints(1116, indexes...)
	h.texts(1117, bases...)
	h.texts(1118, dirs...)
	h.ints(5011, 8) // digests by SHA-256
	return nil
}

func (f file) folder() bool { return f.mode&0o040000 != 0 }

// typed is the mode with the bits that say what kind of file it is.
func (f file) typed() int64 {
	if f.folder() {
		return f.mode
	}
	return f.mode | 0o100000
}

// rpmPayload is the tree as compressed cpio (cpio(5), new ASCII format), and the
// size of it before.
func rpmPayload(tree []file, at time.Time) ([]byte, int, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	size := 0
	entry := func(ino int, mode, mtime int64, name string, data []byte) error {
		head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
			ino, mode, 0, 0, 1, mtime, len(data), 0, 0, 0, 0, len(name)+1, 0, name)
		head += "\x00\x00\x00"[:-len(head)&3]
		for _, part := range [][]byte{[]byte(head), data, make([]byte, -len(data)&3)} {
			n, err := z.Write(part)
			size += n
			if err != nil {
				return err
			}
		}
		return nil
	}
	for i, f := range tree {
		data, err := f.bytes()
		if err != nil {
			return nil, 0, err
		}
		if err := entry(i+1, f.typed(), at.Unix(), "./"+f.name, data); err != nil {
			return nil, 0, err
		}
	}
	if err := entry(0, 0, 0, "TRAILER!!!", nil); err != nil {
		return nil, 0, err
	}
	err := z.Close()
	return b.Bytes(), size, err
}

const (
	typeInt16, typeInt32, typeString, typeBin, typeTexts, typeI18N = 3, 4, 6, 7, 8, 9
)

// An rpmHeader is a set of tags with values (rpm.org, "Tags", gives the numbers).
type rpmHeader struct{ entries []rpmEntry }

type rpmEntry struct {
	tag, kind, count int32
	data             []byte
}

func (h *rpmHeader) add(tag, kind int32, count int, data []byte) {
	h.entries = append(h.entries, rpmEntry{tag, kind, int32(count), data})
}

func (h *rpmHeader) text(tag int32, s string) { h.add(tag, typeString, 1, []byte(s+"\x00")) }

func (h *rpmHeader) texts(tag int32, s ...string) {
	h.add(tag, typeTexts, len(s), []byte(strings.Join(s, "\x00")+"\x00"))
}

func (h *rpmHeader) ints(tag int32, n ...int32) {
	var data []byte
	for _, v := range n {
		data = binary.BigEndian.AppendUint32(data, uint32(v))
	}
	h.add(tag, typeInt32, len(n), data)
}

func (h *rpmHeader) shorts(tag int32, n ...int16) {
	var data []byte
	for _, v := range n {
		data = binary.BigEndian.AppendUint16(data, uint16(v))
	}
	h.add(tag, typeInt16, len(n), data)
}

// bytes is the header as it stands in a package: magic, an index sorted by tag, the
// values. The tag called region comes first and says that all of it is signed together.
func (h *rpmHeader) bytes(region int32) []byte {
	slices.SortFunc(h.entries, func(a, b rpmEntry) int { return int(a.tag - b.tag) })
	n := len(h.entries) + 1
	var index, store []byte
	row := func(tag, kind, offset, count int32) []byte {
		var b []byte
		for _, v := range []int32{tag, kind, offset, count} {
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
		return b
	}
	for _, e := range h.entries {
		align := map[int32]int{typeInt16: 2, typeInt32: 4}[e.kind]
		for align > 0 && len(store)%align != 0 {
			store = append(store, 0)
		}
		index = append(index, row(e.tag, e.kind, int32(len(store)), e.count)...)
		store = append(store, e.data...)
	}
	index = append(row(region, typeBin, int32(len(store)), 16), index...)
	store = append(store, row(region, typeBin, int32(-16*n), 16)...)
	head := []byte{0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0}
	head = binary.BigEndian.AppendUint32(head, uint32(n))
	head = binary.BigEndian.AppendUint32(head, uint32(len(store)))
	return slices.Concat(head, index, store)
}
