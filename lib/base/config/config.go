// Package config reads and checks config.yaml. Every setting has a default, so that every tool
// works without a file; an unknown key is refused with its line.
package config

// Config is the whole file. Defaults replace zero values.
type Config struct {
	WatchedChats  []Chat         `yaml:"watched_chats"`
	Chat          Platforms      `yaml:"chat"`
	Classifier    Classifier     `yaml:"classifier"`
	Team          Team           `yaml:"team"`
	Investigator  Agent          `yaml:"investigator"`
	Validator     Agent          `yaml:"validator"`
	MCPServers    []Server       `yaml:"mcp_servers"` // given to investigating agents
	Escalation    Escalation     `yaml:"escalation"`
	Codebases     []Codebase     `yaml:"codebases"`
	Knowledge     []string       `yaml:"knowledge"` // folders of notes, a source of hints
	Sandbox       string         `yaml:"sandbox"`   // "required" (default) or "off"
	Budget        Budget         `yaml:"budget"`
	Dispatch      Dispatch       `yaml:"dispatch"`
	Turn          Turn           `yaml:"turn"`
	Inbox         Inbox          `yaml:"inbox"`
	QuestionTypes []QuestionType `yaml:"question_types"`
	AskFirst      []AskFirst     `yaml:"ask_first"`
	Pipeline      []Stage        `yaml:"pipeline"`
	Voice         Voice          `yaml:"voice"`
	Gate          Gate           `yaml:"gate"`
	AutoReply     AutoReply      `yaml:"auto_reply"`
	Box           Box            `yaml:"box"`
	Forge         Forge          `yaml:"forge"`
	Panel         Panel          `yaml:"panel"`
	Sweep         []Sweep        `yaml:"sweep"`
	Nats          Nats           `yaml:"nats"`

	// Path is the file that was read, "" for the defaults. Folders named in the file are relative
	// to the file's folder.
	Path string `yaml:"-"`
}

// Chat is one watched chat.
type Chat struct {
	Platform string `yaml:"platform"`
	ChatID   string `yaml:"chat_id"`
	Name     string `yaml:"name"`
	Codebase string `yaml:"codebase"` // name of one of Codebases; "" means the first
	Inbox    bool   `yaml:"inbox"`    // every message of a person is a request
}

// Classifier configures the rule-based filter.
type Classifier struct {
	BotID            string   `yaml:"bot_id"`
	BotIDs           []string `yaml:"bot_ids"`           // further ids of this bot, on other platforms
	OtherBots        string   `yaml:"other_bots"`        // "ignore" (default) or "classify"
	AckPatterns      []string `yaml:"ack_patterns"`      // RE2, added to the built-in ones
	QuestionKeywords []string `yaml:"question_keywords"` // added to the language packs
	Languages        []string `yaml:"languages"`         // packs in use; default all
	PacksDir         string   `yaml:"packs_dir"`         // a team's own packs; default $TRI_HOME/packs
	Rules            []Rule   `yaml:"rules"`
}

// Rule sets fields of an event if a jq condition is true for it.
type Rule struct {
	Name string         `yaml:"name"`
	When string         `yaml:"when"` // jq, over the classified event
	Set  map[string]any `yaml:"set"`  // classification, is_question, …; no other fields
}

// Team lists the team's people by sender id.
type Team struct {
	Members   []string `yaml:"members"`
	Helpers   []string `yaml:"helpers"`
	Approvers []string `yaml:"approvers"` // who may approve; empty: no one
	Language  string   `yaml:"language"`  // the operator's; default en
}

// Codebase is a folder that agents may read.
type Codebase struct {
	Name string `yaml:"name"`
	Path string `yaml:"path"`
}

// Dispatch configures the orchestrator.
type Dispatch struct {
	Concurrency   int     `yaml:"concurrency"`     // concurrent investigations; default 3
	OfferExpiresH float64 `yaml:"offer_expires_h"` // hours until an undecided draft is void; default 72
	PromptsDir    string  `yaml:"prompts_dir"`     // replace built-in templates; default $TRI_HOME/prompts

	// MaxQuestionAgeH is the age in hours from which a message opens no thread; default 24.
	MaxQuestionAgeH float64 `yaml:"max_question_age_h"`
}

// Turn says how long an investigation waits for the rest of its question.
type Turn struct {
	HoldS    *float64 `yaml:"hold_s"`     // seconds after the asker's last message; default 2.5, 0: none
	MaxHoldS *float64 `yaml:"max_hold_s"` // seconds in all, also while the asker types; default 15
}

// QuestionType is a rule that assigns a type to questions.
type QuestionType struct {
	Name        string  `yaml:"name"`         // in reports; default: its index in the list
	Type        string  `yaml:"type"`         // technical_qa, status_check, data_lookup, api_contract, other
	When        string  `yaml:"when"`         // RE2 over the text, or a jq condition if it begins with "."
	ExpectedMin float64 `yaml:"expected_min"` // 0: estimated from signs of difficulty in the text
}

// AskFirst is a rule for questions that need an answer of the operator before anything runs.
type AskFirst struct {
	Name     string `yaml:"name"`
	When     string `yaml:"when"` // as QuestionType.When
	Question string `yaml:"question"`
}
