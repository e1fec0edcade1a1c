package program

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/base/durable"
	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// ledger is the file, beside the program's HOME, that holds the program's last report of session
// totals. Its next report includes them.
const ledger = "session-usage.json"

// earlier loads the session totals that an earlier run reported.
func (r *running) earlier() error {
	if r.task.Dir == "" || r.program.Since == nil {
		return nil
	}
	text, err := durable.ReadPath(filepath.Join(r.task.Dir, ledger))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.told)
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "read what the session took: %w", err)
	}
	return nil
}

// account adds a turn's usage to the run's, and saves the reported session totals.
func (r *running) account(s *Seen) error {
	r.usage = r.soFar(s.Usage, s.Told)
	if s.Told {
		r.told.InputTokens, r.told.OutputTokens = s.Usage.InputTokens, s.Usage.OutputTokens
	}
	if s.Usage.CostUSD != nil {
		r.told.CostUSD = s.Usage.CostUSD
	}
	if r.task.Dir == "" || r.program.Since == nil {
		return nil
	}
	text, err := json.Marshal(r.told)
	file := filepath.Join(r.task.Dir, ledger)
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return sysexit.Errorf(sysexit.IO, "keep what the session took: %w", err)
	}
	return nil
}

// soFar returns the run's usage including the turn in progress.
func (r *running) soFar(turn draft.Usage, told bool) draft.Usage {
	if r.program.Since != nil {
		turn = r.program.Since(r.told, turn)
	}
	turn.TokensUnknown = !told
	turn.Turns = max(turn.Turns, 1)
	if r.usage.Turns == 0 {
		return turn
	}
	return r.usage.Plus(turn)
}

// CostSince is a Program.Since for programs that report the session's cost so far. A smaller
// figure than before is taken as the turn's own, since some versions report that.
func CostSince(before, turn draft.Usage) draft.Usage {
	if before.CostUSD != nil && turn.CostUSD != nil && *turn.CostUSD >= *before.CostUSD {
		own := *turn.CostUSD - *before.CostUSD
		turn.CostUSD = &own
	}
	return turn
}

// TokensSince is a Program.Since for programs that report the session's tokens so far.
func TokensSince(before, turn draft.Usage) draft.Usage {
	if turn.InputTokens >= before.InputTokens && turn.OutputTokens >= before.OutputTokens {
		turn.InputTokens -= before.InputTokens
		turn.OutputTokens -= before.OutputTokens
	}
	return turn
}
