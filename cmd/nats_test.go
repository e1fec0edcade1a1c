package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tri/lib/base/config"
)

// TestExampleNats: the configurations of the machines are accepted, each with its key, and each container
// starts a program and a command that exist.
func TestExampleNats(t *testing.T) {
	for name, seed := range map[string]string{"hub": "hub.seed", "worker": "worker1.seed",
		"standby": "copy.seed"} {
		cfg, err := config.Load("../examples/nats/" + name + ".yaml")
		if err != nil || filepath.Base(cfg.Nats.SeedFile) != seed {
			t.Errorf("%s: %v", name, err)
			continue
		}
		publishes := slices.ContainsFunc(cfg.Stages("h"), func(s config.Stage) bool { return s.Name == "nats" })
		if (name == "hub") != (cfg.Investigator.On == config.Queue) || !publishes {
			t.Errorf("%s: on %q, publishes %v", name, cfg.Investigator.On, publishes)
		}
	}
	text, err := os.ReadFile("../examples/nats/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Image, Command string
			Volumes        []string
			DependsOn      []string `yaml:"depends_on"`
		}
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	if len(compose.Services) != 5 {
		t.Errorf("%d services", len(compose.Services))
	}
	for name, s := range compose.Services {
		if len(s.Volumes) == 0 || name != "server" && !slices.Contains(s.DependsOn, "server") {
			t.Errorf("%s: %+v", name, s)
		}
		argv := strings.Fields(s.Command)
		if s.Image != "" {
			continue
		}
		if len(argv) < 2 || !slices.Contains(programs(t), argv[0]) ||
			!strings.Contains(help(argv[0]), "\n  "+argv[1]+" ") {
			t.Errorf("%s starts %q", name, s.Command)
			continue
		}
		for _, w := range argv[2:] {
			if strings.HasPrefix(w, "--") && !strings.Contains(help(argv[0], argv[1]), w) {
				t.Errorf("%s: %s has no %s", name, argv[1], w)
			}
		}
	}
}
