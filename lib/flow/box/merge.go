package box

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tri/lib/base/forge"
	"tri/lib/base/git"
	"tri/lib/base/sysexit"
	"tri/lib/base/term"
	"tri/lib/base/text"
	"tri/lib/record/run"
)

// Merge says how a patch is applied.
type Merge struct {
	Check   bool // only show it, and whether it applies
	Yes     bool // confirmed beforehand: do not ask
	Exec    bool // allow files to become executable
	Secrets bool // allow text that looks like a secret
	Branch  bool // as a branch, without changing the files
	Pull    bool // as a branch with a pull request
}

func (m Merge) files() bool { return !m.Branch && !m.Pull }

// Merge shows a run's patch and, after a person confirms, applies it to the checkout, completely or not at
// all.
func (b *Box) Merge(ctx context.Context, word string, how Merge) error {
	name, err := b.mergeable(word)
	if err != nil {
		return err
	}
	l, s, err := b.take(name)
	if err != nil {
		return err
	}
	defer l.lock.Unlock()
	if s.Status != run.Review && s.Status != run.Proposed && !(how.Check && s.Status == run.Merged) {
		return sysexit.Hint(sysexit.With(sysexit.No,
			fmt.Errorf("merge %s: it is %s: no patch waits", name, s.Status)),
			"only a run in REVIEW or PROPOSED has a patch to merge: tri-box list")
	}
	if err := l.merge(ctx, how); err != nil {
		return fmt.Errorf("merge %s: %w", name, err)
	}
	return nil
}

// mergeable finds the run that a person wants to merge. "latest" is the newest run whose patch waits, if
// there is one.
func (b *Box) mergeable(word string) (string, error) {
	if word == "latest" {
		runs, err := b.recent(0)
		if err != nil {
			return "", err
		}
		for _, r := range runs {
			if r.State.Status == run.Review {
				return r.Meta.RunName, nil
			}
		}
	}
	return b.Find(word)
}

func (l *live) merge(ctx context.Context, how Merge) error {
	text, err := l.home.ReadFile("runs/" + l.name + "/changes.patch")
	if err != nil {
		return sysexit.With(sysexit.NoInput, err)
	}
	patch, err := git.Check(text, git.Rules{Exec: how.Exec})
	if err != nil {
		return err
	}
	if !how.Secrets {
		patch.Refused = append(patch.Refused, l.secrets(text)...)
	}
	if err := write(l.Out, l.describe(patch, text)); err != nil {
		return err
	}
	if err := patch.Err(); err != nil {
		return sysexit.Hint(err,
			"nothing was changed. --allow-exec permits new programs, --allow-secrets what looks like a secret; other changes have to be made by hand")
	}
	repo, err := l.repo(ctx)
	if err != nil {
		return err
	}
	apply := git.Merge{Base: l.meta.RepoSHAStart, Journal: l.home.Path("runs/" + l.name + "/merge")}
	if how.files() {
		dry := apply
		dry.DryRun = true
		if _, err := repo.Apply(ctx, patch, dry); err != nil {
			return err
		}
	}
	if how.Check {
		l.Say("it applies; nothing was changed")
		return nil
	}
	var client *forge.Client
	if how.Pull {
		if client, err = l.forge(ctx, repo); err != nil {
			return err
		}
	}
	if err := l.ask(ctx, how, len(patch.Changes)); err != nil {
		return err
	}
	if how.files() {
		return l.apply(ctx, repo, patch, apply)
	}
	return l.propose(ctx, repo, patch, client)
}

func (l *live) apply(ctx context.Context, repo *git.Repo, patch *git.Patch, how git.Merge) error {
	ctx = context.WithoutCancel(ctx) // all or nothing
	if err := l.mark(l.name, merging); err != nil {
		return err
	}
	done, err := repo.Apply(ctx, patch, how)
	if err != nil {
		return errors.Join(err, l.unmark(l.name))
	}
	l.Say("%s of %s changed, nothing committed", text.Count(len(done.Files), "file"), l.Checkout)
	return l.merged(ctx)
}

// forge returns a client for the forge that receives pull requests.
func (l *live) forge(ctx context.Context, repo *git.Repo) (*forge.Client, error) {
	remote, err := repo.Remote(ctx, l.Config.Forge.Remote)
	if err != nil {
		return nil, err
	}
	return forge.New(l.Config.Forge, remote, nil)
}

// propose makes a branch from the patch and, with a client, a pull request. Repeated after a failure, it
// makes the same branch.
func (l *live) propose(ctx context.Context, repo *git.Repo, patch *git.Patch, client *forge.Client) error {
	s, err := l.State(l.name)
	if err != nil {
		return err
	}
	branch := "tri/" + l.meta.Slug + "-" + idOf(l.name)
	if s.Starts > 1 { // a later attempt: an earlier attempt's branch may have been pushed
		branch += fmt.Sprintf("-%d", s.Starts)
	}
	c := git.Commit{Base: l.meta.RepoSHAStart, Branch: branch, Message: l.message(),
		Author: repo.Identity(ctx), When: timeOf(s.EndedAt)}
	id, err := repo.Branch(ctx, patch, c)
	if err != nil {
		return err
	}
	l.Say("branch %s is commit %.12s", c.Branch, id)
	if client != nil {
		if err := client.Push(ctx, repo, id, c.Branch); err != nil {
			return err
		}
		pull, err := client.Open(ctx, forge.Request{Branch: c.Branch, Title: forge.Line(l.meta.Task),
			Body: l.story(patch).Body()})
		if err != nil {
			return err
		}
		if err := write(l.Out, []byte(pull.URL+"\n")); err != nil {
			return err
		}
	}
	l.Say("tri-box resume %s 'what the review said' makes another attempt", idOf(l.name))
	err = run.Update(l.dir(l.name), func(s *run.State) { s.Status = run.Proposed })
	return errors.Join(err, l.enter(l.name))
}

func (l *live) story(patch *git.Patch) forge.Story {
	report, _ := l.home.ReadFile("runs/" + l.name + "/report.md") // the file is optional
	return forge.Story{
		Run: l.name, Type: l.meta.Type, Agent: strings.TrimSpace(l.meta.Agent + " " + l.meta.Model),
		Base: l.meta.RepoSHAStart,
		Task: l.meta.Task, Report: string(report), Files: patch.Changes, Notes: patch.Notes,
		Facts: [][2]string{{"config_hash", l.meta.ConfigHash}, {"Sandbox", l.meta.Sandbox}},
	}
}

// merged records that a person took the patch, and removes the worktree.
func (l *live) merged(ctx context.Context) error {
	err := run.Update(l.dir(l.name), func(s *run.State) { s.Status = run.Merged })
	return errors.Join(err, l.enter(l.name), l.fell(ctx, l.name), l.unmark(l.name))
}

// message returns the commit message of the patch: the task and its origin. It holds nothing by which a
// forge would notify a person or close an issue.
func (l *live) message() string {
	report, _ := l.home.ReadFile("runs/" + l.name + "/report.md") // the file is optional
	first, _, _ := strings.Cut(strings.TrimLeft(string(report), "# \n"), "\n")
	body := forge.Line(text.Line(text.Visible(l.meta.Task), 72)) + "\n\n"
	if first != "" {
		body += forge.Line(text.Line(text.Visible(first), 300)) + "\n\n"
	}
	return body + fmt.Sprintf("Made by %s in run %s, config_hash %s; merged by a person.\n", l.meta.Agent,
		l.name, l.meta.ConfigHash)
}

// describe returns the text that a person sees before confirming: the change to each file, what to look at
// first, what is refused, and the patch itself.
func (l *live) describe(p *git.Patch, body []byte) []byte {
	var out bytes.Buffer
	added, removed := p.Stat()
	fmt.Fprintf(&out, "%s: %s, +%d -%d, from commit %.12s\n", l.name, text.Count(len(p.Changes), "file"), added,
		removed,
		l.meta.RepoSHAStart)
	for _, c := range p.Changes {
		from := ""
		if c.From != "" {
			from = " from " + text.Visible(c.From)
		}
		fmt.Fprintf(&out, "  %-8s %s%s +%d -%d\n", c.Kind, text.Visible(c.Path), from, c.Added, c.Removed)
	}
	for _, f := range p.Notes {
		fmt.Fprintf(&out, "note: %s: %s\n", text.Visible(f.Path), text.Visible(f.Reason))
	}
	for _, f := range p.Refused {
		fmt.Fprintf(&out, "refused: %s: %s\n", text.Visible(f.Path), text.Visible(f.Reason))
	}
	fmt.Fprintf(&out, "\n%s", text.Visible(string(body)))
	return out.Bytes()
}

// ask asks a person to confirm. Without a terminal, --yes is needed.
func (l *live) ask(ctx context.Context, how Merge, changed int) error {
	if how.Yes {
		return nil
	}
	if !term.Is(l.In) || !term.Is(l.Err) {
		return sysexit.Hint(sysexit.With(sysexit.Usage, errors.New("there is no terminal to ask on")),
			"--yes answers in advance, --check only shows the patch")
	}
	what := fmt.Sprintf("change %s of %s?", text.Count(changed, "file"), text.Visible(l.Checkout))
	switch {
	case how.Pull:
		what = "open a pull request with this?"
	case how.Branch:
		what = "make a branch of this?"
	}
	fmt.Fprintf(l.Err, "%s [y/N] ", what)
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(l.In).ReadString('\n') // end of input means no
		said <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
	case word := <-said:
		if word == "y" || word == "yes" {
			return nil
		}
	}
	return sysexit.With(sysexit.No, errors.New("nothing was changed"))
}

// recoverMerge recovers a merge that was killed: it is undone, or, if it was complete, recorded.
func (l *live) recoverMerge(ctx context.Context) error {
	whole, err := l.wasMerged(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("recover the merge of %s: %w", l.name, err)
	case whole:
		l.Say("run %s: an interrupted merge was complete", l.name)
		return l.merged(ctx)
	}
	l.Say("run %s: an interrupted merge was undone; the checkout is as it was before", l.name)
	return nil
}

// wasMerged undoes an incomplete merge, and reports whether the merge was complete instead.
func (l *live) wasMerged(ctx context.Context) (bool, error) {
	repo, err := l.repo(ctx)
	if err != nil {
		return false, err
	}
	if journal := "runs/" + l.name + "/merge"; l.home.Exists(journal) {
		m, err := repo.Recover(ctx, l.home.Path(journal))
		if err != nil || m != nil {
			return m != nil && m.Done, err
		}
	}
	// The journal is deleted last, and it does not exist: the files are all old or all new.
	text, err := l.home.ReadFile("runs/" + l.name + "/changes.patch")
	if err != nil {
		return false, err
	}
	patch, err := git.Check(text, git.Rules{Exec: true})
	if err != nil {
		return false, err
	}
	return repo.Stands(ctx, patch, l.meta.RepoSHAStart)
}
