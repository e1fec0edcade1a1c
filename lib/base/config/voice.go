package config

// Voice configures how a draft is worded and cut before it is validated. It is off by default.
type Voice struct {
	Enabled bool `yaml:"enabled"`
	// minutes after which an answer names its question; default 30
	ReintroduceMin *float64 `yaml:"reintroduce_min"`
	Style          string   `yaml:"style"` // a file that describes the team's voice, for the model
	Model          Agent    `yaml:"model"` // rephrases; default none
	// 0 to 1, above which the model is not asked; default 0.6
	MaxDrift *float64 `yaml:"max_drift"`
}

func (v *Voice) fill() {
	setPointer(&v.ReintroduceMin, 30)
	setPointer(&v.MaxDrift, 0.6)
	v.Model.fill("none", 1)
}
