package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tri/lib/agent"
	"tri/lib/agent/search"
	"tri/lib/report/faults"
)

// goodReturns reads the returns written by hand and has search answer the
// questions that are kept for it.
func goodReturns(dir string, dirs map[string]string) ([]*trial, error) {
	var all []*trial
	finder := search.New()
	for _, half := range halves {
		for _, name := range []string{"hand-" + half, "pair-" + half, "pair-" + half + "2",
			"pair-" + half + "3", "pair-" + half + "4", "pair-" + half + "5"} {
			written, err := writtenReturns(dir, name, half, dirs)
			if err != nil {
				return nil, err
			}
			all = append(all, written...)
		}
		err := eachLine(filepath.Join(dir, "questions-"+half+".ndjson"), func(line []byte) error {
			var q struct{ ID, Codebase, Question string }
			if err := json.Unmarshal(line, &q); err != nil {
				return err
			}
			res, err := finder.Run(context.Background(),
				agent.Task{Question: q.Question, Codebase: dirs[q.Codebase]})
			if errors.Is(err, agent.ErrNothing) {
				return nil
			}
			if err != nil {
				return err
			}
			t := &trial{Record: faults.Record{Key: q.ID}, half: half, maker: "search", dir: dirs[q.Codebase]}
			if err := json.Unmarshal(res.Value, &t.Record); err != nil {
				return err
			}
			t.Question = q.Question
			all = append(all, t)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i, t := range all {
		// Beside each stands a thread about something else.
		t.Others = []faults.Other{{Key: "local.drill.far",
			Summary: all[(i+len(all)/2)%len(all)].SummaryForOrchestrator}}
	}
	return all, nil
}

// writtenReturns reads a file of those that a person wrote; it need not be there.
func writtenReturns(dir, name, half string, dirs map[string]string) ([]*trial, error) {
	var all []*trial
	maker, _, _ := strings.Cut(name, "-")
	file := filepath.Join(dir, name+".ndjson")
	if _, err := os.Stat(file); err != nil {
		return nil, nil
	}
	err := eachLine(file, func(line []byte) error {
		var r struct {
			ID, Codebase string
			faults.Record
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		r.Key = r.ID
		switch {
		case dirs[r.Codebase] != "":
		case strings.HasPrefix(r.Codebase, pythonic):
			return nil // it is not installed here
		default:
			return fmt.Errorf("%s: no codebase %q", r.ID, r.Codebase)
		}
		all = append(all, &trial{Record: r.Record, half: half, maker: maker, dir: dirs[r.Codebase]})
		return nil
	})
	return all, err
}

func eachLine(file string, do func([]byte) error) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		if err := do(line); err != nil {
			return fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return nil
}
