package larktest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

func answer(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(M{"code": 0, "msg": "success", "data": data})
}

// refuse sends an error as Lark does: most often with status 400 and a code of its own.
func refuse(w http.ResponseWriter, status, code int, msg string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(M{"code": code, "msg": msg, "error": M{"log_id": "20260101"}})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/lark-ws" {
		s.connect(w, r)
		return
	}
	in := M{}
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || len(b) > 0 && json.Unmarshal(b, &in) != nil {
		refuse(w, http.StatusBadRequest, 9499, "Bad Request")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, in})
	switch {
	case s.roll(s.faults.Busy):
		w.Header().Set("X-Ogw-Ratelimit-Limit", "1000")
		w.Header().Set("X-Ogw-Ratelimit-Reset", "1")
		refuse(w, http.StatusTooManyRequests, 99991400, "request trigger frequency limit")
		return
	case s.roll(s.faults.Fail):
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	known := !s.revoked && (in["app_secret"] == s.Secret || in["AppSecret"] == s.Secret) &&
		(in["app_id"] == App || in["AppID"] == App)
	switch r.URL.Path {
	case "/open-apis/auth/v3/tenant_access_token/internal":
		if !known {
			refuse(w, http.StatusOK, 10014, "app secret invalid")
			return
		}
		s.ids++
		token := fmt.Sprintf("t-%d", s.ids)
		s.tokens[token] = true
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(M{"code": 0, "msg": "ok", "tenant_access_token": token,
			"expire": s.ExpiresIn})
	case "/callback/ws/endpoint":
		if !known {
			refuse(w, http.StatusOK, 514, "auth failed")
			return
		}
		answer(w, M{"URL": "ws://" + r.Host + "/lark-ws?device_id=1&service_id=33", "ClientConfig": config()})
	default:
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !s.tokens[token] {
			refuse(w, http.StatusBadRequest, 99991663,
				"Invalid access token for authorization. Please make a test attempt using an existing access token.")
			return
		}
		s.call(w, r, in)
	}
}

func config() M {
	return M{"ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30, "PingInterval": 120}
}

func (s *Server) call(w http.ResponseWriter, r *http.Request, in M) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/open-apis/"), "/")
	route := r.Method + " " + strings.Join(parts[:min(3, len(parts))], "/")
	switch {
	case route == "GET bot/v3/info":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(M{"code": 0, "msg": "ok",
			"bot": M{"activate_status": 2, "app_name": BotName, "open_id": BotUser,
				"ip_white_list": []string{}}})
	case route == "GET application/v6/scopes":
		all := []M{}
		for _, name := range s.Scopes {
			all = append(all, M{"scope_name": name, "grant_status": 1, "scope_type": "tenant"})
		}
		answer(w, M{"scopes": all})
	case route == "GET im/v1/chats":
		s.chat(w, r, parts[3:])
	case route == "GET im/v1/messages" && len(parts) == 3:
		s.list(w, r.URL.Query())
	case route == "POST im/v1/messages" && len(parts) == 3:
		s.create(w, text(in, "receive_id"), "", in)
	case strings.HasPrefix(r.URL.Path, "/open-apis/im/v1/messages/"):
		s.message(w, r, parts[3], parts[4:], in)
	default:
		http.NotFound(w, r)
	}
}

func text(in M, k string) string {
	v, _ := in[k].(string)
	return v
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, rest []string) {
	if len(rest) == 0 {
		all := []M{}
		for id, c := range s.chats {
			if c.info["chat_mode"] != "p2p" {
				info := maps.Clone(c.info)
				info["chat_id"] = id
				all = append(all, info)
			}
		}
		answer(w, M{"items": all, "has_more": false, "page_token": ""})
		return
	}
	c := s.chats[rest[0]]
	switch {
	case c == nil:
		refuse(w, http.StatusBadRequest, 232006, "Your request specifies a chat_id which is invalid.")
	case len(rest) == 1:
		answer(w, c.info)
	case len(rest) == 3: // members/is_in_chat
		answer(w, M{"is_in_chat": c.info["away"] == nil})
	default:
		all := []M{}
		for _, u := range s.users {
			all = append(all, u)
		}
		answer(w, M{"items": all, "has_more": false, "page_token": "", "member_total": len(all)})
	}
}

// list returns a page: of a chat without the messages of its topics, or of one topic.
func (s *Server) list(w http.ResponseWriter, in url.Values) {
	var all []M
	switch id := in.Get("container_id"); in.Get("container_id_type") {
	case "chat":
		c := s.chats[id]
		if c == nil || c.info["away"] != nil {
			refuse(w, http.StatusBadRequest, 230002, "The bot can not be outside the group.")
			return
		}
		from, _ := strconv.ParseInt(in.Get("start_time"), 10, 64)
		for _, m := range c.messages {
			if at, _ := strconv.ParseInt(m["create_time"].(string), 10, 64); at/1000 >= from {
				all = append(all, m)
			}
		}
	case "thread":
		if in.Has("start_time") || in.Has("end_time") || s.topics[id] == nil {
			refuse(w, http.StatusBadRequest, 230001, "Your request contains an invalid request parameter.")
			return
		}
		all = slices.Clone(s.topics[id])
	}
	size, _ := strconv.Atoi(in.Get("page_size"))
	if size == 0 {
		size = 20
	}
	if size < 0 || size > 50 {
		refuse(w, http.StatusBadRequest, 230001,
			"Your request contains an invalid request parameter, ext=page_size")
		return
	}
	if in.Get("sort_type") == "ByCreateTimeDesc" {
		slices.Reverse(all)
	}
	at, _ := strconv.Atoi(in.Get("page_token"))
	all = all[min(at, len(all)):]
	more := len(all) > size
	answer(w, M{"items": all[:min(size, len(all))], "has_more": more, "page_token": strconv.Itoa(at + size)})
}

func (s *Server) message(w http.ResponseWriter, r *http.Request, id string, rest []string, in M) {
	m := s.messages[id]
	if m == nil {
		refuse(w, http.StatusBadRequest, 230001,
			"Your request contains an invalid request parameter, ext=invalid message_id")
		return
	}
	ours := m["sender"].(M)["id"] == App
	switch route := r.Method + " " + strings.Join(rest[:min(1, len(rest))], ""); {
	case route == "GET ":
		answer(w, M{"items": []M{m}})
	case route == "POST reply":
		if m["deleted"] == true {
			refuse(w, http.StatusBadRequest, 230011, "The message has been recalled.")
			return
		}
		s.create(w, m["chat_id"].(string), id, in)
	case (route == "PUT " || route == "PATCH ") && !ours:
		refuse(w, http.StatusBadRequest, 230071, "The operator is not the sender of the message.")
	case route == "PUT " || route == "PATCH ":
		kind := text(in, "msg_type")
		if route == "PATCH " {
			kind = "interactive"
		}
		content, ok := stored(kind, text(in, "content"))
		if !ok || kind != m["msg_type"] {
			refuse(w, http.StatusBadRequest, 230001, "Your request contains an invalid request parameter.")
			return
		}
		m["body"], m["updated"], m["update_time"] = M{"content": content}, true, s.tick()
		answer(w, m)
	case route == "POST reactions":
		s.ids++
		kind, _ := in["reaction_type"].(M)
		made := M{"reaction_id": fmt.Sprint("r", s.ids),
			"operator": M{"operator_id": App, "operator_type": "app"}, "action_time": s.tick(),
			"reaction_type": kind}
		s.reactions[id] = append(s.reactions[id], made)
		answer(w, made)
	case route == "GET reactions":
		all := []M{}
		for _, made := range s.reactions[id] {
			if made["reaction_type"].(M)["emoji_type"] == r.URL.Query().Get("reaction_type") {
				all = append(all, made)
			}
		}
		answer(w, M{"items": all, "has_more": false, "page_token": ""})
	case route == "DELETE reactions" && len(rest) == 2:
		s.reactions[id] = slices.DeleteFunc(s.reactions[id], func(made M) bool {
			return made["reaction_id"] == rest[1]
		})
		answer(w, M{})
	default:
		http.NotFound(w, r)
	}
}

// create posts a message of the bot. Of several with the same uuid one is posted. That the others
// are answered with the first is an assumption: the documentation only says that one is posted.
func (s *Server) create(w http.ResponseWriter, chat, to string, in M) {
	content, ok := stored(text(in, "msg_type"), text(in, "content"))
	uuid := text(in, "uuid")
	switch {
	case s.chats[chat] == nil || s.chats[chat].info["away"] != nil:
		refuse(w, http.StatusBadRequest, 230002, "The bot can not be outside the group.")
		return
	case !ok || len(uuid) > 50:
		refuse(w, http.StatusBadRequest, 230001, "Your request contains an invalid request parameter.")
		return
	case uuid != "" && s.uuids[uuid] != "":
		answer(w, s.messages[s.uuids[uuid]])
		return
	}
	m := M{
		"msg_type": text(in, "msg_type"), "body": M{"content": content}, "mentions": []M(nil),
		"sent":   text(in, "content"),
		"sender": M{"id": App, "id_type": "app_id", "sender_type": "app", "tenant_key": Tenant},
	}
	if in["reply_in_thread"] == true {
		s.add(chat, to, m)
	} else {
		s.add(chat, "", m)
		if to != "" {
			m["parent_id"], m["root_id"] = to, to
		}
	}
	if uuid != "" {
		s.uuids[uuid] = m["message_id"].(string)
	}
	switch {
	case s.roll(s.faults.LoseAnswer):
		panic(http.ErrAbortHandler)
	case s.roll(s.faults.FailAfter):
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	answer(w, m)
}

// stored returns the content of a message as it is read back, false if it is not accepted. Rich
// text is sent in one language; a card is read back as its visible text.
func stored(kind, content string) (string, bool) {
	v := M{}
	if json.Unmarshal([]byte(content), &v) != nil || len(content) > 150<<10 ||
		kind != "text" && len(content) > 30<<10 {
		return "", false
	}
	switch kind {
	case "text":
		return content, text(v, "text") != ""
	case "post":
		for _, in := range v {
			post, ok := in.(M)
			paragraphs, _ := post["content"].([]any)
			if !ok || len(paragraphs) == 0 {
				return "", false
			}
			b, err := json.Marshal(post)
			return string(b), err == nil
		}
	case "interactive":
		elements, _ := v["elements"].([]any)
		header, _ := v["header"].(M)
		title, _ := header["title"].(M)
		out := [][]M{}
		for _, e := range elements {
			e, _ := e.(M)
			if words, ok := e["text"].(M); ok {
				out = append(out, []M{{"tag": "text", "text": words["content"]}})
			}
			actions, _ := e["actions"].([]any)
			for _, a := range actions {
				button, _ := a.(M)
				out = append(out,
					[]M{{"tag": "button", "text": text(button["text"].(M), "content"),
						"type": button["type"]}})
			}
		}
		b, err := json.Marshal(M{"title": text(title, "content"), "elements": out})
		return string(b), err == nil
	}
	return "", false
}
