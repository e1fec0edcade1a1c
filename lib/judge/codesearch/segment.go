package codesearch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sort"
)

// segment is an immutable index of some files: the passages of each file, and for each word the passages
// that contain it.
type segment struct {
	files []entry
	spans []span
	first []uint32 // by file: its first passage; has one more element than files

	words  []byte   // all words, sorted and concatenated
	ends   []uint32 // by word: its end in words
	counts []uint32 // by word: number of passages
	until  []uint32 // by word: the end of its postings in posts
	posts  []byte   // by word: delta-encoded passages, each with its fields

	total int64 // words in all passages
	bytes int64 // of text in all files
}

// entry is an indexed file.
type entry struct {
	path  string
	size  int64
	mtime int64 // nanoseconds since 1970
	racy  bool  // changed too shortly before it was read for its time to be reliable
	kind  uint8 // a fileKind
}

// span is a passage in an index.
type span struct {
	file, from, to, decl, words uint32
	tests                       bool // a test beside what it tests
}

// assemble makes a segment from what the readers have read. spans are by file.
func assemble(files []entry, spans [][]span, readers []*reader) *segment {
	s := &segment{files: files, first: make([]uint32, 0, len(files)+1)}
	for i, f := range files {
		s.first = append(s.first, uint32(len(s.spans)))
		s.spans = append(s.spans, spans[i]...)
		s.bytes += f.size
		for _, p := range spans[i] {
			s.total += int64(p.words)
		}
	}
	s.first = append(s.first, uint32(len(s.spans)))
	var all []string
	for _, r := range readers {
		all = append(all, r.words...)
	}
	slices.Sort(all)
	var posts []posting
	for _, w := range slices.Compact(all) {
		posts = posts[:0]
		for _, r := range readers {
			if id, ok := r.ids[w]; ok {
				posts = append(posts, r.posts[id]...)
			}
		}
		s.append(w, posts)
	}
	return s
}

// append adds the postings of the next word.
func (s *segment) append(word string, posts []posting) {
	slices.SortFunc(posts, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.passage, b.passage))
	})
	s.words = append(s.words, word...)
	s.ends = append(s.ends, uint32(len(s.words)))
	s.counts = append(s.counts, uint32(len(posts)))
	last := uint32(0)
	for _, p := range posts {
		at := s.first[p.file] + p.passage
		s.posts = binary.AppendUvarint(s.posts, uint64(at-last))
		s.posts = append(s.posts, byte(p.fields))
		last = at
	}
	s.until = append(s.until, uint32(len(s.posts)))
}

// word returns the i-th word.
func (s *segment) word(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.words[from:s.ends[i]]
}

// find returns the number of a word, or -1 if it does not occur.
func (s *segment) find(word string) int {
	i := sort.Search(len(s.ends), func(i int) bool { return string(s.word(i)) >= word })
	if i < len(s.ends) && string(s.word(i)) == word {
		return i
	}
	return -1
}

// each calls fn with every passage that has the i-th word.
func (s *segment) each(i int, fn func(at uint32, f fields)) {
	from := uint32(0)
	if i > 0 {
		from = s.until[i-1]
	}
	at := uint32(0)
	for rest := s.posts[from:s.until[i]]; len(rest) > 1; {
		d, n := binary.Uvarint(rest)
		if n <= 0 || n >= len(rest) {
			return
		}
		at += uint32(d)
		if int(at) >= len(s.spans) {
			return // impossible in an index with a correct checksum
		}
		fn(at, fields(rest[n]))
		rest = rest[n+1:]
	}
}

// format is the first line of an index on disk. It must change whenever the contents or the splitting of
// words change.
const format = "tri index 8\n"

var table = crc32.MakeTable(crc32.Castagnoli)

var errFormat = errors.New("not an index of this version, or damaged")

// encode returns the segment in its form on disk.
func (s *segment) encode() []byte {
	b := make([]byte, 0, len(s.posts)+len(s.words)+12*len(s.ends)+12*len(s.spans)+64*len(s.files))
	b = append(b, format...)
	num := func(n uint64) { b = binary.AppendUvarint(b, n) }
	blob := func(p []byte) { num(uint64(len(p))); b = append(b, p...) }
	num(uint64(len(s.files)))
	for i, f := range s.files {
		blob([]byte(f.path))
		racy := uint64(0)
		if f.racy {
			racy = 1
		}
		for _, n := range []uint64{uint64(f.size), uint64(f.mtime), racy, uint64(f.kind),
			uint64(s.first[i+1] - s.first[i])} {
			num(n)
		}
	}
	for _, p := range s.spans {
		num(uint64(p.from))
		num(uint64(p.to - p.from))
		num(uint64(p.decl)<<1 | uint64(later(p.tests)))
		num(uint64(p.words))
	}
	num(uint64(len(s.ends)))
	last, end := uint32(0), uint32(0)
	for i := range s.ends {
		num(uint64(s.ends[i] - end))
		num(uint64(s.counts[i]))
		num(uint64(s.until[i] - last))
		end, last = s.ends[i], s.until[i]
	}
	blob(s.words)
	blob(s.posts)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, table))
}

// decode reads the output of encode. It refuses anything else.
func decode(b []byte) (*segment, error) {
	n := len(b) - 4
	if n < len(format) || string(b[:len(format)]) != format ||
		crc32.Checksum(b[:n], table) != binary.LittleEndian.Uint32(b[n:]) {
		return nil, errFormat
	}
	d := &decoder{rest: b[len(format):n]}
	s := new(segment)
	spans := uint64(0)
	for range d.count() {
		f := entry{path: string(d.blob()), size: int64(d.num()), mtime: int64(d.num()), racy: d.num() == 1,
			kind: uint8(d.num())}
		s.files, s.first = append(s.files, f), append(s.first, uint32(spans))
		spans += d.num()
		s.bytes += f.size
	}
	s.first = append(s.first, uint32(spans))
	if d.bad || spans > uint64(len(d.rest)) {
		return nil, errFormat
	}
	s.spans = make([]span, spans)
	for i := range s.files {
		for at := s.first[i]; at < s.first[i+1]; at++ {
			from := uint32(d.num())
			to, decl := from+uint32(d.num()), d.num()
			s.spans[at] = span{file: uint32(i), from: from, to: to, decl: uint32(decl >> 1),
				tests: decl&1 == 1, words: uint32(d.num())}
			s.total += int64(s.spans[at].words)
		}
	}
	words := d.count()
	s.ends, s.counts, s.until = make([]uint32, words), make([]uint32, words), make([]uint32, words)
	last, end := uint32(0), uint32(0)
	for i := range words {
		end += uint32(d.num())
		s.ends[i], s.counts[i] = end, uint32(d.num())
		last += uint32(d.num())
		s.until[i] = last
	}
	s.words, s.posts = d.blob(), d.blob()
	if d.bad || int(end) != len(s.words) || int(last) != len(s.posts) {
		return nil, errFormat
	}
	return s, nil
}

// decoder reads numbers and strings, and records whether one was missing.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) num() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads a number of items that take at least a byte each.
func (d *decoder) count() int {
	n := d.num()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) blob() []byte {
	n := d.count()
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}
