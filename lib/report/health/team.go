package health

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/base/config"
)

func (x *checker) readConfig() {
	cfg, err := config.ForHome(x.Dir, x.Config)
	if err != nil {
		x.failed("config", "correct the lines that it names; tri(5) describes every key", err)
		return
	}
	x.config = cfg
	if cfg.Path == "" {
		x.warn("config", "tri init writes one", "no configuration in %s: the defaults apply", x.Dir)
		return
	}
	// Whoever can write the file can make this user run any program.
	if info, err := os.Stat(cfg.Path); err == nil && info.Mode().Perm()&0o022 != 0 {
		x.fail("config", "chmod 600 "+cfg.Path, "%s has mode %#o: others can change it", cfg.Path,
			info.Mode().Perm())
		return
	}
	x.ok("config", "%s", cfg.Path)
}

func (x *checker) people() {
	who := x.config.Team.Approvers
	if q := x.config.Gate.Quorum; q > len(who) && len(who) > 0 {
		x.fail("approvers", "name more people under team.approvers, or lower gate.quorum",
			"gate.quorum requires %d approvals, and team.approvers has %d: nothing will ever be posted",
			q, len(who))
		return
	}
	if len(who) > 0 {
		x.ok("approvers", "%s", strings.Join(who, ", "))
		return
	}
	fix := "name them under team.approvers"
	if x.config.Path == "" {
		x.warn("approvers", fix, "no person may approve")
	} else {
		x.fail("approvers", fix, "no person may approve: nothing will be posted")
	}
}

func (x *checker) codebases(ctx context.Context) {
	if len(x.config.Codebases) == 0 {
		x.warn("codebase", "name one under codebases",
			"none: tri up investigates no question; tri-dispatch answers from the folder that it is started in")
		return
	}
	git := false
	for _, b := range x.config.Codebases {
		name := "codebase " + b.Name
		info, err := os.Stat(b.Path)
		switch {
		case err != nil:
			x.failed(name, "correct its path in the configuration", err)
			continue
		case !info.IsDir():
			x.fail(name, "correct its path in the configuration", "%s is not a folder", b.Path)
			continue
		}
		if within(b.Path, x.Dir) {
			x.warn(name, "keep the home elsewhere",
				"%s contains the home: chat messages could be cited", b.Path)
			continue
		}
		if !isRepository(b.Path) {
			x.warn(name, "git init and commit, so that citations name a commit", "%s is not a git repository", b.Path)
			continue
		}
		git = true
		x.ok(name, "%s", b.Path)
	}
	if git {
		x.tool(ctx, "git", "git", "--version", "codebases are repositories")
	}
}

// within reports whether path is below dir.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func isRepository(dir string) bool {
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
		dir = filepath.Dir(dir)
	}
}
