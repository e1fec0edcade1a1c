package teams

import "encoding/json"

// memory is the state saved over a restart; it is only a hint.
type memory struct {
	Rooms map[string]room `json:"rooms"`
}

// loadState restores the saved rooms.
func (l *listening) loadState() {
	var m memory
	if json.Unmarshal(l.State, &m) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, r := range m.Rooms {
		if chatWord.MatchString(id) && (r.Group == "" || word.MatchString(r.Group)) {
			l.rooms[id] = r
		}
	}
}

// maxRooms keeps the saved state below the 64 KiB of chat.Handler.
const maxRooms = 150

func (l *listening) saveState() error {
	m := memory{Rooms: map[string]room{}}
	l.mu.Lock()
	for id, r := range l.rooms {
		if len(m.Rooms) < maxRooms && len(id)+len(r.Name)+len(r.Group) < 400 {
			m.Rooms[id] = r
		}
	}
	l.mu.Unlock()
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.Save(b)
}
