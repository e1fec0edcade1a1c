package config

// Voice configures how a draft is worded and cut before it is validated. It is off by default.
type Voice struct {
	Enabled        bool     `yaml:"enabled"`
	ReintroduceMin *float64 `yaml:"reintroduce_min"` // minutes after which an answer names its question; default 30
	Style          string   `yaml:"style"`           // a file that describes the team's voice, for the model
	Model          Agent    `yaml:"model"`           // rephrases; default none
	MaxDrift       *float64 `yaml:"max_drift"`       // 0 to 1, above which the model is not asked; default 0.6
}

func (v *Voice) fill() {
	setDefault(&v.ReintroduceMin, 30)
	setDefault(&v.MaxDrift, 0.6)
	v.Model.fill("none", 1)
}
