package fsck

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/report/history"
)

// split adds a job for each part of a log; also, if not nil, checks its records further.
func split(j *jobs, h *durable.Home, name, schema string, also func(line) error) error {
	cuts, err := history.Split(h, name, 0, -1, 2*runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	for i := range len(cuts) - 1 {
		j.add(name, func(f *Finding) error { return piece(h, name, schema, cuts[i], cuts[i+1], f, also) })
	}
	return nil
}

// lines calls fn for each complete line that begins in a part of a log, and returns the number of
// bytes after the last newline.
func lines(h *durable.Home, name string, from, until int64, fn func(line)) (torn int64, err error) {
	r, err := openPart(h, name, from, until)
	if err != nil {
		return 0, err
	}
	defer r.close()
	for r.next() {
		fn(r.line)
	}
	return r.torn, r.err
}

// line is a complete line of a log, valid until the next is read.
type line struct {
	at    int64
	bytes []byte
	long  bool // longer than any valid line: bytes holds its beginning
}

// part reads the lines that begin in a part of a log.
type part struct {
	line
	name      string
	file      *os.File // nil: the log does not exist
	in        *bufio.Reader
	to, until int64 // start of the next line; end of the part, -1: none
	torn      int64
	err       error
}

func openPart(h *durable.Home, name string, from, until int64) (*part, error) {
	file, err := h.Root().Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &part{}, nil
	}
	if err == nil {
		if _, err = file.Seek(from, io.SeekStart); err != nil {
			err = errors.Join(err, file.Close())
		}
	}
	if err != nil {
		return nil, readError(name, err)
	}
	p := &part{name: name, file: file, in: lineReaders.Get().(*bufio.Reader), to: from, until: until}
	p.in.Reset(bites{file})
	return p, nil
}

// next reads a line; it returns false at the end or after an error.
func (p *part) next() bool {
	if p.file == nil || p.until >= 0 && p.to >= p.until {
		return false
	}
	b, err := p.in.ReadSlice('\n')
	size, long := int64(len(b)), errors.Is(err, bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = p.in.ReadSlice('\n')
		size += int64(len(more))
	}
	if errors.Is(err, io.EOF) {
		p.torn = size
		return false
	}
	if err != nil {
		p.err = readError(p.name, err)
		return false
	}
	if !long {
		b = b[:len(b)-1]
	}
	p.line = line{p.to, b, long}
	p.to += size
	return true
}

func (p *part) close() {
	if p.file != nil {
		lineReaders.Put(p.in)
		_ = p.file.Close() // opened for reading only
	}
}

// bites limits the size of reads, so that the bytes are still in the processor's cache when they
// are checked.
type bites struct{ io.Reader }

func (b bites) Read(p []byte) (int, error) {
	const most = 64 << 10
	return b.Reader.Read(p[:min(len(p), most)])
}

// lineReaders are pooled because they are large and a home has many small logs.
var lineReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, ndjson.MaxLine+1) }}

func readError(name string, err error) error {
	return sysexit.With(sysexit.IO, fmt.Errorf("read %s: %w", name, err))
}

// reader reads the small files of a home: it opens each folder once and reuses its buffer.
type reader struct {
	home    *durable.Home
	folders map[string]*os.Root
	buf     []byte
}

func newReader(h *durable.Home) *reader {
	return &reader{home: h, folders: map[string]*os.Root{}, buf: make([]byte, 64<<10)}
}

func (r *reader) close() {
	for _, f := range r.folders {
		_ = f.Close() // opened for reading only
	}
}

// folder opens a folder; if it does not exist, it returns nil with fs.ErrNotExist.
func (r *reader) folder(dir string) (*os.Root, error) {
	if f := r.folders[dir]; f != nil {
		return f, nil
	}
	f, err := r.home.Root().OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r.folders[dir] = f
	return f, nil
}

// read returns a whole file of a folder, valid until the next call.
func (r *reader) read(dir, name string) ([]byte, error) {
	folder, err := r.folder(dir)
	if err != nil {
		return nil, err
	}
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for n := 0; ; {
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		more, err := f.Read(r.buf[n:])
		n += more
		if errors.Is(err, io.EOF) {
			return r.buf[:n], nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *reader) exists(dir, name string) bool {
	folder, err := r.folder(dir)
	if err == nil {
		_, err = folder.Lstat(name)
	}
	return err == nil
}

// checker validates files against a schema.
type checker struct {
	*reader
	scan   ndjson.Scanner
	schema schema
}

func newChecker(h *durable.Home, name string) (*checker, error) {
	s, err := loadSchema(name)
	return &checker{reader: newReader(h), schema: s}, err
}

// file checks a file; a missing file is skipped, because it was moved after its folder was listed.
func (c *checker) file(f *Finding, dir, name, called string) {
	b, err := c.read(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if f.Records++; err == nil {
		err = c.scan.Scan(b)
	}
	if err == nil {
		err = c.schema.check(b)
	}
	if err != nil {
		f.bad(called, err)
	}
}
