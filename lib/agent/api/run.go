package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tri/lib/agent"
	"tri/lib/base/httpapi"
	"tri/lib/base/sysexit"
	"tri/lib/judge/codebase"
	"tri/lib/judge/evidence"
	record "tri/lib/record/run"
)

// maxValue is the maximum size of a value, in bytes.
const maxValue = 1 << 20

// run is a task in progress.
type run struct {
	c        *Client
	rest     []*Client // asked in turn if c does not answer
	task     agent.Task
	tools    []tool
	messages []message
	kept     *kept
	sentBack bool
	res      agent.Result
}

func (r *run) run(ctx context.Context) (err error) {
	t := r.task
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.Write {
		return sysexit.Errorf(sysexit.Software, "it only reads, and the task is to write")
	}
	if r.messages, r.kept, err = resume(t); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.kept.close()) }()
	tree, err := codebase.Open(t.Codebase, t.Hidden, t.Write)
	if err != nil {
		return err
	}
	defer tree.Close()
	repo, err := evidence.OpenRepo(t.Codebase)
	if err != nil {
		return err
	}
	own, err1 := reading(tree, repo, t.Tools)
	last, err2 := answering(t.Schema)
	served, end, err3 := r.serve(ctx)
	defer end()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	r.tools = slices.Concat(own, served, last)
	r.see(agent.Event{Kind: agent.Started})
	return r.talk(ctx, message{Role: "user", Text: t.Prompt})
}

// talk continues until the model has answered.
func (r *run) talk(ctx context.Context, say message) error {
	var taken []string // words in the next call
	for {
		if err := r.limits(); err != nil {
			return err
		}
		taken = append(taken, r.listen(&say)...)
		r.messages = append(r.messages, say)
		r.kept.note(say)
		rep, err := r.ask(ctx)
		if err != nil {
			return err
		}
		for _, id := range taken {
			r.task.Hear(id, record.Taken)
		}
		taken = nil
		r.messages = append(r.messages, rep.message)
		r.kept.note(rep.message)
		r.res.Model = cmp.Or(rep.model, r.res.Model)
		r.count(rep.usage)
		next, err := r.hear(ctx, rep)
		if err != nil {
			return err
		}
		if next == nil {
			more := message{Role: "user"}
			taken = r.listen(&more)
			if err := r.kept.save(r.task.SessionID, r.messages); err != nil || len(taken) == 0 {
				return err
			}
			next = &more // said while the model answered
		}
		say = *next
		r.see(agent.Event{Kind: agent.Milestone, Text: fmt.Sprintf("turn %d", r.res.Usage.Turns)})
		if err := r.kept.save(r.task.SessionID, append(slices.Clone(r.messages), say)); err != nil {
			return err
		}
	}
}

// listen adds the words that were said meanwhile to the next message, and returns their ids.
func (r *run) listen(say *message) (ids []string) {
	for {
		select {
		case w, more := <-r.task.Words:
			if !more {
				r.task.Words = nil
				return ids
			}
			say.Text = strings.TrimSpace(say.Text + "\n\n" + w.Text)
			ids = append(ids, w.ID)
			r.task.Hear(w.ID, record.Sent)
		default:
			return ids
		}
	}
}

// hear handles an answer and returns the next message to send, nil at the end.
func (r *run) hear(ctx context.Context, rep reply) (*message, error) {
	if rep.Text != "" {
		r.res.Text = rep.Text
		r.see(agent.Event{Kind: agent.Thought, Text: rep.Text})
	}
	switch {
	case rep.why == refused:
		return nil, agent.Failf(agent.Abort, "the model refused: %q", brief(rep.Text))
	case rep.why == cut:
		return nil, sysexit.Hint(agent.Failf(agent.Abort, "its answer was cut off at %d tokens", r.most()),
			"max_output_tokens in the configuration is the limit of one answer")
	case len(rep.Calls) > maxCalls:
		return nil, agent.Failf(agent.Abort, "it asked for %d tools at once", len(rep.Calls))
	case len(rep.Calls) > 0:
		return r.use(ctx, rep)
	}
	if r.task.Schema == nil {
		return nil, nil
	}
	value, fault := agent.Object([]byte(rep.Text))
	if fault == nil {
		fault = r.take(value)
	}
	if fault == nil {
		return nil, nil
	}
	words, err := r.repair(fault)
	return &message{Role: "user", Text: words}, err
}

// use runs the tools that an answer calls.
func (r *run) use(ctx context.Context, rep reply) (*message, error) {
	next, done := message{Role: "user"}, false
	for _, c := range rep.Calls {
		res := result{ID: c.ID}
		if c.Name == answerTool && r.task.Schema != nil {
			fault := r.take(c.Input)
			if fault == nil {
				res.Text, done = "taken", true
			} else if words, err := r.repair(fault); err != nil {
				return nil, err
			} else {
				res.Text, res.Fault = words, true
			}
		} else {
			text, err := r.call(ctx, c)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if res.Text = text; err != nil {
				res.Text, res.Fault = err.Error(), true
			}
		}
		next.Results = append(next.Results, res)
	}
	if done {
		r.messages = append(r.messages, next) // a resumed session continues after the results
		return nil, nil
	}
	return &next, nil
}

// take keeps an acceptable value, and returns what is wrong with any other.
func (r *run) take(value json.RawMessage) error {
	if len(value) > maxValue {
		return fmt.Errorf("the value is larger than %d bytes", maxValue)
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, value); err != nil || plain.Len() == 0 || plain.Bytes()[0] != '{' {
		return errors.New("the value is not a JSON object")
	}
	if r.task.Check != nil {
		if err := r.task.Check(plain.Bytes()); err != nil {
			return err
		}
	}
	r.res.Value = plain.Bytes()
	return nil
}

// repair returns the message that sends a value back; a second fault is an error.
func (r *run) repair(fault error) (string, error) {
	if r.sentBack {
		return "", agent.Failf(agent.Abort, "what it gave back, twice: %w", fault)
	}
	r.sentBack = true
	r.see(agent.Event{Kind: agent.Milestone, Text: "sent back: " + fault.Error()})
	if r.task.Repair != nil {
		return r.task.Repair(fault), nil
	}
	return "That cannot be used: " + fault.Error(), nil
}

// call runs one tool.
func (r *run) call(ctx context.Context, c call) (string, error) {
	i := slices.IndexFunc(r.tools, func(t tool) bool { return t.name == c.Name })
	if i < 0 {
		r.see(agent.Event{Kind: agent.Tool, Tool: brief(c.Name), Text: "there is none"})
		return "", fmt.Errorf("no tool is called %q", brief(c.Name))
	}
	t := r.tools[i]
	r.see(agent.Event{Kind: agent.Tool, Tool: t.name, Text: on(t, c.Input)})
	text, err := t.call(ctx, c.Input)
	if len(text) > maxResult {
		text = strings.ToValidUTF8(text[:maxResult], "") + "\n(cut here: ask for less)"
	}
	return text, err
}

// on returns the object of a tool call, for an event.
func on(t tool, input json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(input, &members) == nil {
		if text, ok := members[t.on].(string); ok {
			return text
		}
	}
	return string(input)
}

func (r *run) most() int { return cmp.Or(r.c.cfg.MaxOutputTokens, 8192) }

// ask sends the conversation and reads the answer, of the next endpoint if this one does not answer.
func (r *run) ask(ctx context.Context) (reply, error) {
	for {
		rep, elsewhere, err := r.askOne(ctx)
		if !elsewhere || len(r.rest) == 0 {
			return rep, err
		}
		was, u := r.c.cfg.Model, r.res.Usage
		r.c, r.rest = r.rest[0], r.rest[1:]
		r.res.Model = r.c.cfg.Model
		for i := range r.messages {
			r.messages[i].Raw = nil // in the other endpoint's words
		}
		r.see(agent.Event{Kind: agent.Milestone,
			Text: fmt.Sprintf("%s does not answer, %s is asked; spent so far: %d turns, %d tokens: %v",
				was, r.c.cfg.Model, u.Turns, u.InputTokens+u.OutputTokens, err)})
	}
}

// passing reports whether an error is not the question's or the key's fault, so that another endpoint may
// answer: no connection, no time, too many requests, a failing server, no such model.
func passing(err error) bool {
	no, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		return true
	}
	s := no.Status
	return s == http.StatusTooManyRequests || s == http.StatusRequestTimeout ||
		s == http.StatusNotFound || s >= 500
}

// askOne asks one endpoint. If it is busy, the request is repeated after the time that it asks for.
// elsewhere says that another endpoint may answer.
func (r *run) askOne(ctx context.Context) (rep reply, elsewhere bool, err error) {
	c := r.c
	q := httpapi.Request{
		Method: http.MethodPost, Path: c.speaks.path(c.cfg.BaseURL), Time: askTime,
		JSON: c.speaks.body(question{c.cfg.Model, r.most(), r.messages, r.tools}),
	}
	for try := 1; ; try++ {
		var answer []byte
		err := c.web.Once(ctx, q, &answer)
		if err == nil {
			rep, err := c.speaks.read([]byte(c.hide(string(answer))))
			if err != nil {
				return rep, false, sysexit.With(sysexit.Unavailable, agent.Fail(agent.ToolError, err))
			}
			return rep, false, nil
		}
		if ctx.Err() != nil {
			return reply{}, false, ctx.Err()
		}
		wait, again := c.again(err, try)
		if !again {
			return reply{}, passing(err), c.refusal(err)
		}
		r.see(agent.Event{Kind: agent.Milestone,
			Text: fmt.Sprintf("asked again in %v: %v", wait.Round(time.Second), c.refusal(err))})
		if err := c.web.Sleep(ctx, wait); err != nil {
			return reply{}, false, err
		}
	}
}

// again reports whether and when to repeat a request: if the endpoint is busy, failing or
// unreachable.
func (c *Client) again(err error, try int) (time.Duration, bool) {
	if try >= maxTries {
		return 0, false
	}
	busy, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		return c.web.Backoff(try), true
	}
	// 529 is Anthropic's status for overloaded.
	if s := busy.Status; s != http.StatusTooManyRequests && s != http.StatusRequestTimeout && s < 500 ||
		busy.After > maxWait {
		return 0, false
	}
	return max(busy.After, c.web.Backoff(try)), true
}

// refusal returns an error with the endpoint's message. It removes the key, which some endpoints
// repeat.
func (c *Client) refusal(err error) error {
	no, ok := errors.AsType[*httpapi.Error](err)
	if !ok {
		if hidden := c.hide(err.Error()); hidden != err.Error() {
			err = errors.New(hidden)
		}
		return sysexit.With(sysexit.Unavailable, agent.Fail(agent.ToolError, err))
	}
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	var member struct{ Message string }
	text := string(no.Body)
	if json.Unmarshal(no.Body, &said) == nil && len(said.Error) > 0 {
		if text = string(said.Error); json.Unmarshal(said.Error, &member) == nil && member.Message != "" {
			text = member.Message
		}
	}
	err = agent.Failf(agent.ToolError, "status %d: %q", no.Status, brief(c.hide(text)))
	switch {
	case no.Status == http.StatusUnauthorized || no.Status == http.StatusForbidden:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"the key was refused: set $"+cmp.Or(c.cfg.KeyEnv, "the variable of key_env")+
				", or name a key_file of mode 0600")
	case no.Status == http.StatusTooManyRequests || no.Status >= 500:
		return sysexit.With(sysexit.TempFail, err)
	case no.Status == http.StatusNotFound:
		return sysexit.Hint(sysexit.With(sysexit.Config, err),
			"no such model or address: look at model, api and base_url in the configuration")
	}
	return err
}

// hide removes the key from a text, also as JSON may have it. The text is cut only afterwards.
func (c *Client) hide(text string) string {
	if len(c.key) < 4 {
		return text
	}
	return strings.NewReplacer(c.key, "(the key)", strings.ReplaceAll(c.key, "/", `\/`), "(the key)").Replace(text)
}

func brief(text string) string {
	const most = 300
	if text = strings.TrimSpace(text); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
