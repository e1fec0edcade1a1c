package larktest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tri/lib/chat/chattest/wire"

	"github.com/coder/websocket"
)

// frame writes a frame of the long connection: the protobuf message
//
//	message Header { required string key = 1; required string value = 2; }
//	message Frame {
//		required uint64 SeqID = 1; required uint64 LogID = 2;
//		required int32 service = 3; required int32 method = 4;
//		repeated Header headers = 5; optional string payload_encoding = 6;
//		optional string payload_type = 7; optional bytes payload = 8; optional string LogIDNew = 9;
//	}
func frame(method uint64, payload []byte, headers ...string) []byte {
	var b []byte
	for i, n := range []uint64{1, 1, 33, method} {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i+1)<<3), n)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		b = blob(b, 5, blob(blob(nil, 1, []byte(headers[i])), 2, []byte(headers[i+1])))
	}
	return blob(b, 8, payload)
}

func blob(b []byte, field uint64, v []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, field<<3|2), uint64(len(v))), v...)
}

// read parses a client's frame: its method, headers and payload; ok is false if it is invalid.
func read(b []byte) (method uint64, headers map[string]string, payload []byte, ok bool) {
	headers = map[string]string{}
	fields, ok := split(b)
	for _, f := range fields {
		switch f.number {
		case 4:
			method = f.n
		case 5:
			inner, good := split(f.v)
			if !good || len(inner) != 2 {
				return 0, nil, nil, false
			}
			headers[string(inner[0].v)] = string(inner[1].v)
		case 8:
			payload = f.v
		}
	}
	return method, headers, payload, ok
}

type part struct {
	number, n uint64
	v         []byte
}

func split(b []byte) (all []part, ok bool) {
	for len(b) > 0 {
		tag, k := binary.Uvarint(b)
		n, l := binary.Uvarint(b[max(k, 0):])
		if k <= 0 || l <= 0 {
			return nil, false
		}
		p := part{number: tag >> 3, n: n}
		b = b[k+l:]
		if tag&7 == 2 {
			if n > uint64(len(b)) {
				return nil, false
			}
			p.v, b = b[:n], b[n:]
		}
		all = append(all, p)
	}
	return all, true
}

// connect handles a client of the long connection.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	full := s.line.Len() >= 50 // the maximum of an app
	s.mu.Unlock()
	if full {
		w.Header().Set("Handshake-Status", "514")
		w.Header().Set("Handshake-Msg", "the number of connections exceeded the limit")
		w.Header().Set("Handshake-Autherrcode", "1000040350")
		w.WriteHeader(http.StatusForbidden)
		return
	}
	var c *wire.Conn
	s.mu.Lock() // a connected client receives all events from then on
	ws, err := websocket.Accept(w, r, nil)
	if err == nil {
		c = wire.NewConn(ws, websocket.MessageBinary)
		s.line.Add(c)
	}
	s.mu.Unlock()
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go c.Write(ctx)
	for {
		_, b, err := ws.Read(ctx)
		if err != nil {
			break
		}
		s.answered(c, b)
	}
	c.Cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Remove(c)
}

// answered handles a client's frame: a ping, or the acknowledgement of an event.
func (s *Server) answered(c *wire.Conn, b []byte) {
	method, headers, payload, ok := read(b)
	if ok && method == 0 && headers["type"] == "ping" {
		conf, _ := json.Marshal(config())
		c.Push(frame(0, conf, "type", "pong"))
		return
	}
	var said struct {
		Code int `json:"code"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok && method == 1 && headers["message_id"] != "" && json.Unmarshal(payload, &said) == nil &&
		said.Code == http.StatusOK {
		s.acked++
		return
	}
	s.failed++
}

// Acked returns how many events were acknowledged, how many were sent, and how many were answered
// with an error.
func (s *Server) Acked() (n, of, bad int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked, s.events, s.failed
}

// Conns returns the number of connections.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line.Len()
}

// Silence leaves every connection open but never uses it again, like a network that stops carrying
// data.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Silence()
}

// Garble sends data that no client can parse.
func (s *Server) Garble() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Push([]byte{0xff, 0xff, 0xff})
	s.line.Push([]byte{0x42, 0xff, 0x01})
	s.line.Push(frame(1, []byte(`{"header":`), "type", "event", "message_id", "g1", "sum", "1", "seq", "0"))
	s.line.Push(frame(1, []byte(`{"header":{"event_type":"im.message.receive_v1"},"event":{"message":[],"sender":7}}`), "type", "event", "message_id", "g2", "sum", "1", "seq", "0"))
	s.line.Push(frame(1, []byte(`x`), "type", "event", "message_id", "g3", "sum", "9999999", "seq", "-1"))
	s.line.Push(frame(1, []byte(strings.Repeat("x", 9<<20)), "type", "event", "message_id", "g4", "sum",
		"1", "seq", "0"))
}

// deliver sends an event to one of the connections, or to the webhook.
func (s *Server) deliver(kind string, inner M) {
	s.events++
	b, _ := json.Marshal(M{"schema": "2.0", "event": inner, "header": M{
		"event_id": fmt.Sprintf("e%08d", s.events), "event_type": kind,
		"create_time": strconv.FormatInt(time.Now().UnixMilli(), 10),
		"token":       s.Token, "app_id": App, "tenant_key": Tenant,
	}})
	s.line.Deliver(b, wire.Faults{Cut: s.faults.Cut, Duplicate: s.faults.Duplicate, Reorder: s.faults.Reorder,
		Lose: s.faults.Lose})
}

// frames encodes an event in as many frames as necessary.
func (s *Server) frames(event []byte, n int) (frames [][]byte) {
	parts := slices.Collect(slices.Chunk(event, s.MaxPart))
	id := fmt.Sprintf("m%08d", n)
	for i, p := range parts {
		frames = append(frames, frame(1, p, "type", "event", "message_id", id, "trace_id", "tr", "sum",
			strconv.Itoa(len(parts)), "seq", strconv.Itoa(i), "timestamp",
			strconv.FormatInt(time.Now().UnixMilli(), 10)))
	}
	return frames
}

// Hook sets an address to which events are posted, instead of the long connection.
func (s *Server) Hook(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Hook(url)
}

// Call makes one encrypted and signed call and returns the response; status 0: none.
func (s *Server) Call(to string, payload []byte) (status int, said []byte) {
	body, _ := json.Marshal(M{"encrypt": Encrypt(s.EncryptKey, payload)})
	at, nonce := strconv.FormatInt(time.Now().Unix(), 10), rand.Text()
	r, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Lark-Request-Timestamp", at)
	r.Header.Set("X-Lark-Request-Nonce", nonce)
	r.Header.Set("X-Lark-Signature", Sign(s.EncryptKey, at, nonce, body))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	b := bytes.Buffer{}
	_, _ = b.ReadFrom(resp.Body)
	return resp.StatusCode, b.Bytes()
}

// Sign returns the signature of a call.
func Sign(key, at, nonce string, body []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(slices.Concat([]byte(at+nonce+key), body)))
}

// Encrypt returns the body of a webhook call.
func Encrypt(secret string, plain []byte) string {
	key, iv := sha256.Sum256([]byte(secret)), make([]byte, aes.BlockSize)
	_, _ = rand.Read(iv)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err)
	}
	n := aes.BlockSize - len(plain)%aes.BlockSize
	plain = slices.Concat(plain, bytes.Repeat([]byte{byte(n)}, n))
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(plain, plain)
	return base64.StdEncoding.EncodeToString(append(iv, plain...))
}
