package lark

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// frame is a message of the long connection: the protobuf message Frame of the package pbbp2, as in
// larksuite/oapi-sdk-go.
type frame struct {
	Seq, Log uint64
	Service  uint64
	Method   uint64
	Headers  []header
	Encoding string
	Type     string
	Payload  []byte
	LogNew   string
}

type header struct{ Key, Value string }

// Methods of a frame.
const (
	methodControl = 0
	methodData    = 1
)

func (f *frame) get(key string) string {
	for _, h := range f.Headers {
		if h.Key == key {
			return h.Value
		}
	}
	return ""
}

func (f *frame) number(key string) int {
	n, err := strconv.Atoi(f.get(key))
	if err != nil {
		return 0
	}
	return n
}

// Wire types of a field (https://protobuf.dev/programming-guides/encoding).
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var errFrame = errors.New("is not a frame")

// field decodes the next field of b.
func field(b []byte) (number, n uint64, value, rest []byte, err error) {
	tag, size := binary.Uvarint(b)
	if size <= 0 || tag>>3 == 0 {
		return 0, 0, nil, nil, errFrame
	}
	b = b[size:]
	switch tag & 7 {
	case wireVarint:
		n, size = binary.Uvarint(b)
		if size <= 0 {
			return 0, 0, nil, nil, errFrame
		}
		return tag >> 3, n, nil, b[size:], nil
	case wireBytes:
		n, size = binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return 0, 0, nil, nil, errFrame
		}
		end := size + int(n)
		return tag >> 3, 0, b[size:end:end], b[end:], nil
	case wireFixed64, wireFixed32:
		size = 8
		if tag&7 == wireFixed32 {
			size = 4
		}
		if len(b) < size {
			return 0, 0, nil, nil, errFrame
		}
		return tag >> 3, 0, nil, b[size:], nil
	}
	return 0, 0, nil, nil, errFrame
}

// parseFrame decodes a frame. Unknown fields are skipped.
func parseFrame(b []byte) (f frame, err error) {
	for len(b) > 0 {
		var number, n uint64
		var value []byte
		if number, n, value, b, err = field(b); err != nil {
			return frame{}, err
		}
		switch number {
		case 1:
			f.Seq = n
		case 2:
			f.Log = n
		case 3:
			f.Service = n
		case 4:
			f.Method = n
		case 5:
			h, err := parseHeader(value)
			if err != nil {
				return frame{}, err
			}
			f.Headers = append(f.Headers, h)
		case 6:
			f.Encoding = string(value)
		case 7:
			f.Type = string(value)
		case 8:
			f.Payload = value
		case 9:
			f.LogNew = string(value)
		}
	}
	return f, nil
}

func parseHeader(b []byte) (h header, err error) {
	for len(b) > 0 {
		var number uint64
		var value []byte
		if number, _, value, b, err = field(b); err != nil {
			return header{}, err
		}
		switch number {
		case 1:
			h.Key = string(value)
		case 2:
			h.Value = string(value)
		}
	}
	return h, nil
}

// bytes encodes a frame with all of its fields: the official clients reject a frame without the
// required ones.
func (f *frame) bytes() []byte {
	var b []byte
	for i, n := range []uint64{f.Seq, f.Log, f.Service, f.Method} {
		b = binary.AppendUvarint(append(b, byte(i+1)<<3|wireVarint), n)
	}
	for _, h := range f.Headers {
		b = appendBytes(b, 5, appendBytes(appendBytes(nil, 1, []byte(h.Key)), 2, []byte(h.Value)))
	}
	b = appendBytes(b, 6, []byte(f.Encoding))
	b = appendBytes(b, 7, []byte(f.Type))
	b = appendBytes(b, 8, f.Payload)
	return appendBytes(b, 9, []byte(f.LogNew))
}

func appendBytes(b []byte, number byte, value []byte) []byte {
	b = binary.AppendUvarint(append(b, number<<3|wireBytes), uint64(len(value)))
	return append(b, value...)
}

// Limits of payloads in several parts.
const (
	maxParts   = 64
	maxPartial = 256 // incomplete payloads
)

// joiner joins payloads that arrive in several frames.
type joiner struct{ parts map[string][][]byte }

// join returns the whole payload of f, or false while parts are missing. A part may be repeated.
// Incomplete payloads are dropped to make room for others; the history has their events.
func (j *joiner) join(f *frame) ([]byte, bool) {
	sum, seq, id := f.number("sum"), f.number("seq"), f.get("message_id")
	if sum <= 1 {
		return f.Payload, true
	}
	if sum > maxParts || seq < 0 || seq >= sum || id == "" {
		return nil, false
	}
	if j.parts == nil || len(j.parts) >= maxPartial && j.parts[id] == nil {
		j.parts = map[string][][]byte{}
	}
	if len(j.parts[id]) != sum {
		j.parts[id] = make([][]byte, sum)
	}
	j.parts[id][seq] = append([]byte{}, f.Payload...)
	var whole []byte
	for _, p := range j.parts[id] {
		if p == nil {
			return nil, false
		}
		whole = append(whole, p...)
	}
	delete(j.parts, id)
	return whole, true
}
