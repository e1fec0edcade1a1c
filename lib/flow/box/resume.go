package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/durable"
	"tri/lib/base/prompt"
	"tri/lib/base/sysexit"
	"tri/lib/record/run"
)

// Resume continues an interrupted run or, with further words of the operator, a finished one. The run is
// allowed exactly what it was allowed at first. A run that is under way is told the words, and the Run is
// nil; if it ends before its agent has them, it is continued.
func (b *Box) Resume(ctx context.Context, word, words string) (*Run, error) {
	name, err := b.Find(word)
	if err != nil {
		return nil, err
	}
	l, s, err := b.reopen(name, words)
	if errors.Is(err, durable.ErrLocked) && words != "" {
		if heard, err := b.tell(ctx, name, words); heard || err != nil {
			return nil, err
		}
		l, s, err = b.reopen(name, words)
		words = "" // the run's log has them
	}
	if err != nil {
		return nil, err
	}
	if err = b.mark(name, running); err == nil {
		err = run.Update(l.dir(name), func(s *run.State) {
			s.Status, s.Owner, s.EndedAt = run.Active, run.ProcessOf(os.Getpid()), nil
			s.Starts, s.Settled = s.Starts+1, s.Usage
		})
	}
	if err == nil {
		err = errors.Join(l.enter(name), l.reserve(name))
	}
	if err == nil {
		err = l.attempt(ctx, func() error { return l.next(ctx, s, words) })
	}
	return l.end(err)
}

// reopen takes the run's lock and recomputes its envelope, whose hash must match meta.yaml and state.json.
func (b *Box) reopen(name, words string) (*live, run.State, error) {
	l, s, err := b.take(name)
	if err != nil {
		return nil, s, err
	}
	refuse := func(err error) (*live, run.State, error) { return nil, s, errors.Join(err, l.lock.Unlock()) }
	again := s.Status == run.Crashed || s.Status == run.Stalled
	if !again && (words == "" || s.Status != run.Complete && s.Status != run.Review &&
		s.Status != run.Proposed) {
		return refuse(sysexit.Hint(sysexit.With(sysexit.No,
			fmt.Errorf("resume %s: it is %s", name, s.Status)),
			"a run that CRASHED or STALLED can be resumed; one that is DONE, in REVIEW or PROPOSED with words for it: tri-box resume "+idOf(name)+" 'what to do'"))
	}
	if l.agent, err = b.newAgent(); err != nil {
		return refuse(err)
	}
	if l.env, err = b.envelope(l.meta.Type, name, agent.CapabilitiesOf(l.agent)); err != nil {
		return refuse(err)
	}
	if l.meta.Rights == nil {
		l.env.Rights = nil // made by an older version, whose hash did not cover rights
	}
	if hash := l.env.hash(l.meta.Type); hash != l.meta.ConfigHash || hash != s.ConfigHash {
		return refuse(sysexit.Hint(sysexit.With(sysexit.NoPerm,
			fmt.Errorf("resume %s: config_hash is %s now; meta.yaml has %s, state.json %s", name, hash,
				l.meta.ConfigHash, s.ConfigHash)),
			"agent, tools, rights, limits, sandbox or commands are not those that it began with: restore the configuration, or start a new run"))
	}
	return l, s, nil
}

// take takes the lock of a run that no other process holds.
func (b *Box) take(name string) (*live, run.State, error) {
	m, err := b.Meta(name)
	if err != nil {
		return nil, run.State{}, err
	}
	lock, err := b.home.TryLock("runs/" + name + "/lock")
	if errors.Is(err, durable.ErrLocked) {
		err = sysexit.Hint(fmt.Errorf("run %s is under way: %w", name, err),
			"tri-box tail "+idOf(name)+" shows what it does")
	}
	if err != nil {
		return nil, run.State{}, err
	}
	s, err := b.State(name)
	if err != nil {
		return nil, s, errors.Join(err, lock.Unlock())
	}
	return &live{Box: b, name: name, meta: m, right: matrix[m.Type], lock: lock}, s, nil
}

// tell tells a run that is under way something, and reports whether its agent has it before the run ends.
func (b *Box) tell(ctx context.Context, name, words string) (bool, error) {
	m, err := b.Meta(name)
	if err != nil {
		return false, err
	}
	if m.For != "" {
		return false, sysexit.Hint(sysexit.With(sysexit.TempFail,
			fmt.Errorf("run %s is under way for an inbox", name)), "tri-task tell adds to what was asked for there")
	}
	w := run.Word{ID: run.WordID(name, words, run.UUID()), Kind: run.Append, By: "operator", Text: words}
	if _, err := run.Tell(b.home, name, b.Now(), w); err != nil {
		return false, err
	}
	b.Say("run %s is in progress: the message is passed on to it", idOf(name))
	for ctx.Err() == nil {
		lock, held := b.home.TryLock("runs/" + name + "/lock")
		if held == nil {
			held = lock.Unlock()
		} else if !errors.Is(held, durable.ErrLocked) {
			return false, held
		}
		ears, err := run.Hearing(b.dir(name))
		if err != nil || slices.Contains(run.Answered(ears), w.ID) {
			return err == nil, err
		}
		if held == nil {
			return false, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false, ctx.Err()
}

// next makes another attempt: in the agent's own session if possible, otherwise from the beginning with
// the results so far.
func (l *live) next(ctx context.Context, s run.State, words string) error {
	if l.right.write {
		if err := l.regrow(ctx, s); err != nil {
			return err
		}
	}
	data := l.told("")
	data.Why, data.Learned = why(s), l.complaint(s)
	if words != "" {
		data.Words = prompt.Quote("words", words)
	}
	if agent.CapabilitiesOf(l.agent).Resumes && s.SessionID != nil {
		text, err := l.Prompts.Render("box-resume.md", data)
		if err != nil {
			return err
		}
		err = l.work(ctx, agent.Task{Prompt: text, SessionID: *s.SessionID, Resume: true})
		if !errors.Is(err, agent.ErrNoResume) {
			return err
		}
	}
	l.Say("run %s: its session cannot be continued; it starts again with what was learned", l.name)
	return l.again(ctx, data)
}

// again starts over, with the results of the earlier attempts in the prompt.
func (l *live) again(ctx context.Context, data told) error {
	diff, err := l.diffOf(ctx, &Request{Type: l.meta.Type, Since: l.meta.Since, Of: l.meta.Of})
	if err != nil {
		return err
	}
	if data.Prompt, err = l.prompt(diff); err != nil {
		return err
	}
	data.Learned = append(data.Learned, l.learned()...)
	text, err := l.Prompts.Render("box-again.md", data)
	if err != nil {
		return err
	}
	return l.work(ctx, agent.Task{Prompt: text, SessionID: run.UUID()})
}

// why says in a fixed phrase how a run ended.
func why(s run.State) string {
	switch {
	case s.Failure == nil:
		return "it had ended"
	case s.Status == run.Stalled:
		return "it had fallen silent"
	}
	return map[string]string{
		agent.OOM: "it ran out of memory", agent.Timeout: "its time or budget was up",
		agent.ToolError: "a tool or the model failed",
		agent.Abort:     "it gave back nothing that could be used", agent.Killed: "it was ended from outside",
		agent.TestsFailed: "what it made did not pass the tests",
	}[s.Failure.Kind]
}

// complaint returns the output of the tests, if the run failed because of them.
func (l *live) complaint(s run.State) []prompt.Text {
	if s.Failure == nil || s.Failure.Kind != agent.TestsFailed {
		return nil
	}
	text, err := l.home.ReadFile("runs/" + l.name + "/" + testDir + "/output.txt")
	if err != nil {
		return nil
	}
	return []prompt.Text{prompt.Quote("test output", string(text)).Most(maxLast)}
}

// Limits on the results of an old session in the prompt of a new one, in bytes.
const (
	maxReport = 24 << 10
	maxLast   = 12 << 10
	maxTail   = 256 << 10 // of the stream
)

// learned returns the results of the attempts so far: report, plan, and the end of the stream.
func (l *live) learned() []prompt.Text {
	var out []prompt.Text
	for _, name := range []string{"report.md", "plan.md"} {
		if text, err := l.home.ReadFile("runs/" + l.name + "/" + name); err == nil && len(text) > 0 {
			out = append(out, prompt.Quote(name, string(text)).Most(maxReport))
		}
	}
	if text := l.lastWords(); text != "" {
		out = append(out, prompt.Quote("last words", text).Most(maxLast))
	}
	return out
}

// lastWords returns the end of the stream: the agent's text, and its tool calls.
func (l *live) lastWords() string {
	f, err := durable.OpenFile(l.home.Root(), "runs/"+l.name+"/raw/stream.jsonl")
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxTail {
		if _, err := f.Seek(-maxTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTail))
	if err != nil {
		return ""
	}
	var said []string
	for line := range strings.Lines(string(text)) {
		if e, err := readEvent([]byte(line)); err == nil &&
			(e.Kind == agent.Thought || e.Kind == agent.Tool) {
			said = append(said, strings.TrimSpace(e.Tool+" "+e.Text))
		}
	}
	all := strings.Join(said, "\n")
	return all[max(0, len(all)-maxLast):]
}
