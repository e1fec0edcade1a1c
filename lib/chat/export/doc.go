package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tri/lib/base/sysexit"
)

// Limits of the input, after decompression.
const (
	maxFile  = 16 << 30 // bytes of one file
	maxValue = 8 << 20  // bytes of one message
)

// doc is a JSON file read as a stream, with one message in memory at a time.
type doc struct {
	name  string
	f     fs.File
	src   io.Reader // f, or a filter that repairs it
	dec   *json.Decoder
	total int64 // bytes that may still be read
	value int64 // of these, for the current value
	large bool  // a limit was reached: nothing more is read
}

func (r *Reader) doc(name string) (*doc, error) {
	f, err := r.files.Open(name)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.Data, "export %q: %w", r.path, err)
	}
	d := &doc{name: name, f: f, src: f, total: maxFile, value: maxValue}
	d.dec = json.NewDecoder(d)
	return d, nil
}

var errLarge = errors.New("larger than a message or a file of an export can be")

// Read implements io.Reader, with limits.
func (d *doc) Read(p []byte) (int, error) {
	if d.large = d.large || d.total <= 0 || d.value <= 0; d.large {
		return 0, errLarge
	}
	n, err := d.src.Read(p[:min(int64(len(p)), d.total, d.value)])
	d.total -= int64(n)
	d.value -= int64(n)
	return n, err
}

func (d *doc) Close() error { return d.f.Close() }

func (d *doc) token() (json.Token, error) {
	d.value = maxValue
	return d.dec.Token()
}

// decode reads the next value.
func (d *doc) decode(v any) error {
	d.value = maxValue
	return d.dec.Decode(v)
}

// begin reads the delimiter that opens an object or a list.
func (d *doc) begin(want json.Delim) error {
	t, err := d.token()
	if err == nil && t != want {
		err = fmt.Errorf("%w: %v where %v should begin", errShape, t, want)
	}
	return err
}

// object calls fn for each name of the next object; fn reads the value.
func (d *doc) object(fn func(key string) error) error {
	if err := d.begin('{'); err != nil {
		return err
	}
	for d.dec.More() {
		t, err := d.token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // the decoder returns nothing else here
		if err := fn(key); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

// list calls fn for each element of the next list; fn reads it.
func (d *doc) list(fn func() error) error {
	if err := d.begin('['); err != nil {
		return err
	}
	for d.dec.More() {
		if err := fn(); err != nil {
			return err
		}
	}
	_, err := d.token()
	return err
}

// skip skips the next value, whatever its size.
func (d *doc) skip() error {
	for depth := 0; ; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// each reads a list of messages of type T; it refuses elements of another type.
func each[T any](p *pass, d *doc, fn func(*T) error) error {
	return d.list(func() error { return one(p, d, fn) })
}

// one reads one value of type T for fn.
func one[T any](p *pass, d *doc, fn func(*T) error) error {
	v := new(T)
	if err := d.decode(v); err != nil {
		if errors.As(err, new(*json.UnmarshalTypeError)) { // it has been read completely
			p.refuse(fmt.Sprintf("%s: before byte %d", d.name, d.dec.InputOffset()), err)
			return nil
		}
		return err
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	err := fn(v)
	if errors.Is(err, errBad) {
		p.refuse(fmt.Sprintf("%s: before byte %d", d.name, d.dec.InputOffset()), err)
		return nil
	}
	return err
}

// errBad means that a value cannot be a message.
var errBad = errors.New("not a message")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBad, fmt.Sprintf(format, args...))
}

// inside opens a file for fn. A file that is truncated or not JSON is refused from there on; the
// other files are still read.
func (p *pass) inside(name string, fn func(*doc) error) error {
	d, err := p.doc(name)
	if err != nil {
		return err
	}
	err = fn(d)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, errLarge), errors.Is(err, errShape):
		p.refuse(fmt.Sprintf("%s: from byte %d on", name, d.dec.InputOffset()), err)
		err = nil
	}
	return errors.Join(err, d.Close())
}

// errShape means that a file is JSON but not of this format.
var errShape = errors.New("not of this format")
