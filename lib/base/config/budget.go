package config

// Budget limits the spending of a day (UTC). 0 means no limit.
type Budget struct {
	InvestigationsPerDay          *int `yaml:"investigations_per_day"`            // default 50
	InvestigationsPerPersonPerDay *int `yaml:"investigations_per_person_per_day"` // default 10

	// Limits per day: of all runs together, of the runs for one thread, for one asker, and of one
	// agent program.
	PerDay    Limits        `yaml:"per_day"`
	PerThread Limits        `yaml:"per_thread"`
	PerPerson Limits        `yaml:"per_person"`
	PerAgent  []AgentLimits `yaml:"per_agent"`
}

// Limits are the limits of one day. Runs are investigations, validations by an agent, long runs
// and canaries.
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
