package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNothingRuns: a repository whose every hook, filter, helper, pager, editor,
// alias and include leaves a mark is worked on by every function here, and none
// is left; nor is any by repositories that an agent hides in its worktree. That
// the marks can be left at all is shown by git itself.
func TestNothingRuns(t *testing.T) {
	r, _ := checkout(t, map[string]string{
		".gitattributes": "* filter=evil diff=evil merge=evil ident\n",
		".gitmodules":    "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n\tupdate = !touch\n",
	})
	sub := filepath.Join(r.Root, "sub")
	nest(t, sub)
	run(t, r.Root, "add", "sub")
	run(t, r.Root, "commit", "-qm", "submodule")
	base := run(t, r.Root, "rev-parse", "HEAD")
	marks := t.TempDir()
	tool := filepath.Join(marks, "tool")
	write(t, marks, map[string]string{"tool+x": "#!/bin/sh\necho \"$0 $*\" >>" + marks + "/canary\ncat\n"})
	canary := func() string {
		b, _ := os.ReadFile(filepath.Join(marks, "canary"))
		os.Remove(filepath.Join(marks, "canary"))
		return string(b)
	}
	plant(t, sub, filepath.Join(sub, ".git"), tool)
	plant(t, r.Root, filepath.Join(r.Root, ".git"), tool)
	own := exec.Command("git", "status")
	own.Dir = r.Root
	_ = own.Run() // it may well fail, in such a place
	if canary() == "" {
		t.Fatal("the repository is not hostile: git status ran nothing")
	}

	dir := grown(t, r, base)
	write(t, dir, map[string]string{"pay/retry.go": "package pay\n", "new.txt": "x\n",
		"logo.gif": binary + "x"})
	for _, name := range []string{"nested", "sub"} { // the second where a submodule belongs
		nest(t, filepath.Join(dir, name))
		plant(t, filepath.Join(dir, name), filepath.Join(dir, name, ".git"), tool)
	}
	canary()

	again, err := Open(t.Context(), filepath.Join(r.Root, "pay"), r.scratch)
	if err != nil || again.Root != r.Root || again.Prefix != "pay" {
		t.Fatalf("open: %+v, %v", again, err)
	}
	x := exported(t, r, dir, base)
	p := checked(t, x.Patch, Rules{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Branch(t.Context(), p,
		Commit{Base: base, Branch: "tri/y", Message: "m", Author: r.Identity(t.Context()),
			When: time.Unix(1e9, 0)}); err != nil {
		t.Error(err)
	}
	if _, err := r.Resolve(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	if _, err := r.Diff(t.Context(), base); err != nil {
		t.Error(err)
	}
	if _, err := r.Apply(t.Context(), p, r.merge(base)); err != nil {
		t.Error(err)
	}
	if _, err := r.Recover(t.Context(), r.merge(base).Journal); err != nil {
		t.Error(err)
	}
	if _, err := r.Prune(filepath.Dir(dir), func(string) bool { return false }); err != nil {
		t.Error(err)
	}
	if got := canary(); got != "" {
		t.Errorf("ran:\n%s", got)
	}
}

// nest makes a repository with one file.
func nest(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, map[string]string{"x.txt": "x\n"})
	run(t, dir, "init", "-q")
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", "nested")
}

// plant makes a repository hostile.
func plant(t *testing.T, dir, gitDir, tool string) {
	t.Helper()
	hooks := filepath.Join(gitDir, "evil")
	files := map[string]string{}
	for hook := range strings.FieldsSeq(`applypatch-msg pre-applypatch post-applypatch pre-commit prepare-commit-msg commit-msg post-commit
pre-rebase post-checkout post-merge pre-push reference-transaction post-index-change post-rewrite fsmonitor-watchman sendemail-validate pre-auto-gc`) {
		script := fmt.Sprintf("#!/bin/sh\n%s hook-%s </dev/null\n", tool, hook)
		files["evil/"+hook+"+x"], files["hooks/"+hook+"+x"] = script, script
	}
	write(t, gitDir, files)
	settings := map[string]string{
		"core.hooksPath": hooks, "core.fsmonitor": tool, "core.pager": tool, "core.editor": tool,
		"sequence.editor": tool,
		"core.askPass":    tool, "core.sshCommand": tool, "core.gitProxy": tool,
		"core.alternateRefsCommand": tool,
		"core.attributesFile":       filepath.Join(gitDir, "attributes"),
		"core.excludesFile":         filepath.Join(gitDir, "attributes"),
		"filter.evil.clean":         tool, "filter.evil.smudge": tool, "filter.evil.process": tool,
		"filter.evil.required": "true",
		"filter.lfs.process":   tool, "diff.evil.command": tool, "diff.evil.textconv": tool,
		"diff.external":     tool,
		"merge.evil.driver": tool, "credential.helper": "!" + tool, "gpg.program": tool,
		"commit.gpgSign": "true", "tag.gpgSign": "true",
		"gpg.ssh.program": tool, "pager.diff": tool, "interactive.diffFilter": tool,
		"uploadpack.packObjectsHook": tool,
		"submodule.recurse":          "true", "diff.submodule": "diff", "status.submoduleSummary": "true",
		"diff.ignoreSubmodules": "none", "submodule.sub.active": "true", "submodule.sub.update": "!" + tool,
		"remote.origin.url": "ext::" + tool + " %S", "remote.origin.promisor": "true",
		"remote.origin.vcs": "evil", "protocol.ext.allow": "always",
		"remote.origin.uploadpack": tool, "trailer.x.command": tool, "worktree.guessRemote": "true",
		"gc.auto": "1", "maintenance.auto": "true", "core.splitIndex": "true",
		"include.path": filepath.Join(gitDir, "more"),
	}
	for verb := range strings.FieldsSeq("apply ls-files ls-tree read-tree diff-tree write-tree update-index update-ref rev-parse worktree checkout-index check-ignore commit-tree config") {
		settings["alias."+verb] = "!" + tool
	}
	write(t, gitDir, map[string]string{"attributes": "* filter=evil diff=evil\n",
		"info/attributes": "* filter=evil diff=evil\n",
		"more": "[core]\n\tfsmonitor = " + tool +
			"\n[extensions]\n\tworktreeConfig = true\n[core]\n\tworktree = /\n",
		"config.worktree": "[core]\n\tfsmonitor = " + tool + "\n"})
	var b strings.Builder
	for key, value := range settings {
		i := strings.LastIndex(key, ".")
		section, sub, deep := strings.Cut(key[:i], ".")
		if deep {
			section = fmt.Sprintf("%s %q", section, sub)
		}
		fmt.Fprintf(&b, "[%s]\n\t%s = %q\n", section, key[i+1:], value)
	}
	old, err := os.ReadFile(filepath.Join(gitDir, "config"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, gitDir, map[string]string{"config": string(old) + b.String()})
}
