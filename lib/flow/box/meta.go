package box

import (
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// Meta is meta.yaml: the task and what the run is allowed. It is written once, before the run begins, and
// never changed.
type Meta struct {
	RunName      string `yaml:"run_name" json:"run_name"`
	Type         string `yaml:"type" json:"type"`
	Task         string `yaml:"task" json:"task"`
	Slug         string `yaml:"slug" json:"slug"`
	RepoSHAStart string `yaml:"repo_sha_start" json:"repo_sha_start"`   // "" if there is no commit
	Since        string `yaml:"since,omitempty" json:"since,omitempty"` // review: the commit compared with
	Of           string `yaml:"of,omitempty" json:"of,omitempty"`       // review: the run reviewed
	For          string `yaml:"for,omitempty" json:"for,omitempty"`     // the dispatcher's run that asked for it
	// Program is the program started, Version the version installed; "" if unknown.
	Program    string `yaml:"program,omitempty" json:"program,omitempty"`
	Version    string `yaml:"program_version,omitempty" json:"program_version,omitempty"`
	Envelope   `yaml:",inline"`
	ConfigHash string `yaml:"config_hash" json:"config_hash"`
}

// Envelope is what a run is allowed. A resume recomputes it from the configuration; its hash must equal
// the one in meta.yaml.
type Envelope struct {
	Agent   string   `yaml:"agent" json:"agent"`
	Command []string `yaml:"command,omitempty" json:"command,omitempty"`
	Model   string   `yaml:"model" json:"model"` // "" is the program's default
	Sandbox string   `yaml:"sandbox" json:"sandbox"`
	Tools   []string `yaml:"tools_allowlist" json:"tools_allowlist"`
	Shell   []string `yaml:"shell_allowlist,omitempty" json:"shell_allowlist,omitempty"`
	Write   bool     `yaml:"write" json:"write"`
	EnvTest []string `yaml:"env_test,omitempty" json:"env_test,omitempty"`
	MCP     []string `yaml:"mcp_tools,omitempty" json:"mcp_tools,omitempty"` // each SERVER.TOOL
	Safe    []string `yaml:"safe_commands" json:"safe_commands"`
	Human   []string `yaml:"human_only_commands" json:"human_only_commands"`
	// Rights is nil in runs made by older versions.
	Rights   *Rights `yaml:"rights,omitempty" json:"rights,omitempty"`
	commands []command
}

// Rights are the limits set by the sandbox and the supervisor, and the test command run afterwards.
type Rights struct {
	Network   []string `yaml:"network,omitempty" json:"network,omitempty"`
	BaseURL   string   `yaml:"base_url,omitempty" json:"base_url,omitempty"`
	Read      []string `yaml:"read,omitempty" json:"read,omitempty"`
	Env       []string `yaml:"env,omitempty" json:"env,omitempty"`
	MemoryMB  int      `yaml:"memory_mb" json:"memory_mb"`
	Processes int      `yaml:"processes" json:"processes"`
	DiskMB    int      `yaml:"disk_mb" json:"disk_mb"`
	StallMin  float64  `yaml:"stall_min" json:"stall_min"`
	Minutes   float64  `yaml:"minutes" json:"minutes"`
	Turns     int      `yaml:"turns" json:"turns"`
	Tokens    int64    `yaml:"tokens" json:"tokens"`
	CostUSD   float64  `yaml:"cost_usd" json:"cost_usd"`
	FixTest   []string `yaml:"fix_test,omitempty" json:"fix_test,omitempty"`
}

// hash covers everything that is allowed, including the text of each command.
func (e *Envelope) hash(kind string) string {
	type file struct{ Name, Text string }
	var files []file
	for _, c := range e.commands {
		files = append(files, file{c.name, c.text()})
	}
	return run.Hash(struct {
		Type string
		*Envelope
		Files []file
	}{kind, e, files})
}

// maxMeta is the maximum size of meta.yaml, in bytes.
const maxMeta = 1 << 20

// writeMeta writes meta.yaml. It fails if the file exists.
func (b *Box) writeMeta(dir string, m *Meta) error {
	text, err := yaml.Marshal(m)
	if err != nil {
		return fmt.Errorf("write meta.yaml: %w", err)
	}
	name := dir + "/meta.yaml"
	f, err := b.home.Root().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("write %q: %w", name, err))
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return sysexit.With(sysexit.IO, err)
}

// Meta reads meta.yaml of a run.
func (b *Box) Meta(run string) (*Meta, error) {
	name := "runs/" + run + "/meta.yaml"
	f, err := durable.OpenFile(b.home.Root(), name)
	if err != nil {
		return nil, sysexit.With(sysexit.IO, fmt.Errorf("read %q: %w", name, err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMeta))
	m := new(Meta)
	if err == nil {
		err = yaml.Unmarshal(text, m)
	}
	if err == nil && (m.RunName != run || matrix[m.Type] == nil) {
		err = fmt.Errorf("it is of run %q, type %q", m.RunName, m.Type)
	}
	if err != nil {
		return nil, sysexit.With(sysexit.Data, fmt.Errorf("read %q: %w", name, err))
	}
	return m, nil
}
