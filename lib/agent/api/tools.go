package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/toolserver"
	"tri/lib/base/sysexit"
	"tri/lib/judge/codebase"
	"tri/lib/judge/evidence"
)

// tool is a tool that the model can call.
type tool struct {
	name        string
	description string
	schema      json.RawMessage
	on          string // the input member that an event shows
	call        func(ctx context.Context, input json.RawMessage) (string, error)
}

// answerTool is the tool by which the model returns the value.
const answerTool = "answer"

// reading returns the built-in tools for the task's allowed tools.
func reading(tree *codebase.Tree, repo evidence.Repo, abilities []string) ([]tool, error) {
	var tools []tool
	for _, ability := range abilities {
		switch ability {
		case "Read":
			tools = append(tools, readTool(tree), logTool(tree, repo))
		case "Grep":
			tools = append(tools, grepTool(tree))
		case "Glob":
			tools = append(tools, globTool(tree), listTool(tree))
		case "Bash": // there is no shell here
		default:
			return nil, sysexit.Errorf(sysexit.Software, "there is no tool %q", ability)
		}
	}
	return tools, nil
}

// with returns the call of a tool that is given a T. The input is read strictly: an invented member must not
// be silently ignored.
func with[T any](do func(context.Context, T) (string, error)) func(context.Context, json.RawMessage) (string,
	error) {
	return func(ctx context.Context, raw json.RawMessage) (string, error) {
		var in T
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return "", fmt.Errorf("input: %w", err)
		}
		return do(ctx, in)
	}
}

func readTool(tree *codebase.Tree) tool {
	return tool{
		name: "read_file", on: "path",
		description: fmt.Sprintf("Lines of a text file, each behind its number and a tab; at most %d at once.", codebase.MaxLines),
		schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path"],"properties":{
			"path":{"type":"string"},"from":{"type":"integer","minimum":1,"description":"the first line; default 1"},
			"lines":{"type":"integer","minimum":1,"description":"how many lines"}}}`),
		call: with(func(_ context.Context, in struct {
			Path        string
			From, Lines int
		}) (string, error) {
			return tree.Lines(in.Path, in.From, in.Lines)
		}),
	}
}

// maxCommits is the number of commits that git_log lists.
const maxCommits = 30

func logTool(tree *codebase.Tree, repo evidence.Repo) tool {
	return tool{
		name: "git_log", on: "path",
		description: fmt.Sprintf("The newest commits that changed a file or folder, or lines of a file: "+
			"id, date, author, subject; at most %d.", maxCommits),
		schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"path":{"type":"string","description":"default all"},
			"from":{"type":"integer","minimum":1,"description":"the first line, as HEAD numbers them"},
			"to":{"type":"integer","minimum":1,"description":"the last line; default the first"}}}`),
		call: with(func(ctx context.Context, in struct {
			Path     string
			From, To int
		}) (string, error) {
			name, err := tree.Name(in.Path)
			if err != nil {
				return "", err
			}
			if in.From < 0 || in.To < 0 || in.To > 0 && in.To < in.From {
				return "", fmt.Errorf("lines %d to %d: give from, and to not before it", in.From, in.To)
			}
			if in.From > 0 && in.To == 0 {
				in.To = in.From
			}
			return lines(repo.Changed(ctx, name, max(in.From, 1), in.To, maxCommits))
		}),
	}
}

func grepTool(tree *codebase.Tree) tool {
	return tool{
		name: "grep", on: "pattern",
		description: "Lines that match a regular expression (RE2), as path:line: text.",
		schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
			"pattern":{"type":"string"},"path":{"type":"string","description":"a file or folder; default all"},
			"glob":{"type":"string","description":"only files whose name matches, as *.go or src/**/*.ts"},"ignore_case":{"type":"boolean"}}}`),
		call: with(func(ctx context.Context, in struct {
			Pattern, Path, Glob string
			IgnoreCase          bool `json:"ignore_case"`
		}) (string, error) {
			return lines(tree.Grep(ctx, codebase.Query{Pattern: in.Pattern, Path: in.Path, Glob: in.Glob,
				IgnoreCase: in.IgnoreCase}))
		}),
	}
}

func globTool(tree *codebase.Tree) tool {
	return tool{
		name: "glob", on: "pattern",
		description: "Names of files that match a pattern, as *.go or src/**/*.ts.",
		schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
			"pattern":{"type":"string"},"path":{"type":"string","description":"the folder to look below; default all"}}}`),
		call: with(func(ctx context.Context, in struct{ Pattern, Path string }) (string, error) {
			return lines(tree.Glob(ctx, in.Pattern, in.Path))
		}),
	}
}

func listTool(tree *codebase.Tree) tool {
	return tool{
		name: "list", on: "path", description: "What a folder has; folders end in /.",
		schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"default the root"}}}`),
		call: with(func(_ context.Context, in struct{ Path string }) (string, error) {
			return lines(tree.List(in.Path))
		}),
	}
}

func lines(found []string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "(nothing)", nil
	}
	return strings.Join(found, "\n"), nil
}

// answering returns the tool whose input is the value, nil if no value is wanted. Its schema is
// the task's without "$schema" and "$id", which not every endpoint accepts.
func answering(schema []byte) ([]tool, error) {
	if schema == nil {
		return nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(schema, &members); err != nil {
		return nil, sysexit.Errorf(sysexit.Software, "schema: %w", err)
	}
	delete(members, "$schema")
	delete(members, "$id")
	plain, err := json.Marshal(members)
	if err != nil {
		return nil, sysexit.Errorf(sysexit.Software, "schema: %w", err)
	}
	return []tool{{
		name: answerTool, description: "Give the answer. Its input is what is wanted back.", schema: plain,
		call: func(context.Context, json.RawMessage) (string, error) { return "", errors.New("is not run") },
	}}, nil
}

// serve connects to the task's servers and returns their tools: only those that the configuration
// allows. A server that does not answer is reported and left out.
func (r *run) serve(ctx context.Context) (tools []tool, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	at := toolserver.Place{Dir: r.task.Dir, Sandbox: r.c.sandbox, Read: r.c.cfg.Read, Hold: r.task.Hold}
	for _, s := range r.task.Servers {
		peer, err := toolserver.Connect(ctx, at, s)
		if ctx.Err() != nil {
			return nil, end, ctx.Err()
		}
		if err != nil {
			r.see(agent.Event{Kind: agent.Milestone,
				Text: fmt.Sprintf("tool server %s is left out: %v", s.Name, err)})
			continue
		}
		ends = append(ends, peer.Close)
		faults := peer.Faults
		for _, t := range peer.Tools {
			made, err := wrap(s.Name, peer, t)
			if err != nil {
				faults = append(faults, err)
				continue
			}
			tools = append(tools, made)
		}
		for _, fault := range faults {
			r.see(agent.Event{Kind: agent.Milestone, Text: fault.Error()})
		}
	}
	return tools, end, nil
}

// wrap makes a tool of a server's tool.
func wrap(server string, peer *toolserver.Peer, t toolserver.Tool) (tool, error) {
	name := "mcp__" + server + "__" + strings.ReplaceAll(t.Name, ".", "_")
	if len(name) > 64 {
		return tool{}, fmt.Errorf("tool %s of server %s is left out: its name is too long",
			brief(t.Name), server)
	}
	return tool{name: name, description: t.Description, schema: t.Schema,
		call: func(ctx context.Context, input json.RawMessage) (string, error) {
			text, failed, err := peer.Call(ctx, t.Name, input)
			if failed {
				err = errors.New(brief(text))
			}
			return text, err
		}}, nil
}
