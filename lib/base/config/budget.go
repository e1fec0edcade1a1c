package config

// Budget is what may be spent in a day (UTC). 0 is no limit.
type Budget struct {
	InvestigationsPerDay          *int `yaml:"investigations_per_day"`            // default 50
	InvestigationsPerPersonPerDay *int `yaml:"investigations_per_person_per_day"` // default 10

	// What all runs together may take in a day, those for one thread, those for one
	// person who asks, and those of one agent program.
	PerDay    Limits        `yaml:"per_day"`
	PerThread Limits        `yaml:"per_thread"`
	PerPerson Limits        `yaml:"per_person"`
	PerAgent  []AgentLimits `yaml:"per_agent"`
}

// Limits are those of one day. Runs are investigations, validations by an agent,
// long looks and canaries.
type Limits struct {
	USD    float64 `yaml:"usd"`
	Tokens int64   `yaml:"tokens"` // in and out
	Runs   int     `yaml:"runs"`
}

// AgentLimits are those of one agent program.
type AgentLimits struct {
	Agent  string  `yaml:"agent"`
	USD    float64 `yaml:"usd"`
	Tokens int64   `yaml:"tokens"`
	Runs   int     `yaml:"runs"`
}

// ForAgent are the limits of an agent program, none where the list has it not.
func (b *Budget) ForAgent(name string) Limits {
	for _, a := range b.PerAgent {
		if a.Agent == name {
			return Limits{a.USD, a.Tokens, a.Runs}
		}
	}
	return Limits{}
}
