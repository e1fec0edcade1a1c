package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tri/lib/agent"
)

// talking runs a script that reads messages from standard input, and says words as the script asks
// for them: by a file `say-KIND`.
func talking(t *testing.T, script string) (res agent.Result, said, heard string, err error) {
	t.Helper()
	c, dir := scripted(t, `say() { touch $D/say-$1; }
take() { read -r l; echo "$l" >>$D/in; u=$(sed 's/.*"uuid":"\([^"]*\)".*/\1/' <<<"$l"); }
life() { echo '{"type":"command_lifecycle","command_uuid":"'$u'","state":"'$1'"}'; }
result() { echo '{"type":"result","subtype":"success","is_error":false,"result":"'$1'","usage":{"input_tokens":5,"output_tokens":7},"total_cost_usd":'$2'}'; }
echo '{"type":"system","subtype":"init","model":"stub","session_id":"s-1"}'
`+script)
	words := make(chan agent.Word)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			names, _ := filepath.Glob(filepath.Join(dir, "say-*")) // the pattern is constant
			for _, name := range names {
				kind := strings.TrimPrefix(filepath.Base(name), "say-")
				switch err := os.Remove(name); {
				case kind == "cancel":
					cancel()
				case err == nil:
					words <- agent.Word{ID: "w-" + kind, Kind: kind, Text: "only " + kind}
				}
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	var ears []string
	res, err = c.Run(ctx, agent.Task{
		Prompt: "where?", Codebase: t.TempDir(), Dir: t.TempDir(),
		SessionID: "11111111-2222-4333-8444-555555555555",
		Words:     words, Heard: func(id, how string) {
			ears = append(ears, strings.TrimPrefix(id, "w-")+" "+how)
		},
	})
	in, _ := os.ReadFile(filepath.Join(dir, "in")) // none if it read nothing
	return res, string(in), strings.Join(ears, ", "), err
}

// TestTakesWords: a word is in the next call of the model, and the run ends with the result.
func TestTakesWords(t *testing.T) {
	res, said, heard, err := talking(t,
		`take; say append; take; life queued; life started; life completed; result done 0.5; cat >/dev/null`)
	if err != nil || res.Text != "done" || heard != "append sent, append taken" ||
		!strings.Contains(said, "only append") || !strings.Contains(said, "where?") {
		t.Errorf("%q, %q, %q, %v", res.Text, said, heard, err)
	}
	if *res.Usage.CostUSD != 0.5 || res.Usage.InputTokens != 5 {
		t.Errorf("%+v", res.Usage)
	}
}

// TestTwoResults: a word that comes with the last answer begins a turn, whose result counts.
func TestTwoResults(t *testing.T) {
	res, _, heard, err := talking(t,
		`take; say append; take; life queued; result first 0.5; sleep 0.1; life started; result second 0.75; life completed; cat >/dev/null`)
	if err != nil || res.Text != "second" || heard != "append sent, append taken" ||
		res.Usage.InputTokens != 10 || *res.Usage.CostUSD != 0.75 {
		t.Errorf("%q, %q, %+v, %v", res.Text, heard, res.Usage, err)
	}
}

// TestCorrection: the call in hand is interrupted, which is not a failure.
func TestCorrection(t *testing.T) {
	res, said, heard, err := talking(t, `take; say redirect; take; take
echo '{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"}'; life started; result done 0.5; cat >/dev/null`)
	if err != nil || res.Text != "done" || heard != "redirect sent, redirect taken" ||
		!strings.Contains(said, `"subtype":"interrupt"`) {
		t.Errorf("%q, %q, %q, %v", res.Text, said, heard, err)
	}
}

// TestCancelled: a run that is no longer wanted is interrupted. It ends with its result, which has what it
// cost, or by a signal if it does not answer; words are not waited for.
func TestCancelled(t *testing.T) {
	for _, tt := range []struct {
		script   string
		tokens   int64
		at, most time.Duration
	}{
		{`take; say append; take; say cancel; take; trap '' TERM
echo '{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","usage":{"input_tokens":5,"output_tokens":7},"total_cost_usd":0.5}'; trap - TERM; sleep 900`,
			5, 0, time.Second},
		{`take; say append; take; say cancel; exec sleep 900`, 0, time.Second, 4 * time.Second},
	} {
		begin := time.Now()
		res, said, _, err := talking(t, tt.script)
		if took := time.Since(begin); !errors.Is(err, context.Canceled) || took < tt.at || took > tt.most {
			t.Errorf("%v after %v", err, took)
		}
		if strings.Contains(said, `"subtype":"interrupt"`) != (tt.tokens > 0) ||
			res.Usage.InputTokens != tt.tokens {
			t.Errorf("%q, %+v", said, res.Usage)
		}
	}
}

// TestSaysNothingOfWords: a version that does not report what becomes of words ends, and no word
// counts as taken.
func TestSaysNothingOfWords(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 100 * time.Millisecond
	res, _, heard, err := talking(t, `take; say append; take; result done 0.5; cat >/dev/null`)
	if err != nil || res.Text != "done" || heard != "append sent" {
		t.Errorf("%q, %q, %v", res.Text, heard, err)
	}
}

// TestFailsWithWords: an error is one whatever was said.
func TestFailsWithWords(t *testing.T) {
	_, _, heard, err := talking(t, `take; say append; take; life started
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"Overloaded"}'; exit 1`)
	if err == nil || !strings.Contains(err.Error(), "529") || heard != "append sent, append taken" {
		t.Errorf("%q, %v", heard, err)
	}
}
