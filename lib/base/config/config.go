// Package config reads and checks config.yaml. Everything has a default, so that every
// tool works with no file at all; a key that is not known is refused with its line.
package config

// Config is the whole file. Zero values are replaced by Default's.
type Config struct {
	WatchedChats  []Chat         `yaml:"watched_chats"`
	Chat          Platforms      `yaml:"chat"`
	Classifier    Classifier     `yaml:"classifier"`
	Team          Team           `yaml:"team"`
	Investigator  Agent          `yaml:"investigator"`
	Validator     Agent          `yaml:"validator"`
	MCPServers    []Server       `yaml:"mcp_servers"` // given to agents that investigate
	Escalation    Escalation     `yaml:"escalation"`
	Codebases     []Codebase     `yaml:"codebases"`
	Knowledge     []string       `yaml:"knowledge"` // folders of notes that hints come from
	Sandbox       string         `yaml:"sandbox"`   // "required" (default) or "off"
	Budget        Budget         `yaml:"budget"`
	Dispatch      Dispatch       `yaml:"dispatch"`
	QuestionTypes []QuestionType `yaml:"question_types"`
	AskFirst      []AskFirst     `yaml:"ask_first"`
	Pipeline      []Stage        `yaml:"pipeline"`
	Gate          Gate           `yaml:"gate"`
	AutoReply     AutoReply      `yaml:"auto_reply"`
	Box           Box            `yaml:"box"`
	Forge         Forge          `yaml:"forge"`

	// Path is where this was read from, "" for the defaults. Folders named in the
	// file are relative to the file's own.
	Path string `yaml:"-"`
}

// Chat is one watched chat.
type Chat struct {
	Platform string `yaml:"platform"`
	ChatID   string `yaml:"chat_id"`
	Name     string `yaml:"name"`
	Codebase string `yaml:"codebase"` // name of one of Codebases; "" is the first
}

// Classifier is the free filter's part.
type Classifier struct {
	BotID            string   `yaml:"bot_id"`
	BotIDs           []string `yaml:"bot_ids"`           // more of our own ids, on other platforms
	OtherBots        string   `yaml:"other_bots"`        // "ignore" (default) or "classify"
	AckPatterns      []string `yaml:"ack_patterns"`      // RE2, added to the built-in ones
	QuestionKeywords []string `yaml:"question_keywords"` // added to the language packs
	Languages        []string `yaml:"languages"`         // packs in use; default all
	PacksDir         string   `yaml:"packs_dir"`         // a team's own packs; default $TRI_HOME/packs
	Rules            []Rule   `yaml:"rules"`
}

// Rule sets fields of an event for which a jq condition holds.
type Rule struct {
	Name string         `yaml:"name"`
	When string         `yaml:"when"` // jq, over the classified event
	Set  map[string]any `yaml:"set"`  // classification, is_question, … and nothing else
}

// Team is who is who, by sender id.
type Team struct {
	Members   []string `yaml:"members"`
	Helpers   []string `yaml:"helpers"`
	Approvers []string `yaml:"approvers"` // who may approve; empty: nobody
	Language  string   `yaml:"language"`  // the operator's; default en
}

// Codebase is a folder that may be read.
type Codebase struct {
	Name string `yaml:"name"`
	Path string `yaml:"path"`
}

// Dispatch is the orchestrator's part.
type Dispatch struct {
	Concurrency   int     `yaml:"concurrency"`     // investigations at once; default 3
	OfferExpiresH float64 `yaml:"offer_expires_h"` // hours until an unanswered draft is void; default 72
	PromptsDir    string  `yaml:"prompts_dir"`     // templates that replace the built-in ones; default $TRI_HOME/prompts

	// MaxQuestionAgeH is the age in hours from which a message opens nothing; default 24.
	MaxQuestionAgeH float64 `yaml:"max_question_age_h"`
}

// QuestionType is a rule that decides what kind of question it is.
type QuestionType struct {
	Name        string  `yaml:"name"`         // in reports; default its place in the list
	Type        string  `yaml:"type"`         // technical_qa, status_check, data_lookup, api_contract, other
	When        string  `yaml:"when"`         // RE2 over the text, or a jq condition when it begins with "."
	ExpectedMin float64 `yaml:"expected_min"` // 0: by the signs of difficulty in the text
}

// AskFirst has the operator asked before anything runs.
type AskFirst struct {
	Name     string `yaml:"name"`
	When     string `yaml:"when"` // as QuestionType.When
	Question string `yaml:"question"`
}
