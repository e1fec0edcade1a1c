package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"tri/lib/chat"
)

// memory is, by the names of rooms, what stood where they had been read to: by it a
// room that was cut or rewritten while nobody read it is told at the next start. The
// ids of its messages would be those of others, which are in the log.
type memory map[string]mark

// mark is an offset and the hash of the bytes before it. Any one is as good as the
// last: what was before it must still be there.
type mark struct {
	Off int64  `json:"off"`
	Sum string `json:"sum"`
}

// maxRooms is how many rooms are remembered, so that all fit.
const maxRooms = 300

// remembered reads the memory. One that cannot be understood is none.
func remembered(resume chat.Resume) memory {
	m := memory{}
	if json.Unmarshal(resume.State, &m) != nil || m == nil {
		return memory{}
	}
	return m
}

// holds reports whether what is remembered of a room is so in f.
func (m memory) holds(name string, f *os.File) (bool, error) {
	k := m[name]
	if k.Off <= 0 {
		return true, nil
	}
	tail, err := before(f, k.Off)
	return tail != nil && sum(tail) == k.Sum, err
}

// behind reports whether a room has grown so much that it is to be remembered anew:
// twice as far, so that a busy one costs no write each time.
func (m memory) behind(p *position) bool {
	k, ok := m[p.name]
	return p.off > 0 && p.off >= 2*k.Off && (ok || len(m) < maxRooms)
}

// remember keeps how far all rooms have been read.
func (r *reader) remember() error {
	changed := false
	for name, p := range r.rooms {
		k, ok := r.memory[name]
		if p.dead || p.off == k.Off || !ok && len(r.memory) >= maxRooms {
			continue
		}
		r.memory[name], changed = mark{p.off, sum(p.tail)}, true
	}
	if !changed {
		return nil
	}
	text, err := json.Marshal(r.memory)
	if err != nil {
		return err
	}
	return r.Save(text)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:16])
}
