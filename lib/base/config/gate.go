package config

import (
	"errors"
	"time"

	"tri/lib/base/query"
)

// Gate configures how people decide.
type Gate struct {
	Quorum int      `yaml:"quorum" default:"1"`   // different people who must approve the same text: 1 or 2
	GraceS *float64 `yaml:"grace_s" default:"10"` // seconds between an approval and its post
	PaceS  float64  `yaml:"pace_s"`               // seconds between the messages of one answer; default 0
	Typing bool     `yaml:"typing"`               // show the typing indicator before a post
	Web    GateWeb  `yaml:"web"`
	Chat   GateChat `yaml:"chat"`
	// Reactions on the asker's message show the progress of its answer.
	Reactions Reactions `yaml:"reactions"`
}

// GateWeb is the web page.
type GateWeb struct {
	Listen string `yaml:"listen" default:"127.0.0.1:7373"` // unix:/path for a socket
	// Hosts are further names under which a reverse proxy serves the page. IdentityHeader is the
	// header in which that proxy, and no one else, identifies the user. Both are needed to share
	// the page beyond this machine.
	Hosts          []string `yaml:"hosts"`
	IdentityHeader string   `yaml:"identity_header"`
}

// GateChat is the operators' channel.
type GateChat struct {
	Platform string `yaml:"platform"`
	ChatID   string `yaml:"chat_id"`
	// People are the persons who may click there. A person without an entry here needs their
	// platform id in team.approvers.
	People []Person `yaml:"people"`
}

// Person maps a user of a platform to a name.
type Person struct {
	ID   string `yaml:"id"`   // on the platform
	Name string `yaml:"name"` // in team.approvers
}

// Reactions are one character each; "" means no reaction.
type Reactions struct {
	Enabled  bool     `yaml:"enabled"`
	Chats    []string `yaml:"chats"` // chat ids; no reactions elsewhere
	Seen     *string  `yaml:"seen" default:"👀"`
	Working  *string  `yaml:"working" default:"👀"` // a run has begun
	Waiting  *string  `yaml:"waiting" default:"🔔"` // for a person
	Answered *string  `yaml:"answered" default:"✅"`
	Noted    *string  `yaml:"noted" default:"📝"`   // on a list, or as a reminder
	Skipped  *string  `yaml:"skipped" default:"⏩"` // dismissed or withdrawn
	Failed   *string  `yaml:"failed" default:"❌"`
}

// AutoReply configures automatic approval. It is off by default, and limited to what the record of
// decisions has earned.
type AutoReply struct {
	Enabled bool `yaml:"enabled"`
	// Hours are the hours in which a person could step in: "Mon-Fri 09:00-17:00", in Zone, an IANA
	// name.
	Hours string `yaml:"hours"`
	Zone  string `yaml:"zone"`
	// Never are rules for questions that are never answered automatically: production incidents,
	// particular accounts, anything that touches production. They apply to the classified event,
	// as QuestionType.When.
	Never []Condition `yaml:"never"`
	// Production are rules for questions that touch production; one false positive among them
	// closes the gate. Every automatic reply is announced in gate.chat.
	Production []Condition `yaml:"production"`
}

// Condition is a rule with a name for people.
type Condition struct {
	Name string `yaml:"name"`
	When string `yaml:"when"` // as QuestionType.When
}

// Emoji returns the reactions by state, in the order of the fields.
func (r *Reactions) Emoji() []string {
	return []string{*r.Seen, *r.Working, *r.Waiting, *r.Answered, *r.Noted, *r.Skipped, *r.Failed}
}

// Grace returns GraceS as a duration.
func (g *Gate) Grace() time.Duration { return time.Duration(*g.GraceS * float64(time.Second)) }

// Pace returns PaceS as a duration.
func (g *Gate) Pace() time.Duration { return time.Duration(g.PaceS * float64(time.Second)) }

// compile reports, with line numbers, errors that the schema cannot express.
func (g *Gate) compile(f *faults) {
	if (len(g.Web.Hosts) > 0) != (g.Web.IdentityHeader != "") {
		f.add(errors.New("hosts and identity_header go together: without an identity, no person may decide from another machine"), "gate", "web")
	}
	if (g.Chat.Platform == "") != (g.Chat.ChatID == "") {
		f.add(errors.New("platform and chat_id go together"), "gate", "chat")
	}
}

func (a *AutoReply) compile(f *faults) {
	for name, rules := range map[string][]Condition{"never": a.Never, "production": a.Production} {
		for i, r := range rules {
			_, err := query.CompileCondition(r.When)
			f.add(err, "auto_reply", name, i, "when")
		}
	}
	_, err := time.LoadLocation(a.Zone)
	f.add(err, "auto_reply", "zone")
}
