package config

import (
	"errors"
	"time"

	"tri/lib/base/query"
)

// Gate is how people decide.
type Gate struct {
	Quorum int      `yaml:"quorum"`  // different people who must say yes to the same text; default 1, at most 2
	GraceS *float64 `yaml:"grace_s"` // seconds between a yes and its post, for second thoughts; default 10
	Web    GateWeb  `yaml:"web"`
	Chat   GateChat `yaml:"chat"`
	// Reactions on the message that was asked say how far its answer has come.
	Reactions Reactions `yaml:"reactions"`
}

// GateWeb is the page.
type GateWeb struct {
	Listen string `yaml:"listen"` // default 127.0.0.1:7373; unix:/path for a socket
	// Hosts are further names under which a reverse proxy serves the page, and
	// IdentityHeader the header in which that proxy, and nobody else, says who it
	// is. Both are needed to share the page beyond this machine.
	Hosts          []string `yaml:"hosts"`
	IdentityHeader string   `yaml:"identity_header"`
}

// GateChat is the operators' channel.
type GateChat struct {
	Platform string `yaml:"platform"`
	ChatID   string `yaml:"chat_id"`
	// People are who may click there: without a line here, whoever's id on the
	// platform is in team.approvers itself.
	People []Person `yaml:"people"`
}

// Person is who somebody is on a platform.
type Person struct {
	ID   string `yaml:"id"`   // on the platform
	Name string `yaml:"name"` // in team.approvers
}

// Reactions are one character each; "" shows nothing.
type Reactions struct {
	Enabled  bool     `yaml:"enabled"`
	Chats    []string `yaml:"chats"`    // chat ids; nobody else's channel is written on
	Seen     *string  `yaml:"seen"`     // default 👀
	Working  *string  `yaml:"working"`  // default 🔍
	Waiting  *string  `yaml:"waiting"`  // default ⏳
	Answered *string  `yaml:"answered"` // default ✅
	Failed   *string  `yaml:"failed"`   // default ⚠️
}

// AutoReply is triage §7: off unless somebody turns it on, and then only as far as
// the record of decisions has earned it.
type AutoReply struct {
	Enabled bool `yaml:"enabled"`
	// Hours are those in which a person could step in: "Mon-Fri 09:00-17:00", in
	// Zone, an IANA name.
	Hours string `yaml:"hours"`
	Zone  string `yaml:"zone"`
	// Never are rules for what is never answered by itself: production incidents,
	// particular accounts, whatever touches production. Over the classified event,
	// as QuestionType.When.
	Never []Condition `yaml:"never"`
	// Production are rules for what touches production; one false positive there
	// closes the gate. Every automatic reply is told of in gate.chat.
	Production []Condition `yaml:"production"`
}

// Condition is a rule with a name that people read.
type Condition struct {
	Name string `yaml:"name"`
	When string `yaml:"when"` // as QuestionType.When
}

// grace is the default of Gate.GraceS.
const grace = 10

func (g *Gate) fill() {
	if g.Quorum == 0 {
		g.Quorum = 1
	}
	if g.GraceS == nil {
		g.GraceS = new(float64(grace))
	}
	if g.Web.Listen == "" {
		g.Web.Listen = "127.0.0.1:7373"
	}
	for _, d := range []struct {
		p **string
		v string
	}{{&g.Reactions.Seen, "👀"}, {&g.Reactions.Working, "🔍"}, {&g.Reactions.Waiting, "⏳"}, {&g.Reactions.Answered, "✅"}, {&g.Reactions.Failed, "⚠️"}} {
		if *d.p == nil {
			*d.p = &d.v
		}
	}
}

// Grace is GraceS as a duration.
func (g *Gate) Grace() time.Duration { return time.Duration(*g.GraceS * float64(time.Second)) }

// compile names, with its line, what the schema cannot see.
func (g *Gate) compile(f *faults) {
	if (len(g.Web.Hosts) > 0) != (g.Web.IdentityHeader != "") {
		f.add(errors.New("hosts and identity_header go together: without who it is, nobody may decide from elsewhere"), "gate", "web")
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
	if _, err := time.LoadLocation(a.Zone); err != nil {
		f.add(err, "auto_reply", "zone")
	}
}
