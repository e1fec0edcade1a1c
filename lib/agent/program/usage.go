package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tri/lib/base/sysexit"
	"tri/lib/record/draft"
)

// ledger is the file, beside the program's HOME, with the figures that a program
// told of its session last: what it tells next is the session's again.
const ledger = "session-usage.json"

// earlier is what the program told of the session in a run before this one.
func (r *running) earlier() error {
	if r.task.Dir == "" || r.program.Since == nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.task.Dir, ledger))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.told)
	}
	if err != nil {
		return sysexit.With(sysexit.IO, fmt.Errorf("read what the session took: %w", err))
	}
	return nil
}

// account adds what a turn took to what the run took, and keeps what was told of
// the session.
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
		return sysexit.With(sysexit.IO, fmt.Errorf("keep what the session took: %w", err))
	}
	return nil
}

// soFar is what the run took with the turn under way.
func (r *running) soFar(turn draft.Usage, told bool) draft.Usage {
	if r.program.Since != nil {
		turn = r.program.Since(r.told, turn)
	}
	turn.TokensUnknown = !told
	turn.Turns = max(turn.Turns, 1)
	if r.usage.Turns == 0 {
		return turn
	}
	return plus(r.usage, turn)
}

// plus adds what two turns took. What one of them does not know nobody knows of
// the sum.
func plus(a, b draft.Usage) draft.Usage {
	u := draft.Usage{
		InputTokens: a.InputTokens + b.InputTokens, OutputTokens: a.OutputTokens + b.OutputTokens,
		TokensUnknown: a.TokensUnknown || b.TokensUnknown, Turns: a.Turns + b.Turns,
	}
	if a.CostUSD != nil && b.CostUSD != nil {
		both := *a.CostUSD + *b.CostUSD
		u.CostUSD = &both
	}
	return u
}

// CostSince is for Program.Since: the cost is of the session so far. A smaller
// figure than before can only be of the turn alone, as some versions tell it.
func CostSince(before, turn draft.Usage) draft.Usage {
	if before.CostUSD != nil && turn.CostUSD != nil && *turn.CostUSD >= *before.CostUSD {
		own := *turn.CostUSD - *before.CostUSD
		turn.CostUSD = &own
	}
	return turn
}

// TokensSince is for Program.Since: the tokens are of the session so far.
func TokensSince(before, turn draft.Usage) draft.Usage {
	if turn.InputTokens >= before.InputTokens && turn.OutputTokens >= before.OutputTokens {
		turn.InputTokens -= before.InputTokens
		turn.OutputTokens -= before.OutputTokens
	}
	return turn
}
