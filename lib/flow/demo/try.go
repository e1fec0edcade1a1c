package demo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"tri/lib/base/durable"
	"tri/lib/base/ndjson"
	"tri/lib/base/stream"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/event"
)

// Trial is an order to draft answers to the questions of an exported history.
type Trial struct {
	Options
	Export string // as tri-watch export takes it
	Agent  string // "": the offline search
	Limit  int    // how many messages are investigated: those that most probably ask something
}

// Try runs the pipeline over an export: reading, filter, drafts of the likeliest questions in
// shadow, and a page that shows each beside what people answered. Nothing can be posted.
func Try(ctx context.Context, t Trial) error {
	d := &demo{Options: t.Options}
	if t.Limit < 1 {
		return sysexit.With(sysexit.Usage, fmt.Errorf("limit %d: want 1 or more", t.Limit))
	}
	if _, err := os.Stat(t.Export); err != nil {
		return err
	}
	if err := d.begin(); err != nil {
		return err
	}
	if err := d.trialHome(t.Agent); err != nil {
		return err
	}
	if inside(t.Export, t.Codebase) {
		d.say("%s lies below %s: drafts may cite the questions themselves.", t.Export, t.Codebase)
	}
	all, chosen := d.path("all.ndjson"), d.path("chosen.ndjson")
	d.title("1. The history goes through the filter")
	if _, err := d.run(ctx,
		pipe{steps: [][]string{{"tri-watch", "export", t.Export}, {"tri-thread"}, {"tri-classify"}},
			into: all, what: "messages", ends: "\n"}); err != nil {
		return err
	}
	if err := d.choose(ctx, all, chosen, t.Limit); err != nil {
		return err
	}
	d.title("2. Drafts of the likeliest; nothing is offered or posted")
	d.command(d.shown("export TRI_HOME=" + text.Quote(d.path("home"))))
	if _, err := d.run(ctx, pipe{
		steps: [][]string{{"tri-dispatch", "--once", "--shadow", chosen}}, into: d.path("moves.ndjson"),
		what: "questions", ends: `"to":"pending-user"`, most: t.Limit,
	}); err != nil {
		return err
	}
	d.title("3. Each question beside what people answered")
	for _, page := range []pipe{
		{steps: [][]string{{"tri-report", "trial"}}, into: d.path("trial.txt")},
		{steps: [][]string{{"tri-report", "trial", "--html"}}, into: d.path("trial.html")},
	} {
		if _, err := d.run(ctx, page); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(d.path("trial.txt"))
	if err == nil {
		err = d.finish()
	}
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	head, _, _ := bytes.Cut(page, []byte("\n\n"))
	d.page(bold, string(head))
	d.say("Read %s, or open %s in a browser.", d.path("trial.txt"), d.path("trial.html"))
	return nil
}

// begin has the trial made in a folder of its own: an earlier one stays until this one is whole.
func (d *demo) begin() error {
	if err := d.replaceable(); err != nil {
		return err
	}
	err := os.MkdirAll(d.Dir, 0o700)
	if err == nil {
		err = errors.Join(d.write("CACHEDIR.TAG", tag), d.write(".gitignore", "*\n"))
	}
	d.final, d.Dir = d.Dir, d.path(".new")
	return sysexit.With(sysexit.IO, errors.Join(err, os.RemoveAll(d.Dir)))
}

// finish puts the trial in the place of an earlier one.
func (d *demo) finish() error {
	for _, dir := range []string{d.final, d.Dir} {
		names, err := os.ReadDir(dir)
		for _, name := range names {
			switch to := filepath.Join(d.final, name.Name()); {
			case err != nil, name.Name() == "CACHEDIR.TAG", to == d.Dir:
			case dir == d.final:
				err = os.RemoveAll(to)
			default:
				err = os.Rename(filepath.Join(dir, name.Name()), to)
			}
		}
		if err != nil {
			return err
		}
	}
	made := d.Dir
	d.Dir = d.final
	return os.RemoveAll(made)
}

// History writes the classified messages of an export to a file of a home, with the programs in
// bin. The dispatcher does not read it: an old question opens nothing.
func History(ctx context.Context, bin string, home *durable.Home, export, name string) error {
	if _, err := os.Stat(export); err != nil {
		return err
	}
	d := &demo{Options: Options{Bin: bin}, home: home.Dir()}
	filter := [][]string{{"tri-watch", "export", export}, {"tri-thread"}, {"tri-classify"}}
	if _, err := d.quiet(ctx, pipe{steps: filter, into: home.Path(name + ".part")}); err != nil {
		return err
	}
	return home.Move(name+".part", name)
}

// trialHome makes the folder, and a configuration in it.
func (d *demo) trialHome(agent string) error {
	code, err := filepath.Abs(d.Codebase)
	if err != nil {
		return sysexit.With(sysexit.IO, err)
	}
	if err := d.folders("home"); err != nil {
		return err
	}
	config := strings.Join([]string{
		"# Written by tri try.",
		"codebases:",
		"  - name: code",
		fmt.Sprintf("    path: %q", code),
		"investigator:",
		fmt.Sprintf("  agent: %q", cmp.Or(agent, "search")),
		"budget: {investigations_per_day: 0, investigations_per_person_per_day: 0} # --limit is one",
		"",
	}, "\n")
	return sysexit.With(sysexit.IO, d.write("home/config.yaml", config))
}

// inside reports whether a path is below a folder.
func inside(path, dir string) bool {
	abs, err1 := filepath.Abs(path)
	root, err2 := filepath.Abs(dir)
	if err1 != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(root, abs)
	return err == nil && filepath.IsLocal(rel)
}

// candidate is a message that asks something.
type candidate struct {
	line       int64
	question   bool
	confidence float64
}

// likelier orders candidates: questions first, then by confidence.
func likelier(a, b candidate) int {
	if a.question != b.question {
		return map[bool]int{true: -1, false: 1}[a.question]
	}
	return cmp.Compare(b.confidence, a.confidence)
}

// choose copies the classified messages. All but the likeliest are classified as ambient there, so
// that they are context and open nothing.
func (d *demo) choose(ctx context.Context, from, to string, limit int) error {
	var found []candidate
	actionable := 0
	in := stream.Input{Files: []string{from}, After: -1}
	stats, err := stream.Each(ctx, in, func(rec ndjson.Record) error {
		v := gjson.ParseBytes(rec.Bytes)
		answer := v.Get("reasons.#").Int() == 1 && v.Get("reasons.0").Str == "thread:in-flight"
		if v.Get("classification").Str != event.Actionable {
			return nil
		}
		actionable++
		if !answer {
			found = append(found, candidate{rec.Line, v.Get("is_question").Bool(),
				v.Get("classifier_confidence").Float()})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return sysexit.With(sysexit.No, fmt.Errorf("nothing is asked in %s", text.Count(int(stats.Records), "message")))
	}
	slices.SortStableFunc(found, likelier)
	chosen := map[int64]bool{}
	for _, c := range found[:min(limit, len(found))] {
		chosen[c.line] = true
	}
	d.say("%s: %s, %d more in their threads; %.0f%% need nobody.", text.Count(int(stats.Records), "message"),
		text.Count(len(found), "question"), actionable-len(found),
		100*float64(stats.Records-int64(actionable))/float64(stats.Records))
	if len(chosen) < len(found) {
		d.say("Investigated: the likeliest %d.", len(chosen))
	}
	var out bytes.Buffer
	_, err = stream.Each(ctx, in, func(rec ndjson.Record) error {
		line := rec.Bytes
		if !chosen[rec.Line] {
			line = demoted(line)
		}
		out.Write(line)
		return out.WriteByte('\n')
	})
	if err != nil {
		return err
	}
	return sysexit.With(sysexit.IO, os.WriteFile(to, out.Bytes(), fs.FileMode(0o600)))
}

// demoted returns a classified record with actionable replaced by ambient. The classifier's own
// field is the last of that name.
func demoted(line []byte) []byte {
	was, now := []byte(`"classification":"actionable"`), []byte(`"classification":"ambient"`)
	i := bytes.LastIndex(line, was)
	if i < 0 {
		return line
	}
	return slices.Concat(line[:i], now, line[i+len(was):])
}
