package config

// Panel says what personas look at, and limits their discussions.
type Panel struct {
	Lenses        Lenses `yaml:"lenses"`        // of drafts that pass otherwise; default none
	Rounds        int    `yaml:"rounds"`        // default 2
	Contributions int    `yaml:"contributions"` // with the lead's rulings, of which one is kept; default 6
	PerRound      int    `yaml:"per_round"`     // default 3
	// Triggers are what tri-panel watch judges on the forge: issue_review, build_failure, pr_review. None by
	// default.
	Triggers []string `yaml:"triggers"`
	EveryMin float64  `yaml:"every_min"` // minutes between two looks; default 15
	Most     int      `yaml:"most"`      // subjects of one look; default 3
}

func (p *Panel) fill() {
	setDefault(&p.Rounds, 2)
	setDefault(&p.Contributions, 6)
	setDefault(&p.PerRound, 3)
	setDefault(&p.Most, 3)
	setDefault(&p.EveryMin, 15)
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
