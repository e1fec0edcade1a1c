package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/toolserver"
)

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
