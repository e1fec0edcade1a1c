package discordtest

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// create handles a post of the bot. With a known, enforced nonce it returns the message created
// with it before. The nonce is returned to the poster only, and never when messages are read.
func (s *Server) create(r *http.Request, in M) (any, *refusal) {
	c, refused := s.place(r)
	if refused != nil {
		return nil, refused
	}
	id := c["id"].(string)
	text, _ := in["content"].(string)
	switch {
	case c["type"] == 15:
		return nil, &refusal{400, 50024, "Cannot execute action on this channel type"}
	case s.Deny&(1<<11) != 0:
		return nil, noPermit
	case strings.TrimSpace(text) == "":
		return nil, &refusal{400, 50006, "Cannot send an empty message"}
	case utf8.RuneCountInString(text) > 2000:
		return nil, invalid("content: Must be 2000 or fewer in length.")
	}
	key, _ := in["nonce"].(string)
	if len(key) > 25 {
		return nil, invalid("nonce: Must be 25 or fewer in length.")
	}
	enforce := in["enforce_nonce"] == true && key != ""
	if n, ok := s.nonces[key]; enforce && ok && time.Since(n.at) < s.NonceTime && s.messages[n.id] != nil {
		return s.withNonce(n.id, key), nil
	}
	more := M{"nonce": key}
	if in["flags"] != nil {
		more["flags"] = in["flags"]
	}
	if ref, ok := in["message_reference"].(map[string]any); ok {
		if m := s.messages[str(ref["message_id"])]; m == nil || m.Channel != id {
			return nil, invalid("message_reference: Unknown message")
		}
		more["type"], more["message_reference"] = 19,
			M{"type": 0, "message_id": ref["message_id"], "channel_id": id, "guild_id": Guild}
	}
	if rows, ok := in["components"].([]any); ok {
		more["components"] = rows
	}
	if allowed, ok := in["allowed_mentions"].(map[string]any); !ok || len(list(allowed["parse"])) > 0 {
		more["mention_everyone"] = strings.Contains(text, "@everyone") || strings.Contains(text, "@here")
	}
	m := s.store(id, "", text, more)
	delete(m.Data, "nonce")
	if enforce {
		s.nonces[key] = nonce{m.ID, time.Now()}
	}
	return s.withNonce(m.ID, key), nil
}

func (s *Server) withNonce(id, key string) M {
	out := M{"nonce": key}
	maps.Copy(out, s.messages[id].Data)
	return out
}

func str(v any) string { t, _ := v.(string); return t }
func list(v any) []any { t, _ := v.([]any); return t }

func (s *Server) change(r *http.Request, in M) (any, *refusal) {
	m, refused := s.find(r)
	switch {
	case refused != nil:
		return nil, refused
	case m.Author != "":
		return nil, &refusal{403, 50005, "Cannot edit a message authored by another user"}
	}
	m.Data["content"], m.Data["edited_timestamp"] = strings.TrimSpace(str(in["content"])),
		time.Now().UTC().Format(stamp)
	if rows, ok := in["components"].([]any); ok {
		m.Data["components"] = rows
	}
	s.tell("MESSAGE_UPDATE", s.overGateway(m))
	return m.Data, nil
}

func (s *Server) remove(r *http.Request, _ M) (any, *refusal) {
	m, refused := s.find(r)
	if refused != nil {
		return nil, refused
	}
	s.drop(m.ID)
	s.tell("MESSAGE_DELETE", M{"id": m.ID, "channel_id": m.Channel, "guild_id": Guild})
	return nil, nil
}

func (s *Server) typing(r *http.Request, _ M) (any, *refusal) {
	_, refused := s.place(r)
	return nil, refused
}

func (s *Server) beginThread(r *http.Request, in M) (any, *refusal) {
	m, refused := s.find(r)
	name := str(in["name"])
	switch {
	case refused != nil:
		return nil, refused
	case s.Deny&(1<<35) != 0:
		return nil, noPermit
	case s.channels[m.Channel]["type"] != 0:
		return nil, &refusal{400, 50024, "Cannot execute action on this channel type"}
	case s.channels[m.ID] != nil:
		return nil, &refusal{400, 160004, "A thread has already been created for this message"}
	case name == "" || utf8.RuneCountInString(name) > 100:
		return nil, invalid("name: Must be between 1 and 100 in length.")
	}
	return s.begin(m.Channel, m.ID, name), nil
}

func (s *Server) react(sign string) func(*http.Request, M) (any, *refusal) {
	return func(r *http.Request, _ M) (any, *refusal) {
		m, refused := s.find(r)
		emoji, err := url.PathUnescape(r.PathValue("e"))
		switch {
		case refused != nil:
			return nil, refused
		case err != nil || emoji == "":
			return nil, &refusal{400, 10014, "Unknown Emoji"}
		}
		s.reacted = append(s.reacted, sign+emoji+" "+m.ID)
		return nil, nil
	}
}

func (s *Server) callback(r *http.Request, in M) (any, *refusal) {
	id := r.PathValue("i")
	if s.answered[id] != 0 {
		return nil, &refusal{400, 40060, "Interaction has already been acknowledged."}
	}
	if r.PathValue("token") != "click-"+id {
		return nil, &refusal{404, 10062, "Unknown interaction"}
	}
	n, _ := in["type"].(float64)
	s.answered[id] = int(n)
	return nil, nil
}
