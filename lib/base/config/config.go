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
	Knowledge     []string       `yaml:"knowledge" is:"path"`        // folders of notes, a source of hints
	Sandbox       string         `yaml:"sandbox" default:"required"` // "required" or "off"
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
	BotIDs           []string `yaml:"bot_ids"`                     // further ids of this bot, on other platforms
	OtherBots        string   `yaml:"other_bots" default:"ignore"` // "ignore" or "classify"
	ActionableFrom   int      `yaml:"actionable_from"`             // points; fewer call more messages actionable
	AckPatterns      []string `yaml:"ack_patterns"`                // RE2, added to the built-in ones
	QuestionKeywords []string `yaml:"question_keywords"`           // added to the language packs
	Languages        []string `yaml:"languages"`                   // packs in use; default all
	PacksDir         string   `yaml:"packs_dir" is:"path"`         // a team's own packs; default $TRI_HOME/packs
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
	Approvers []string `yaml:"approvers"`             // who may approve; empty: no one
	Language  string   `yaml:"language" default:"en"` // the operator's
}

// Codebase is a folder that agents may read.
type Codebase struct {
	Name string `yaml:"name"`
	Path string `yaml:"path" is:"path"`
}

// Dispatch configures the orchestrator.
type Dispatch struct {
	Concurrency   int     `yaml:"concurrency" default:"3"`      // concurrent investigations
	OfferExpiresH float64 `yaml:"offer_expires_h" default:"72"` // hours until an undecided draft is void
	PromptsDir    string  `yaml:"prompts_dir" is:"path"`        // replace built-in templates; default $TRI_HOME/prompts

	// MaxQuestionAgeH is the age in hours from which a message opens no thread; default 24.
	MaxQuestionAgeH float64 `yaml:"max_question_age_h" default:"24"`
}

// Turn says how long an investigation waits for the rest of its question.
type Turn struct {
	HoldS    *float64 `yaml:"hold_s" default:"2.5"`    // seconds after the asker's last message; 0: none
	MaxHoldS *float64 `yaml:"max_hold_s" default:"15"` // seconds in all, also while the asker types
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

// Budget limits the spending of a day (UTC). 0 means no limit.
type Budget struct {
	InvestigationsPerDay          *int `yaml:"investigations_per_day" default:"50"`
	InvestigationsPerPersonPerDay *int `yaml:"investigations_per_person_per_day" default:"10"`

	// Limits per day: of all runs together, of the runs for one thread, for one asker, and of one
	// agent program.
	PerDay    Limits        `yaml:"per_day"`
	PerThread Limits        `yaml:"per_thread"`
	PerPerson Limits        `yaml:"per_person"`
	PerAgent  []AgentLimits `yaml:"per_agent"`
}

// Limits are the limits of one day. Runs are investigations, validations by an agent and long runs.
type Limits struct {
	USD    float64 `yaml:"usd"`
	Tokens int64   `yaml:"tokens"` // input and output
	Runs   int     `yaml:"runs"`
}

// AgentLimits are the limits of one agent program.
type AgentLimits struct {
	Agent  string  `yaml:"agent"`
	USD    float64 `yaml:"usd"`
	Tokens int64   `yaml:"tokens"`
	Runs   int     `yaml:"runs"`
}

// ForAgent returns the limits of an agent program, the zero value if it is not listed.
func (b *Budget) ForAgent(name string) Limits {
	for _, a := range b.PerAgent {
		if a.Agent == name {
			return Limits{a.USD, a.Tokens, a.Runs}
		}
	}
	return Limits{}
}

// Where a long run lives.
const (
	Tmux = "tmux"
	None = "none" // in the background; "pty" is its name in older configurations
)

// Escalation configures tier 2: long runs that outlive the pipeline.
type Escalation struct {
	Enabled                     bool     `yaml:"enabled"`
	ExpectedRuntimeMinThreshold float64  `yaml:"expected_runtime_min_threshold" default:"10"`
	QuestionTypes               []string `yaml:"question_types"`          // types that are always long
	MaxMin                      float64  `yaml:"max_min" default:"30"`    // of one run
	Terminal                    string   `yaml:"terminal" default:"tmux"` // Tmux or None
	// default: the run's own folder
	TranscriptDir string `yaml:"transcript_dir" is:"path"`
}

// Voice configures how a draft is worded and cut before it is validated. It is off by default.
type Voice struct {
	Enabled bool `yaml:"enabled"`
	// minutes after which an answer names its question; default 30
	ReintroduceMin *float64 `yaml:"reintroduce_min" default:"30"`
	Style          string   `yaml:"style" is:"path"` // a file that describes the team's voice, for the model
	Model          Agent    `yaml:"model"`           // rephrases; default none
	// 0 to 1, above which the model is not asked; default 0.6
	MaxDrift *float64 `yaml:"max_drift" default:"0.6"`
}

// Panel says what personas look at, and limits their discussions.
type Panel struct {
	Lenses        Lenses `yaml:"lenses"` // of drafts that pass otherwise; default none
	Rounds        int    `yaml:"rounds" default:"2"`
	Contributions int    `yaml:"contributions" default:"6"` // with the lead's rulings, of which one is kept
	PerRound      int    `yaml:"per_round" default:"3"`
	// Triggers are what tri-panel watch judges on the forge: issue_review, build_failure, pr_review. None by
	// default.
	Triggers []string `yaml:"triggers"`
	EveryMin float64  `yaml:"every_min" default:"15"` // minutes between two looks
	Most     int      `yaml:"most" default:"3"`       // subjects of one look
}

// Lenses are the names of the lenses that look at drafts, by question type. Default are those of a type
// without a list.
type Lenses struct {
	Default     []string `yaml:"default"`
	TechnicalQA []string `yaml:"technical_qa"`
	StatusCheck []string `yaml:"status_check"`
	DataLookup  []string `yaml:"data_lookup"`
	APIContract []string `yaml:"api_contract"`
	Other       []string `yaml:"other"`
}

// For returns the lenses of a question type. A list that is there and empty means none.
func (l *Lenses) For(questionType string) []string {
	list := map[string][]string{
		"technical_qa": l.TechnicalQA, "status_check": l.StatusCheck, "data_lookup": l.DataLookup,
		"api_contract": l.APIContract, "other": l.Other,
	}[questionType]
	if list == nil {
		return l.Default
	}
	return list
}

// Any reports whether any lens is configured.
func (l *Lenses) Any() bool {
	return len(l.Default)+len(l.TechnicalQA)+len(l.StatusCheck)+len(l.DataLookup)+len(l.APIContract)+
		len(l.Other) > 0
}
