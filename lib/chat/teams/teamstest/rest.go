package teamstest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(M{"error": M{"code": code, "message": code}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.EscapedPath()
	switch {
	case path == "/"+Tenant+"/oauth2/v2.0/token":
		s.signIn(w, r)
	case path == "/v1/.well-known/openidconfiguration" ||
		path == "/"+Tenant+"/v2.0/.well-known/openid-configuration":
		answer(w, 200, M{"issuer": "https://api.botframework.com", "jwks_uri": s.URL + "/keys"})
	case path == "/keys":
		answer(w, 200,
			M{"keys": []M{{"kty": "RSA", "use": "sig", "kid": KeyID,
				"n":            base64.RawURLEncoding.EncodeToString(s.Key.N.Bytes()),
				"e":            base64.RawURLEncoding.EncodeToString(big.NewInt(int64(s.Key.E)).Bytes()),
				"endorsements": []string{"msteams"}}}})
	case s.revoked || r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", s.token):
		refuse(w, http.StatusUnauthorized, "InvalidAuthenticationToken")
	case s.roll(s.faults.Busy):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "TooManyRequests")
	case s.roll(s.faults.Fail):
		refuse(w, http.StatusInternalServerError, "InternalServerError")
	default:
		var words []string
		for p := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
			word, _ := url.PathUnescape(p)
			words = append(words, word)
		}
		if words[0] == "graph" {
			s.graph(w, r, words[1:])
			return
		}
		s.connector(w, r, words)
	}
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if s.revoked || r.FormValue("client_id") != AppID || r.FormValue("client_secret") != Secret ||
		r.FormValue("grant_type") != "client_credentials" {
		answer(w, http.StatusUnauthorized, M{"error": "invalid_client"})
		return
	}
	if s.token == 0 {
		s.token = 1
	}
	answer(w, 200, M{"token_type": "Bearer", "expires_in": 3599,
		"access_token": fmt.Sprintf("token-%d", s.token)})
}

// Expire invalidates the tokens that were issued.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token++
}

// connector handles the Bot Connector: /connector/v3/conversations/{id}/….
func (s *Server) connector(w http.ResponseWriter, r *http.Request, words []string) {
	if len(words) < 5 || words[0] != "connector" || words[2] != "conversations" {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	chat, root, _ := strings.Cut(words[3], ";messageid=")
	if words[4] == "members" {
		s.member(w, words[5])
		return
	}
	var a M
	if json.NewDecoder(r.Body).Decode(&a) != nil {
		refuse(w, http.StatusBadRequest, "BadSyntax")
		return
	}
	text, _ := a["text"].(string)
	switch {
	case !strings.HasPrefix(chat, "19:"):
		refuse(w, http.StatusNotFound, "ConversationNotFound")
		return
	case 2*len(utf16.Encode([]rune(text))) > 28<<10:
		refuse(w, http.StatusRequestEntityTooLarge, "MessageSizeTooBig")
		return
	case a["type"] == "typing":
		answer(w, http.StatusAccepted, M{})
		return
	}
	m := &Message{Chat: chat, Root: root, Bot: true, Text: text, Activity: a}
	if r.Method == http.MethodPut {
		if m = s.find(chat, words[5]); m == nil || !m.Bot {
			refuse(w, http.StatusForbidden, "BotNotInConversationRoster")
			return
		}
		now := s.now()
		m.Text, m.Activity, m.Edited, m.Modified = text, a, &now, now
	} else {
		s.add(m)
	}
	s.notify(m, "message")
	switch {
	case s.roll(s.faults.LoseAnswer):
		panic(http.ErrAbortHandler)
	case s.roll(s.faults.FailAfter):
		refuse(w, http.StatusInternalServerError, "ServiceError")
		return
	}
	answer(w, http.StatusCreated, M{"id": m.ID})
}

func (s *Server) member(w http.ResponseWriter, id string) {
	for name := range s.guests {
		if PersonID(name) == id || id == "29:"+name {
			answer(w, 200, M{"id": "29:" + name, "userPrincipalName": name + "_other.com#EXT#@example.com",
				"tenantId": Tenant, "userRole": "guest"})
			return
		}
	}
	answer(w, 200, M{"id": id, "userPrincipalName": "x@example.com", "tenantId": Tenant, "userRole": "user"})
}

// graph handles Microsoft Graph.
func (s *Server) graph(w http.ResponseWriter, r *http.Request, words []string) {
	switch {
	case words[0] == "subscriptions":
		s.subscribe(w, r, words[1:])
		return
	case s.denied:
		refuse(w, http.StatusForbidden, "Forbidden")
		return
	case len(words) == 3 && words[0] == "teams" && words[1] == Group:
		answer(w, 200, M{"value": []M{{"id": "19:dev@thread.tacv2", "displayName": "dev"},
			{"id": "19:ops@thread.tacv2", "displayName": "ops"}}})
		return
	case len(words) >= 5 && words[0] == "teams" && words[1] == Group && words[4] == "messages":
		s.channelMessages(w, r, words[3], words[5:])
		return
	case len(words) >= 3 && words[0] == "chats" && words[2] == "messages":
		s.channelMessages(w, r, words[1], words[3:])
		return
	}
	refuse(w, http.StatusNotFound, "NotFound")
}

func (s *Server) channelMessages(w http.ResponseWriter, r *http.Request, chat string, words []string) {
	team := strings.HasSuffix(chat, "@thread.tacv2")
	switch {
	case len(words) == 0 && team:
		s.page(w, r, s.threads(chat), r.URL.Query().Get("$expand") == "replies")
	case len(words) == 0:
		all := slices.Clone(s.messages[chat])
		if from, ok := strings.CutPrefix(r.URL.Query().Get("$filter"), "lastModifiedDateTime gt "); ok {
			at, err := time.Parse(time.RFC3339Nano, from)
			if err != nil {
				refuse(w, http.StatusBadRequest, "BadRequest")
				return
			}
			all = slices.DeleteFunc(all, func(m *Message) bool { return !m.Modified.After(at) })
		}
		slices.SortFunc(all, func(a, b *Message) int { return b.Modified.Compare(a.Modified) })
		s.page(w, r, all, false)
	case len(words) == 2 && words[1] == "replies":
		s.page(w, r, s.replies(chat, words[0]), false)
	default:
		m := s.find(chat, words[len(words)-1])
		if m == nil || team && m.Root != "" && len(words) != 3 {
			refuse(w, http.StatusNotFound, "NotFound")
			return
		}
		answer(w, 200, s.message(m))
	}
}

// threads returns a channel's first messages, the one with the newest activity first.
func (s *Server) threads(chat string) (roots []*Message) {
	active := map[string]time.Time{}
	for _, m := range s.messages[chat] {
		root := m.Root
		if root == "" {
			root, roots = m.ID, append(roots, m)
		}
		if m.Modified.After(active[root]) {
			active[root] = m.Modified
		}
	}
	slices.SortStableFunc(roots, func(a, b *Message) int {
		return cmp.Or(active[b.ID].Compare(active[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	return roots
}

func (s *Server) replies(chat, root string) (all []*Message) {
	for _, m := range s.messages[chat] {
		if m.Root == root {
			all = append(all, m)
		}
	}
	slices.Reverse(all)
	return all
}

// page returns $top of them, and the link to the next page.
func (s *Server) page(w http.ResponseWriter, r *http.Request, all []*Message, expand bool) {
	q := r.URL.Query()
	top, _ := strconv.Atoi(q.Get("$top"))
	if top < 1 || top > 50 {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	skip, _ := strconv.Atoi(q.Get("$skiptoken"))
	out := M{"value": []M{}}
	part := all[min(skip, len(all)):min(skip+top, len(all))]
	values := []M{}
	for _, m := range part {
		v := s.message(m)
		if expand {
			var replies []M
			for _, x := range s.replies(m.Chat, m.ID) {
				replies = append(replies, s.message(x))
			}
			v["replies"] = replies
		}
		values = append(values, v)
	}
	out["value"] = values
	if skip+top < len(all) {
		q.Set("$skiptoken", strconv.Itoa(skip+top))
		out["@odata.nextLink"] = s.URL + r.URL.EscapedPath() + "?" + q.Encode()
	}
	answer(w, 200, out)
}

// message returns a chatMessage.
func (s *Server) message(m *Message) M {
	v := M{
		"id": m.ID, "replyToId": nil, "messageType": "message",
		"createdDateTime":      m.Created.Format("2006-01-02T15:04:05.999Z"),
		"lastModifiedDateTime": m.Modified.Format("2006-01-02T15:04:05.999Z"), "lastEditedDateTime": m.Edited,
		"deletedDateTime": m.Deleted,
		"body":            M{"contentType": "html", "content": rich(m.Text)}, "attachments": []M{},
		"mentions": []M{},
		"from": M{"application": nil, "user": M{"id": PersonID(m.Person), "displayName": m.Person,
			"userIdentityType": "aadUser", "tenantId": Tenant}},
	}
	if m.Root != "" {
		v["replyToId"] = m.Root
	}
	if m.Bot {
		v["from"] = M{"user": nil, "application": M{"id": AppID, "displayName": "tri",
			"applicationIdentityType": "bot"}}
		if !s.HTML {
			v["body"] = M{"contentType": "text", "content": m.Text}
		}
	}
	if m.File != "" {
		v["attachments"] = []M{{"id": "f-1", "contentType": "reference",
			"contentUrl": "https://example.sharepoint.com/" + m.File, "name": m.File}}
	}
	if strings.Contains(m.Text, "@tri") {
		v["mentions"] = []M{{"id": 0, "mentionText": "tri",
			"mentioned": M{"application": M{"id": AppID, "applicationIdentityType": "bot"}, "user": nil}}}
	}
	if m.Deleted != nil {
		v["body"] = M{"contentType": "html", "content": ""}
		v["attachments"], v["mentions"] = []M{}, []M{}
	}
	return v
}

// rich returns a text as the Teams client writes it.
func rich(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.ReplaceAll(html.EscapeString(line), "  ", "&nbsp; ")
		if line == "" {
			line = "&nbsp;"
		}
		b.WriteString("<p>" + line + "</p>\n")
	}
	return strings.ReplaceAll(b.String(), "@tri", `<at id="0">tri</at>`)
}
