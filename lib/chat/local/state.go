package local

import (
	"encoding/json"
	"os"
	"time"

	"tri/lib/base/text"
	"tri/lib/chat"
)

// memory contains, by room, a hash of the bytes at which reading had stopped. With it a room that
// was truncated or rewritten while no program was running is reported at the next start: the ids of
// its new messages would collide with those in the log.
type memory map[string]mark

// mark is an offset and the hash of the bytes before it. It need not be the last position: bytes
// before any earlier one must not change either.
type mark struct {
	Off int64  `json:"off"`
	Sum string `json:"sum"`
}

// maxRooms is the number of rooms whose marks fit into the saved state.
const maxRooms = 300

// remembered restores the memory. If it cannot be parsed, it is empty.
func remembered(resume chat.Resume) memory {
	m := memory{}
	if json.Unmarshal(resume.State, &m) != nil || m == nil {
		return memory{}
	}
	return m
}

// isSame reports whether the mark of a room matches the file f.
func (m memory) isSame(name string, f *os.File) (bool, error) {
	k := m[name]
	if k.Off <= 0 {
		return true, nil
	}
	tail, err := before(f, k.Off)
	return tail != nil && sum(tail) == k.Sum, err
}

// saveState saves how far all rooms have been read, those too that are not read any more: after a restart
// they must not be taken for unchanged.
func (r *reader) saveState() error {
	changed := false
	r.saved = time.Now()
	for name, p := range r.rooms {
		k, ok := r.memory[name]
		if p.off == 0 || p.off == k.Off || !ok && len(r.memory) >= maxRooms {
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
	return text.SHA256(b)[:32]
}
