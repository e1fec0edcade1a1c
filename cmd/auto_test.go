package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/base/durable"
	"tri/lib/record/decision"
	"tri/lib/record/outbox"
)

// answer is the result of this test's agent.
const answer = `{"confidence":"high","confidence_reason":"it is one constant","summary_for_orchestrator":"The gateway retries 5 times.","draft_reply":"The retry limit of the gateway is 5: ` + "`const RetryLimit = 5`" + ` in gateway.go:4.","draft_language":"en","evidence_refs":[{"kind":"file","ref":"gateway.go:4","supports_claim":"the limit is 5","quote":"const RetryLimit = 5"}],"proposed_triage_file":null,"open_questions":[],"escalation_requested":false,"escalation_reason":null,"investigator_round":1,"research_notes":"read gateway.go"}`

// TestAutomaticReply: a question of a kind that has earned automatic replies is answered without a
// person; a notice is posted before, by which a person can stop it.
func TestAutomaticReply(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("code/gateway.go",
		"package gateway\n\n// RetryLimit is how often the gateway retries a payment.\nconst RetryLimit = 5\n")
	write("chat/dev", "ben: @tri what is the retry limit of the gateway?\n")
	write("chat/ops", "")
	write("agent", "cat >/dev/null\ncat <<'END'\n"+answer+"\nEND\n")
	config := fmt.Sprintf("sandbox: off\nclassifier: {bot_id: tri}\nchat: {local: {dir: %s/chat}}\nteam: {approvers: [boss]}\ncodebases: [{name: shop, path: %s/code}]\n"+
		"investigator: {agent: exec, command: [sh, %s/agent]}\ngate: {grace_s: 0, chat: {platform: local, chat_id: ops}}\n"+
		"auto_reply: {enabled: %%v, hours: Mon-Sun 00:00-24:00, production: [{name: production, when: production}]}\n", dir, dir, dir)
	write("home/config.yaml", fmt.Sprintf(config, true))
	history(t, filepath.Join(dir, "home"))
	run := func(command string) string {
		t.Helper()
		c := exec.Command("bash", "-o", "pipefail", "-c", command)
		c.Dir, c.Env = dir, append(os.Environ(), "TRI_HOME="+filepath.Join(dir, "home"), "USER=boss")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	const ask = "tri-watch local --once chat --home home | tri-classify | tri-dispatch --once"
	const kinds = `jq -r 'select(.key | contains("old") | not) | .kind' home/decisions.ndjson | tr '\n' ' '`
	said := run(ask)
	if got := run(kinds); got != "offer auto " {
		t.Fatalf("%s\n%s\n%s", got, said, run("jq -c '.validator_return' home/open/*.json; tri-report trust"))
	}
	run("tri-reply --once")
	if dev, ops := run("cat chat/dev"), run("cat chat/ops"); !strings.Contains(dev,
		"The retry limit of the gateway is 5") || !strings.Contains(ops, "Automatic reply") {
		t.Fatalf("dev:\n%s\nops:\n%s", dev, ops)
	}
	run(ask)
	if brief := run("tri-report brief"); !strings.Contains(brief, "1 answered, 1 of them automatically") {
		t.Error(brief)
	}

	// The same question again is answered by an investigation: no person approved the first answer.
	write("chat/qa", "ana: @tri what is the retry limit of the gateway?\n")
	run(ask)
	run("tri-approve undo $(jq -r .key home/open/*.json)")
	run("tri-reply --once")
	run(ask)
	if got, qa := run(kinds), run("cat chat/qa"); got != "offer auto claim offer auto undo " ||
		strings.Contains(qa, "tri >") {
		t.Errorf("%s:\n%s", got, qa)
	}

	// If automatic replies are switched off between the approval and the post, nothing is posted.
	write("chat/eng", "cid: @tri what is the retry limit of the gateway?\n")
	run(ask)
	write("home/config.yaml", fmt.Sprintf(config, false))
	run("tri-reply --once")
	if eng := run("cat chat/eng"); strings.Contains(eng, "tri >") {
		t.Error(eng)
	}
}

// history returns four weeks of drafts that passed and were approved unchanged.
func history(t *testing.T, dir string) {
	t.Helper()
	h, err := durable.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	now, replies := time.Now().UTC(), []byte{}
	for i := range 48 {
		at := now.Add(-time.Duration(i)*14*time.Hour - time.Hour).Format(time.RFC3339)
		text := fmt.Sprint("answer ", i)
		r := decision.Record{Kind: decision.Offer, By: "tri-dispatch", Via: "code", At: at,
			Key: fmt.Sprint("local.old.", i), Cycle: 1, Text: text, DraftSHA256: decision.Sum(text),
			Meta: &decision.Meta{ValidatorVerdict: "pass", InvestigatorRounds: 1}}
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
		r.Kind, r.By, r.Via, r.Meta = decision.Approve, "boss", "terminal", nil
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
		r.Kind, r.Text = decision.Claim, ""
		if _, err := decision.Append(h, r); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(outbox.Reply{Key: r.Key, Cycle: 1, DraftSHA256: r.DraftSHA256,
			Outcome: outbox.Posted, PostedAt: at, ReplyText: text, ApprovedBy: "boss"})
		if err != nil {
			t.Fatal(err)
		}
		replies = append(append(replies, line...), '\n')
	}
	if err := h.Replace("replies.ndjson", replies); err != nil {
		t.Fatal(err)
	}
}
