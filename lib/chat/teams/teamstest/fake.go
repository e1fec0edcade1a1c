// Package teamstest is a fake Microsoft Teams: sign-in, the keys of the Bot Framework, the Bot
// Connector and the part of Microsoft Graph that lib/chat/teams uses, after
// https://learn.microsoft.com/graph/api/resources/chatmessage and
// https://learn.microsoft.com/microsoftteams/platform/bots, with injectable faults. A bot gets no
// activities for its own messages; Graph has them.
package teamstest

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// M is a JSON object.
type M = map[string]any

// Faults are the probabilities of each fault, between 0 and 1.
type Faults struct {
	Seed uint64

	Lose      float64 // an activity is never sent
	Duplicate float64 // it is sent twice
	Reorder   float64 // it is sent after the next one

	Fail float64 // any request: status 500 and nothing done
	Busy float64 // any request: status 429

	LoseAnswer float64 // a message is posted, and the connection is cut
	FailAfter  float64 // a message is posted, and the response is status 500
}

// Ids of the tenant.
const (
	AppID  = "11111111-2222-3333-4444-555555555555"
	Tenant = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	Secret = "s3cret~of.the-app"
	Group  = "99999999-8888-7777-6666-555555555555"
	KeyID  = "key-1"
)

// Message is a message, possibly deleted.
type Message struct {
	ID, Chat, Root, Person, Text string
	Bot                          bool
	File                         string
	Created, Modified            time.Time
	Edited, Deleted              *time.Time
	Activity                     M // as posted by the bot
}

// Server is one tenant.
type Server struct {
	URL string
	Key *rsa.PrivateKey // signs for the Bot Framework and for Graph's notifications

	// HTML makes Graph return the bot's own texts as HTML too.
	HTML bool

	http *httptest.Server
	wake chan struct{}
	end  chan struct{}
	done sync.WaitGroup

	mu            sync.Mutex
	faults        Faults
	chance        *mathrand.Rand
	endpoint      string
	queue         []M
	held          M
	messages      map[string][]*Message // by chat, in order
	last          int64                 // the newest id
	guests        map[string]bool
	token         int
	revoked       bool
	denied        bool // Graph denies all reads
	subscriptions map[string]*subscription
}

// New starts a server.
func New() *Server {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	s := &Server{Key: private, wake: make(chan struct{}, 1), end: make(chan struct{}),
		chance:   mathrand.New(mathrand.NewPCG(0, 0)),
		messages: map[string][]*Message{}, guests: map[string]bool{},
		subscriptions: map[string]*subscription{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	s.Hurry(1)
	return s
}

// Hurry lets n activities be in transit at the same time, as in a busy service: they may overtake
// each other.
func (s *Server) Hurry(n int) {
	for range n {
		s.done.Go(s.deliver)
	}
}

// Close stops the server.
func (s *Server) Close() {
	close(s.end)
	s.http.CloseClientConnections()
	s.http.Close()
	s.done.Wait()
}

// SetFaults sets the injected faults.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = f, mathrand.New(mathrand.NewPCG(f.Seed, 1))
}

// SetEndpoint sets the address to which activities are sent.
func (s *Server) SetEndpoint(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoint = address
}

// Revoke invalidates the secret.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
}

// Deny makes Graph deny all reads.
func (s *Server) Deny() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = true
}

// Guest turns a person into a guest.
func (s *Server) Guest(person string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guests[person] = true
}

func (s *Server) roll(p float64) bool { return p > 0 && s.chance.Float64() < p }

// now returns a time that no message has yet: ids are times.
func (s *Server) now() time.Time {
	s.last = max(s.last+1, time.Now().UnixMilli())
	return time.UnixMilli(s.last).UTC()
}

// Say posts a message of a person.
func (s *Server) Say(chat, person, root, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.add(&Message{Chat: chat, Person: person, Root: root, Text: text})
	s.tell(m, "message", "")
	return m.ID
}

// File sends a file of a person. In a channel a bot gets the activity without the file's name; in a
// group chat with it.
func (s *Server) File(chat, person, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.add(&Message{Chat: chat, Person: person, File: name})
	s.tell(m, "message", "")
	return m.ID
}

func (s *Server) add(m *Message) *Message {
	m.Created = s.now()
	m.ID, m.Modified = fmt.Sprint(m.Created.UnixMilli()), m.Created
	s.messages[m.Chat] = append(s.messages[m.Chat], m)
	return m
}

func (s *Server) find(chat, id string) *Message {
	for _, m := range s.messages[chat] {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// Edit and Delete change a message.
func (s *Server) Edit(chat, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.find(chat, id), s.now()
	m.Text, m.Edited, m.Modified = text, &now, now
	s.tell(m, "messageUpdate", "editMessage")
}

// Delete deletes a message.
func (s *Server) Delete(chat, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, now := s.find(chat, id), s.now()
	m.Deleted, m.Modified = &now, now
	s.tell(m, "messageDelete", "softDeleteMessage")
}

// Messages returns the messages of a chat.
func (s *Server) Messages(chat string) (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages[chat] {
		all = append(all, *m)
	}
	return all
}

// PersonID returns a person's id in the directory.
func PersonID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// Activity returns a message as the Bot Framework sends it.
func (s *Server) Activity(m *Message, kind, eventType string) M {
	conversation := M{"id": m.Chat, "isGroup": true, "conversationType": "groupChat", "tenantId": Tenant}
	data := M{"tenant": M{"id": Tenant}}
	if strings.HasSuffix(m.Chat, "@thread.tacv2") {
		root := m.Root
		if root == "" {
			root = m.ID
		}
		conversation["id"], conversation["conversationType"] = m.Chat+";messageid="+root, "channel"
		data["channel"], data["team"], data["teamsChannelId"] = M{"id": m.Chat},
			M{"id": "19:general@thread.tacv2"}, m.Chat
	}
	if eventType != "" {
		data["eventType"] = eventType
	}
	at := m.Modified
	a := M{
		"type": kind, "id": m.ID, "timestamp": at.Format("2006-01-02T15:04:05.0000000Z"),
		"serviceUrl": s.URL + "/connector/",
		"channelId":  "msteams", "from": M{"id": "29:" + m.Person,
			"name": strings.ToUpper(m.Person[:1]) + m.Person[1:], "aadObjectId": PersonID(m.Person)},
		"conversation": conversation, "recipient": M{"id": "28:" + AppID, "name": "tri"}, "channelData": data,
	}
	if kind == "messageDelete" {
		return a
	}
	a["textFormat"], a["text"] = "plain", strings.ReplaceAll(m.Text, "@tri", "<at>tri</at>")
	attachments := []M{{"contentType": "text/html", "content": rich(m.Text)}}
	if m.File != "" {
		attachments = append(attachments,
			M{"contentType": "application/vnd.microsoft.teams.file.download.info", "name": m.File,
				"contentUrl": "https://example.sharepoint.com/" + m.File,
				"content": M{"downloadUrl": "https://example.sharepoint.com/x?tempauth=t",
					"uniqueId": "f-1", "fileType": "txt"}})
	}
	a["attachments"] = attachments
	if strings.Contains(m.Text, "@tri") {
		a["entities"] = []M{{"type": "mention", "text": "<at>tri</at>",
			"mentioned": M{"id": "28:" + AppID, "name": "tri"}}}
	}
	return a
}

// tell queues an activity and notifies the subscribers.
func (s *Server) tell(m *Message, kind, eventType string) {
	s.notify(m, kind)
	if s.endpoint == "" || s.roll(s.faults.Lose) {
		return
	}
	a := s.Activity(m, kind, eventType)
	if s.held == nil && s.roll(s.faults.Reorder) {
		s.held = a
		return
	}
	s.queue = append(s.queue, a)
	if s.roll(s.faults.Duplicate) {
		s.queue = append(s.queue, a)
	}
	if s.held != nil {
		s.queue, s.held = append(s.queue, s.held), nil
	}
	s.poke()
}

// Send queues any activity.
func (s *Server) Send(a M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, a)
	s.poke()
}

func (s *Server) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// deliver sends the queued activities, once each: one that is not accepted is lost.
func (s *Server) deliver() {
	client := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	token := s.Token(nil) // valid for an hour
	for {
		s.mu.Lock()
		var next M
		if len(s.queue) > 0 {
			next, s.queue = s.queue[0], s.queue[1:]
		}
		endpoint := s.endpoint
		if len(s.queue) > 0 {
			s.poke() // start the next sender
		}
		s.mu.Unlock()
		if next == nil {
			select {
			case <-s.wake:
				continue
			case <-s.end:
				return
			}
		}
		body, _ := json.Marshal(next)
		r, err := http.NewRequest(http.MethodPost, endpoint, bytes.NewReader(body))
		if err != nil {
			continue
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		if resp, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

// Token returns the token that is sent with an activity; change replaces its claims.
func (s *Server) Token(change M) string {
	now := time.Now()
	said := M{"serviceurl": s.URL + "/connector/", "iss": "https://api.botframework.com", "aud": AppID,
		"nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix()}
	header := M{"alg": "RS256", "kid": KeyID, "typ": "JWT"}
	for k, v := range change {
		if k == "alg" || k == "kid" {
			header[k] = v
			continue
		}
		said[k] = v
	}
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(said)
	signed := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.Key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}
