package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tri/lib/agent"
	"tri/lib/agent/agenttest"
)

const sessionID = "sess-1"

// TestMain makes the test binary a program that speaks the protocol. The arguments after
// `acp-peer` are the command that it runs when it is prompted, with the prompt as standard input.
// Its output lines are passed on unchanged.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "acp-peer" {
		os.Exit(beProgram(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "acp-scene" {
		scenes[os.Args[2]](&speaker{bufio.NewReader(os.Stdin)})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beProgram(argv []string) int {
	in := bufio.NewReader(os.Stdin)
	var args []string
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		var h struct {
			ID     int
			Method string
			Params struct {
				SessionID          string
				ClientCapabilities struct{ FS struct{ WriteTextFile bool } }
				Prompt             []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &h); err != nil {
			panic(err)
		}
		switch h.Method {
		case "initialize":
			args = append(args, fmt.Sprintf("write=%v", h.Params.ClientCapabilities.FS.WriteTextFile))
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}`+"\n", h.ID)
		case "session/new":
			if err := os.WriteFile(os.Getenv("HOME")+"/session-new", []byte(line), 0o600); err != nil {
				panic(err)
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"sessionId":%q,"models":{"currentModelId":"stub-1"}}}`+"\n", h.ID, sessionID)
		case "session/load":
			args = append(args, h.Params.SessionID)
			fmt.Println(chunk("agent_message_chunk", "what was said long ago: {}"))
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":null}`+"\n", h.ID)
		case "session/prompt":
			return prompted(argv, args, h.Params.Prompt[0].Text)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}`+"\n",
				h.ID)
		}
	}
}

// prompted runs the program's part.
func prompted(argv, args []string, prompt string) int {
	cmd := exec.Command(argv[0], append(argv[1:], args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(prompt), os.Stdout, os.Stderr
	cmd.WaitDelay = 10 * time.Millisecond
	cmd.Run()
	if w := cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

func answered(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn","usage":{"inputTokens":5,"outputTokens":7,"totalTokens":12}}}`+"\n", id)
}

func chunk(kind, text string) string {
	words, _ := json.Marshal(text)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":%q,"content":{"type":"text","text":%s}}}}`, sessionID, kind, words)
}

var newClient = agenttest.Maker(New, func(c *Client) (linger, grace *time.Duration) {
	return &c.Linger, &c.Grace
})

func TestConformance(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Run(t, agenttest.Suite{
		Make: func(t *testing.T, argv []string, sandbox string) agent.Agent {
			if argv[0] != "/nonexistent/agent" {
				argv = append([]string{self, "acp-peer"}, argv...)
			}
			return newClient(t, argv, sandbox)
		},
		Say: func(text string) string {
			first, last := text[:len(text)/2], text[len(text)/2:]
			return chunk("agent_message_chunk", first) + "\n" + chunk("agent_message_chunk", last) + "\n" +
				`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":53,"size":200000,"cost":{"amount":0.5,"currency":"USD"}}}}` + "\n" +
				// the prompt is the third request, or the fourth of a session that was loaded
				answered(3) + answered(4)
		},
		Act: func(thought, tool, file string) string {
			return chunk("agent_thought_chunk", thought) + "\n" +
				fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"1","kind":%q,"title":%q}}}`, tool, file) + "\n"
		},
		Tokens: true, Cost: true,
	})
}
