package discordtest

import "time"

// Thread starts the thread of a message, or, in the forum, a thread with its first message; its id
// is that of the message.
func (s *Server) Thread(root, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(s.messages[root].Channel, root, name)
}

// Post starts a thread of a person in the forum. It returns the thread's id, which is also that of
// its first message.
func (s *Server) Post(person, name, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.id()
	s.begin(Forum, id, name)
	s.store(id, person, text, M{"id": id})
	return id
}

// begin creates the thread of a message. s.mu is held.
func (s *Server) begin(parent, root, name string) M {
	if s.channels[root] != nil {
		return s.channels[root]
	}
	t := M{
		"id": root, "type": 11, "guild_id": Guild, "parent_id": parent, "name": name, "owner_id": Bot,
		"last_message_id": nil,
		"message_count":   0, "member_count": 1, "total_message_sent": 0, "rate_limit_per_user": 0,
		"thread_metadata": M{"archived": false, "auto_archive_duration": 1440,
			"archive_timestamp": time.Now().UTC().Format(stamp), "locked": false},
	}
	s.addChannel(t)
	s.tell("THREAD_CREATE", t)
	if m := s.messages[root]; m != nil { // its copy in the thread
		id := s.id()
		s.messages[id] = &Message{ID: id, Channel: root, Author: m.Author, Data: M{
			"id": id, "channel_id": root, "author": m.Data["author"], "content": "",
			"timestamp": timeOf(id).Format(stamp), "edited_timestamp": nil,
			"tts": false, "mention_everyone": false, "mentions": []M{}, "mention_roles": []string{},
			"attachments": []M{}, "embeds": []M{}, "pinned": false,
			"type": 21, "message_reference": M{"type": 0, "message_id": root, "channel_id": parent,
				"guild_id": Guild},
		}}
		s.byPlace[root] = append(s.byPlace[root], id)
		t["last_message_id"] = id
		s.tell("MESSAGE_CREATE", s.overGateway(s.messages[id]))
	}
	return t
}

// Archive archives a thread, as Discord does after a day of inactivity.
func (s *Server) Archive(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.channels[id]
	t["thread_metadata"] = M{"archived": true, "auto_archive_duration": 1440,
		"archive_timestamp": time.Now().UTC().Format(stamp), "locked": false}
	s.tell("THREAD_UPDATE", t)
}
