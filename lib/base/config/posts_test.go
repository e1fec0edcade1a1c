package config

import (
	"slices"
	"testing"
)

// TestNothingPostsToALog: a pipeline that only follows logs has no stage that posts.
func TestNothingPostsToALog(t *testing.T) {
	for _, tt := range []struct {
		dir  string
		want bool
	}{{"", false}, {"/chat", true}} {
		c := Default()
		c.Chat.Tail.Files, c.Chat.Local.Dir = []string{"/x.log"}, tt.dir
		stages := c.Stages("/home")
		names := make([]string, 0, len(stages))
		for _, s := range stages {
			names = append(names, s.Name)
		}
		if slices.Contains(names, "reply") != tt.want || !slices.Contains(names, "watch") {
			t.Errorf("local chat %q: stages %q", tt.dir, names)
		}
	}
}
