package panel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"tri/lib/base/durable"
	"tri/lib/base/forge"
	"tri/lib/base/httpapi"
	"tri/lib/base/ndjson"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/judge/roadmap"
	"tri/lib/record/persona"
)

// Watch judges, at intervals, what the configured triggers find on the forge, and keeps its milestones as
// part of the roadmap.
type Watch struct {
	*Judge
	Offer func() error // nil: proposals are offered by hand
	HTTP  *http.Client // nil: the usual one
	Wait  func(ctx context.Context, d time.Duration) error

	skipped map[int]string // pull requests that cannot be judged, and why
}

// Watch judges what the triggers find, and offers what follows if the configuration lets issues be changed.
func (k *Keeper) Watch(ctx context.Context, j *Judge, once bool) error {
	w := &Watch{Judge: j, Wait: httpapi.Sleep}
	if k.Config.Forge.Issues {
		k.Out = io.Discard // the decision log has what is offered
		w.Offer = k.Offer
	}
	return w.Run(ctx, once)
}

const watchLock = "locks/panel"

// Run looks until ctx ends or, with once, one time.
func (w *Watch) Run(ctx context.Context, once bool) error {
	cfg := &w.Config.Panel
	if len(cfg.Triggers) == 0 {
		return sysexit.Hint(sysexit.With(sysexit.Config, errors.New("panel.triggers is empty")),
			"set panel.triggers in config.yaml, for example [issue_review, build_failure]")
	}
	lock, err := w.Home.TryLock(watchLock)
	if errors.Is(err, durable.ErrLocked) {
		err = fmt.Errorf("another tri-panel watches for this home: %w", err)
	}
	if err != nil {
		return err
	}
	defer lock.Unlock()
	for {
		err := w.look(ctx)
		if once || ctx.Err() != nil {
			return err
		}
		switch status, _ := sysexit.Of(err); {
		case status == sysexit.TempFail, status == sysexit.Unavailable: // a budget is spent, a forge is down
			w.Say("%v", err)
		case err != nil:
			return err
		}
		if err := w.Wait(ctx, time.Duration(cfg.EveryMin*float64(time.Minute))); err != nil {
			return err
		}
	}
}

// look judges the subjects that no discussion is about yet, the first of them.
func (w *Watch) look(ctx context.Context) error {
	client, err := forge.Of(ctx, w.Config.Forge, w.Codebase, w.HTTP)
	if err != nil {
		return err
	}
	plan, err := client.Planned(ctx)
	if err == nil {
		err = keep(w.Home, w.Codebase, plan)
	}
	if err != nil {
		w.Say("milestones: %v", err)
	}
	subjects, err := w.subjects(ctx, client)
	if err != nil {
		return err
	}
	left := w.Config.Panel.Most
	for _, line := range subjects {
		s, err := w.subject(line)
		if err != nil {
			return err
		}
		if _, n, err := w.earlier(s); err != nil || n > 0 {
			if err != nil {
				return err
			}
			continue
		}
		if left--; left < 0 {
			break
		}
		d, err := w.One(ctx, s)
		if err == nil {
			err = ndjson.Write(w.Out, d)
		}
		if err != nil {
			return err
		}
	}
	if w.Offer == nil {
		return nil
	}
	return w.Offer()
}

// subjects returns what the triggers find, as records that judge reads. What a failing check links to is left
// out: it differs for each commit.
func (w *Watch) subjects(ctx context.Context, client *forge.Client) (lines [][]byte, err error) {
	add := func(kind string, v any) {
		line, e := json.Marshal(map[string]any{kind: v})
		lines, err = append(lines, line), errors.Join(err, e)
	}
	wants := func(trigger string) bool { return slices.Contains(w.Config.Panel.Triggers, trigger) }
	if wants(persona.BuildFailure) {
		_, failing, err := client.Failing(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range failing {
			add("failure", map[string]string{"job": c.Name, "log": text.CutBytes(c.Said, maxIssue)})
		}
	}
	if wants(persona.IssueReview) {
		issues, err := client.OpenIssues(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range issues {
			add("issue", map[string]any{"forge": client.Project, "number": i.Number, "title": i.Title,
				"body": i.Body})
		}
	}
	if !wants(persona.PRReview) {
		return lines, err
	}
	pulls, err := client.OpenPulls(ctx)
	if err != nil {
		return nil, err
	}
	skipped := map[int]string{}
	for _, p := range pulls {
		name := fmt.Sprintf("%s#%d", client.Project, p.Number)
		patch, err := client.Diff(ctx, p.Number)
		switch {
		case ctx.Err() != nil, httpapi.NotSent(err), httpapi.StatusOf(err) == http.StatusTooManyRequests:
			return nil, err
		case err == nil && len(patch) > maxPatch:
			err = fmt.Errorf("%d bytes, more than %d", len(patch), maxPatch)
		case err == nil && strings.TrimSpace(patch) == "":
			continue
		}
		if err != nil { // of this one alone: the others are judged
			if skipped[p.Number] = err.Error(); w.skipped[p.Number] != err.Error() {
				w.Say("%s is not judged: its changes: %v", name, err)
			}
			continue
		}
		line, err := json.Marshal(map[string]string{"patch": patch, "task": p.Title + "\n\n" + p.Body, "pull": name})
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	w.skipped = skipped
	return lines, nil
}

// maxPatch is the longest patch of a pull request that is judged, in bytes.
const maxPatch = 200_000

const maxTitle = 120 // characters of a milestone or an issue

// keep writes the milestones of a codebase's forge, sorted by milestone, where roadmap.For finds them.
func keep(h *durable.Home, dir string, plan []forge.Issue) error {
	var b strings.Builder
	last := ""
	for _, i := range plan {
		if i.Milestone != last {
			last = i.Milestone
			due, _, _ := strings.Cut(i.Due, "T")
			fmt.Fprintf(&b, "\n## Milestone %s\n", text.Line(strings.TrimSuffix(last+", due "+due, ", due "), maxTitle))
		}
		fmt.Fprintf(&b, "- [%s] #%d %s\n", map[bool]string{true: "x", false: " "}[i.Closed], i.Number,
			text.Line(i.Title, maxTitle))
	}
	old, err := h.ReadFile(roadmap.Kept(dir))
	if err == nil && string(old) == b.String() || errors.Is(err, fs.ErrNotExist) && b.Len() == 0 {
		return nil
	}
	return h.Replace(roadmap.Kept(dir), []byte(b.String()))
}
