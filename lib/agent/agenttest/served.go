package agenttest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tri/lib/agent"
	"tri/lib/base/config"
	"tri/lib/base/sandbox/sandboxtest"
)

// toolServer is a tool server in bash, with one tool that reads and one that does not.
const toolServer = `while read -r line; do
id=${line#*\"id\":}; id=${id%%[,\}]*}
case $line in
*'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}';;
*'"tools/list"'*) r='{"tools":[{"name":"erase","inputSchema":{"type":"object"}},{"name":"find","inputSchema":{"type":"object"}}]}';;
*'"tools/call"'*) r='{"content":[{"type":"text","text":"called, '$AGENTTEST_KEY'"}]}';;
*) continue;;
esac
echo '{"jsonrpc":"2.0","id":'$id',"result":'$r'}'
done
`

// goesThrough searches every place where the program may have found the tool server's command, and
// talks to it. The first line of its output is what it found.
const goesThrough = `
at=$( (cat "$HOME/session-new" 2>/dev/null; printf '%s\n' "$@"; find "$HOME" -path "$D" -prune -o -type f -print0 | xargs -0 cat) |
  tr '",[] ' '\n\n\n\n\n' | grep -m1 -A9 '^:door$' | grep -v '^:door$' | grep -m1 .)
helper=/run/tri-sandbox; test -e $helper || helper=tri-sandbox
{ echo "$at"; $helper :door "$at" <$D/asks; } >$D/answers
env >$D/env; grep -rs AGENTTEST_KEY "$HOME" --exclude-dir bench >$D/told
`

// served tests that a program that speaks to tool servers gets only the named tools, whatever its
// own settings allow, and no key.
func served(t *testing.T, s Suite) {
	sandboxtest.Path(t)
	b := newBench(t, s)
	if !agent.CapabilitiesOf(s.Make(t, []string{"bash"}, s.sandbox)).Servers {
		t.Skip("it speaks to none")
	}
	t.Setenv("AGENTTEST_KEY", "key-of-the-server")
	script := filepath.Join(t.TempDir(), "server.sh")
	b.writeAt(script, toolServer)
	b.task.Servers = []config.Server{{Name: "peer", Command: []string{"bash", script},
		Env: []string{"AGENTTEST_KEY"}, Tools: []string{"find"}}}
	b.write("asks", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"erase","arguments":{}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"find","arguments":{}}}
`)
	if _, err := b.run(context.Background(), goesThrough+`cat $D/good`); err != nil {
		t.Fatal(err)
	}
	answers := b.read("answers")
	for _, want := range []string{`"tools":[{"name":"find"`, `"id":3,"error"`, "called, key-of-the-server"} {
		if !strings.Contains(answers, want) {
			t.Errorf("%q is not in %q", want, answers)
		}
	}
	if strings.Count(answers, "called, ") != 1 || strings.Contains(b.read("env"), "key-of-the-server") ||
		b.read("told") != "" {
		t.Errorf("answers %q, told %q", answers, b.read("told"))
	}
}
