package slacktest

import (
	"encoding/base64"
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

func answer(w http.ResponseWriter, m M) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if m["ok"] == nil {
		m["ok"] = true
	}
	_ = json.NewEncoder(w).Encode(m)
}

// refuse sends an error as Slack does: with status 200.
func refuse(w http.ResponseWriter, code string) { answer(w, M{"ok": false, "error": code}) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/link" {
		s.connect(w, r)
		return
	}
	method, ok := strings.CutPrefix(r.URL.Path, "/api/")
	if !ok {
		http.NotFound(w, r)
		return
	}
	in, err := args(r)
	if err != nil {
		refuse(w, "invalid_json")
		return
	}
	token := in.str("token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		token = bearer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{method, M(in)})
	want, other := s.BotToken, s.AppToken
	if method == "apps.connections.open" {
		want, other = other, want
	}
	switch {
	case s.roll(s.faults.Busy):
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"ok":false,"error":"ratelimited"}`)
	case s.roll(s.faults.Fail):
		w.WriteHeader(http.StatusInternalServerError)
	case !s.revoked && token == other:
		refuse(w, "not_allowed_token_type")
	case s.revoked || token != want:
		refuse(w, "invalid_auth")
	default:
		w.Header().Set("X-Oauth-Scopes", s.GrantedScopes)
		s.call(w, r, method, in)
	}
}

// arguments are those of a call, as JSON or as a form.
type arguments M

func args(r *http.Request) (arguments, error) {
	in := arguments{}
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if len(b) == 0 && r.Method == http.MethodPost { // slack-go sends no body if there are no arguments
		return in, nil
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return in, json.Unmarshal(b, &in)
	}
	form, err := url.ParseQuery(string(b))
	for _, values := range []url.Values{r.URL.Query(), form} {
		for k := range values {
			in[k] = values.Get(k)
		}
	}
	return in, err
}

func (a arguments) str(k string) string {
	switch v := a[k].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

func (a arguments) yes(k string) bool {
	v := a[k]
	return v == true || v == "true" || v == "1"
}

// object returns an argument that forms encode as JSON.
func (a arguments) object(k string) any {
	if s, ok := a[k].(string); ok {
		var v any
		if json.Unmarshal([]byte(s), &v) == nil {
			return v
		}
	}
	return a[k]
}

func (s *Server) call(w http.ResponseWriter, r *http.Request, method string, in arguments) {
	c := s.channels[in.str("channel")]
	if in["channel"] != nil && (c == nil || c.info["hidden"] == true) {
		refuse(w, "channel_not_found")
		return
	}
	switch method {
	case "auth.test":
		answer(w, M{"url": "https://fake.slack.com/", "team": "Fake", "user": BotName, "team_id": Team,
			"user_id": BotUser, "bot_id": BotID, "is_enterprise_install": false})
	case "apps.connections.open":
		if s.offline {
			refuse(w, "forbidden")
			return
		}
		answer(w, M{"url": "ws://" + r.Host + "/link?ticket=1&app_id=" + App})
	case "users.info":
		if u := s.users[in.str("user")]; u != nil {
			answer(w, M{"user": u})
			return
		}
		refuse(w, "user_not_found")
	case "users.conversations":
		all := []M{}
		for _, c := range s.channels {
			if c.info["is_member"] == true && c.info["is_private"] == false {
				all = append(all, c.info)
			}
		}
		answer(w, M{"channels": all, "response_metadata": M{"next_cursor": ""}})
	case "conversations.info":
		answer(w, M{"channel": c.info})
	case "conversations.history", "conversations.replies":
		if c.info["is_member"] != true {
			refuse(w, "not_in_channel")
			return
		}
		s.list(w, c, method, in)
	case "chat.postMessage":
		s.postMessage(w, c, in)
	case "chat.update":
		s.update(w, in)
	case "reactions.add", "reactions.remove":
		s.reaction(w, c, in, method == "reactions.add")
	default:
		refuse(w, "unknown_method")
	}
}

// list returns a page: history is newest first and without replies, except those also sent to the
// channel; replies has the first message of the thread, then the oldest first. For the ts of a
// reply it returns that alone.
func (s *Server) list(w http.ResponseWriter, c *channel, method string, in arguments) {
	root := in.str("ts")
	var all []M
	inside := func(m M) bool {
		ts := m["ts"].(string)
		oldest, latest := in.str("oldest"), in.str("latest")
		if in.yes("inclusive") && (ts == oldest || ts == latest) {
			return true
		}
		return (oldest == "" || ts > oldest) && (latest == "" || ts < latest)
	}
	if method == "conversations.history" {
		for i := len(c.messages) - 1; i >= 0; i-- {
			m := c.messages[i]
			if m["left_out"] == true { // omitted for another reason than deletion
				continue
			}
			if (m["thread_ts"] == nil || m["thread_ts"] == m["ts"] || m["subtype"] == "thread_broadcast") &&
				inside(m) {
				all = append(all, m)
			}
		}
	} else {
		head := c.find(root)
		if head == nil {
			refuse(w, "thread_not_found")
			return
		}
		all = append(all, head)
		for _, m := range c.messages {
			if m["thread_ts"] == root && m["ts"] != root && inside(m) {
				all = append(all, m)
			}
		}
	}
	limit, _ := strconv.Atoi(in.str("limit"))
	if limit <= 0 || limit > 1000 {
		limit = 100
	}
	from := 0
	if cursor := in.str("cursor"); cursor != "" {
		b, err := base64.StdEncoding.DecodeString(cursor)
		if err != nil {
			refuse(w, "invalid_cursor")
			return
		}
		for from < len(all) && all[from]["ts"] != strings.TrimPrefix(string(b), "next_ts:") {
			from++
		}
	}
	part, next := all[min(from, len(all)):], ""
	if len(part) > limit {
		next = base64.StdEncoding.EncodeToString([]byte("next_ts:" + part[limit]["ts"].(string)))
		part = part[:limit]
	}
	out := []M{}
	for _, m := range part {
		if m = maps.Clone(m); !in.yes("include_all_metadata") {
			delete(m, "metadata")
		}
		out = append(out, m)
	}
	answer(w, M{"messages": out, "has_more": next != "", "response_metadata": M{"next_cursor": next}})
}

func (s *Server) postMessage(w http.ResponseWriter, c *channel, in arguments) {
	text := in.str("text")
	switch {
	case c == nil:
		refuse(w, "channel_not_found")
		return
	case c.info["is_archived"] == true:
		refuse(w, "is_archived")
		return
	case strings.TrimSpace(text) == "" && in["blocks"] == nil:
		refuse(w, "no_text")
		return
	}
	m := M{
		"type": "message", "user": BotUser, "bot_id": BotID, "app_id": App, "team": Team,
		"bot_profile": M{"id": BotID, "name": BotName, "app_id": App},
		"text":        Stored(text, in.str("parse"), in.yes("link_names")),
	}
	for _, k := range []string{"metadata", "blocks"} {
		if v := in.object(k); v != nil {
			m[k] = v
		}
	}
	ts := s.add(in.str("channel"), in.str("thread_ts"), m)
	switch {
	case s.roll(s.faults.LoseAnswer):
		panic(http.ErrAbortHandler)
	case s.roll(s.faults.FailAfter):
		// "It's possible some aspect of the operation succeeded."
		if s.chance.IntN(2) == 0 {
			refuse(w, "fatal_error")
		} else {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return
	}
	answer(w, M{"channel": in.str("channel"), "ts": ts, "message": m})
}

func (s *Server) update(w http.ResponseWriter, in arguments) {
	m := s.channels[in.str("channel")].find(in.str("ts"))
	switch {
	case m == nil:
		refuse(w, "message_not_found")
		return
	case m["user"] != BotUser:
		refuse(w, "cant_update_message")
		return
	case len(in.str("text")) > 4*4000:
		refuse(w, "msg_too_long")
		return
	}
	now := M{"text": Stored(in.str("text"), in.str("parse"), in.yes("link_names"))}
	if v := in.object("blocks"); v != nil {
		now["blocks"] = v
	}
	if err := s.change(in.str("channel"), in.str("ts"), now); err != nil {
		refuse(w, fmt.Sprint(err))
		return
	}
	answer(w, M{"channel": in.str("channel"), "ts": in.str("ts"), "text": now["text"]})
}

func (s *Server) reaction(w http.ResponseWriter, c *channel, in arguments, on bool) {
	m := c.find(in.str("timestamp"))
	if m == nil {
		refuse(w, "message_not_found")
		return
	}
	set, _ := m["reactions"].([]M)
	set = slices.Clone(set)
	i := slices.IndexFunc(set, func(r M) bool { return r["name"] == in.str("name") })
	switch {
	case on && i >= 0:
		refuse(w, "already_reacted")
		return
	case !on && i < 0:
		refuse(w, "no_reaction")
		return
	case on:
		set = append(set, M{"name": in.str("name"), "users": []string{BotUser}, "count": 1})
	default:
		set = slices.Delete(set, i, i+1)
	}
	m["reactions"] = set
	answer(w, M{})
}
