package forge

import (
	"strings"
	"testing"

	"tri/lib/base/config"
)

func TestLink(t *testing.T) {
	id := strings.Repeat("ab", 20)
	for _, tt := range []struct {
		cfg        config.Forge
		remote     string
		path       string
		start, end int
		want       string
	}{
		{config.Forge{}, "git@github.com:acme/shop.git", "a b/c.go", 3, 7,
			"https://github.com/acme/shop/blob/" + id + "/a%20b/c.go#L3-L7"},
		{config.Forge{}, "https://user:pw@github.com/acme/shop", "c.go", 3, 3,
			"https://github.com/acme/shop/blob/" + id + "/c.go#L3"},
		{config.Forge{}, "https://gitlab.com/acme/deep/shop.git", "c.go", 3, 7,
			"https://gitlab.com/acme/deep/shop/-/blob/" + id + "/c.go#L3-7"},
		{config.Forge{Kind: "gitea", URL: "https://git.acme.org/"},
			"ssh://git@git.acme.org:2222/acme/shop.git", "c.go", 0, 0,
			"https://git.acme.org/acme/shop/src/commit/" + id + "/c.go"},
		{config.Forge{}, "git@git.acme.org:acme/shop.git", "c.go", 1, 1, ""},
		{config.Forge{}, "", "c.go", 1, 1, ""},
		{config.Forge{}, "javascript:alert(1)//github.com/a/b", "c.go", 1, 1, ""},
	} {
		if got := Link(tt.cfg, tt.remote, id, tt.path, tt.start, tt.end); got != tt.want {
			t.Errorf("%q %q: %q, want %q", tt.remote, tt.path, got, tt.want)
		}
	}
	if got := Link(config.Forge{}, "git@github.com:a/b", "HEAD", "c.go", 1, 1); got != "" {
		t.Errorf("a name for a commit: %q", got)
	}
}
