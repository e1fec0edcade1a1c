package config

// Where a long run lives.
const (
	Tmux = "tmux"
	None = "none" // in the background; "pty" is its name in older configurations
)

// Escalation configures tier 2: long runs that outlive the pipeline.
type Escalation struct {
	Enabled                     bool     `yaml:"enabled"`
	ExpectedRuntimeMinThreshold float64  `yaml:"expected_runtime_min_threshold"` // default 10
	QuestionTypes               []string `yaml:"question_types"`                 // types that are always long
	MaxMin                      float64  `yaml:"max_min"`                        // of one run; default 30
	Terminal                    string   `yaml:"terminal"`                       // Tmux (default) or None
	// default: the run's own folder
	TranscriptDir string `yaml:"transcript_dir"`
}

// fill sets defaults.
func (e *Escalation) fill() {
	setDefault(&e.ExpectedRuntimeMinThreshold, 10)
	setDefault(&e.MaxMin, 30)
	setDefault(&e.Terminal, Tmux)
}
