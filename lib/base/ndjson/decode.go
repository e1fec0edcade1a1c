package ndjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Unmarshal is json.Unmarshal, about three times as fast if b is a record and v points to an empty
// struct. Anything unusual, such as a value of the wrong type or a name in other case, is passed
// to json.Unmarshal, so that both always give the same result.
func Unmarshal(b []byte, v any) error {
	s := scanners.Get().(*Scanner)
	defer scanners.Put(s)
	err := s.Scan(b)
	s.b = nil
	if err != nil {
		return json.Unmarshal(b, v)
	}
	return Decode(b, v)
}

var scanners = sync.Pool{New: func() any { return new(Scanner) }}

// Decode is Unmarshal for a line that Check has accepted.
func Decode(line []byte, v any) error {
	p := reflect.ValueOf(v)
	if p.Kind() == reflect.Pointer && !p.IsNil() && p.Elem().Kind() == reflect.Struct && p.Elem().IsZero() {
		d := decoder{b: line}
		if d.into(p.Elem(), planOf(p.Elem().Type())) {
			return nil
		}
		p.Elem().SetZero()
	}
	return json.Unmarshal(line, v)
}

// plan says how a type is decoded. The zero plan means by json.Unmarshal.
type plan struct {
	read   func(d *decoder, v reflect.Value, p *plan) bool
	elem   *plan           // of a pointer or a list
	fields []field         // of a struct, in order of declaration
	places map[string]int  // index of each field, by name
	lower  map[string]bool // the names in lower case
}

type field struct {
	name  string
	index []int
	plan  *plan
}

var (
	plansMu sync.Mutex
	plans   = map[reflect.Type]*plan{}

	rawType     = reflect.TypeFor[json.RawMessage]()
	numberType  = reflect.TypeFor[json.Number]()
	jsonReader  = reflect.TypeFor[json.Unmarshaler]()
	plainReader = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()
)

func planOf(t reflect.Type) *plan {
	plansMu.Lock()
	defer plansMu.Unlock()
	return compile(t)
}

func compile(t reflect.Type) *plan {
	if p := plans[t]; p != nil {
		return p
	}
	p := &plan{read: (*decoder).other}
	plans[t] = p // before its parts: a type may contain itself
	switch {
	case t == rawType:
		p.read = (*decoder).raw
	case t == numberType || reflect.PointerTo(t).Implements(jsonReader) ||
		reflect.PointerTo(t).Implements(plainReader):
	case t.Kind() == reflect.String:
		p.read = (*decoder).str
	case t.Kind() == reflect.Bool:
		p.read = (*decoder).boolean
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		p.read = (*decoder).integer
	case t.Kind() == reflect.Float64:
		p.read = (*decoder).float
	case t.Kind() == reflect.Pointer:
		p.read, p.elem = (*decoder).pointer, compile(t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		p.read, p.elem = (*decoder).list, compile(t.Elem())
	case t.Kind() == reflect.Struct:
		p.places, p.lower = map[string]int{}, map[string]bool{}
		if p.read = (*decoder).into; !p.collect(t, nil) {
			*p = plan{read: (*decoder).other}
		}
	}
	return p
}

// collect finds the members of a struct; false if Go's rules for names that hide each other would
// be needed.
func (p *plan) collect(t reflect.Type, at []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(at[:len(at):len(at)], i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && f.IsExported():
			if reflect.PointerTo(f.Type).Implements(jsonReader) || !p.collect(f.Type, index) {
				return false
			}
			continue
		case f.Anonymous && f.Tag.Get("json") != "-":
			return false
		case !f.IsExported() || f.Tag.Get("json") == "-":
			continue
		case strings.Contains(options, "string") || strings.ContainsFunc(name, odd):
			return false
		case name == "":
			name = f.Name
		}
		if _, hidden := p.places[name]; hidden {
			return false
		}
		p.places[name] = len(p.fields)
		p.fields = append(p.fields, field{name, index, compile(f.Type)})
		p.lower[strings.ToLower(name)] = true
	}
	return true
}

// odd reports whether r does not occur in our field names.
func odd(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// decoder reads a checked line. Its functions return false if json.Unmarshal must decide what the
// line means.
type decoder struct {
	b []byte
	i int
}

// next skips white space and returns the byte after it.
func (d *decoder) next() byte {
	for d.b[d.i] == ' ' || d.b[d.i] == '\t' || d.b[d.i] == '\r' || d.b[d.i] == '\n' {
		d.i++
	}
	return d.b[d.i]
}

// text skips a string and returns its raw content.
func (d *decoder) text() (inside []byte, escaped bool) {
	from := d.i + 1
	d.i, escaped = stringEnd(d.b, d.i)
	return d.b[from : d.i-1], escaped
}

// skip skips a value and returns its bytes.
func (d *decoder) skip() []byte {
	from := d.i
	switch d.b[d.i] {
	case '"':
		d.text()
	case '{', '[':
		for depth := 0; ; {
			switch d.b[d.i] {
			case '"':
				d.text()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if d.i++; depth == 0 {
				return d.b[from:d.i]
			}
		}
	default:
		d.word()
	}
	return d.b[from:d.i]
}

// word skips a number, true, false or null.
func (d *decoder) word() []byte {
	from := d.i
	for d.i < len(d.b) && strings.IndexByte(",]} \t\r\n", d.b[d.i]) < 0 {
		d.i++
	}
	return d.b[from:d.i]
}

// null skips null, which leaves a value unchanged.
func (d *decoder) null() bool {
	if d.b[d.i] != 'n' {
		return false
	}
	d.i += len("null")
	return true
}

func (d *decoder) into(v reflect.Value, p *plan) bool {
	if p.places == nil {
		return false
	}
	if d.next() != '{' {
		return d.null()
	}
	d.i++
	for expect := 0; ; {
		switch d.next() {
		case '}':
			d.i++
			return true
		case ',':
			d.i++
			continue
		}
		key := d.name()
		n, known := expect, expect < len(p.fields) && p.fields[expect].name == string(key)
		if !known {
			n, known = p.places[string(key)]
		}
		switch {
		case known:
			f := &p.fields[n]
			if expect = n + 1; !f.plan.read(d, v.FieldByIndex(f.index), f.plan) {
				return false
			}
		case p.alike(key):
			return false
		default:
			d.skip()
		}
	}
}

// name reads a member's name and the colon, and stops before the value.
func (d *decoder) name() []byte {
	key, escaped := d.text()
	if escaped {
		key = unescape(nil, key)
	}
	d.next()
	d.i++
	d.next()
	return key
}

// alike reports whether json.Unmarshal could match an unknown name to a known one.
func (p *plan) alike(key []byte) bool {
	for _, c := range key {
		if c >= 0x80 {
			return true // it folds the long s to s
		}
	}
	return p.lower[string(bytes.ToLower(key))]
}

func (d *decoder) str(v reflect.Value, _ *plan) bool {
	if d.b[d.i] != '"' {
		return d.null()
	}
	inside, escaped := d.text()
	if escaped {
		inside = unescape(nil, inside)
	}
	v.SetString(string(inside))
	return true
}

func (d *decoder) boolean(v reflect.Value, _ *plan) bool {
	switch d.b[d.i] {
	case 't', 'f':
		v.SetBool(len(d.word()) == len("true"))
		return true
	}
	return d.null()
}

func (d *decoder) integer(v reflect.Value, _ *plan) bool {
	if d.null() {
		return true
	}
	n, err := strconv.ParseInt(string(d.word()), 10, 64)
	if err != nil || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func (d *decoder) float(v reflect.Value, _ *plan) bool {
	if d.null() {
		return true
	}
	n, err := strconv.ParseFloat(string(d.word()), 64)
	v.SetFloat(n)
	return err == nil
}

func (d *decoder) raw(v reflect.Value, _ *plan) bool {
	v.SetBytes(bytes.Clone(d.skip()))
	return true
}

func (d *decoder) pointer(v reflect.Value, p *plan) bool {
	if d.null() {
		return true
	}
	v.Set(reflect.New(v.Type().Elem()))
	return p.elem.read(d, v.Elem(), p.elem)
}

func (d *decoder) list(v reflect.Value, p *plan) bool {
	if d.b[d.i] != '[' {
		return d.null()
	}
	d.i++
	n := 0
	for {
		switch d.next() {
		case ']':
			d.i++
			if n == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			}
			return true
		case ',':
			d.i++
			continue
		}
		if n == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(n + 1)
		if !p.elem.read(d, v.Index(n), p.elem) {
			return false
		}
		n++
	}
}

// other is for types that are left to json.Unmarshal.
func (d *decoder) other(v reflect.Value, _ *plan) bool {
	return json.Unmarshal(d.skip(), v.Addr().Interface()) == nil
}
