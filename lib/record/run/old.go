package run

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"

	"tri/lib/base/durable"
)

// Long runs once had a layout of their own, escalations/<id> with exit.json for result.json and
// return.json for its value. Such a run keeps its place: it is read there, waited for while its
// old runner lives, and restarted there if the runner is gone.
const oldHome = "escalations"

// Folder returns the folder of a run in its home.
func Folder(h *durable.Home, id string) string {
	if old := oldHome + "/" + id; h.Exists(old + "/request.json") {
		return old
	}
	return "runs/" + id
}

// IDs returns the runs of a home, sorted by id.
func IDs(h *durable.Home) ([]string, error) {
	ids, err := h.List("runs")
	if err != nil {
		return nil, err
	}
	old, err := h.List(oldHome)
	ids = append(ids, old...)
	slices.Sort(ids)
	return slices.Compact(ids), err // the dispatcher kept its own results in runs/<id>
}

// oldResult reads exit.json and return.json of the first layout, nil if there is no exit.json yet.
// For a run of the pipeline the dispatcher kept a second result, which has the cycle, the round
// and the agent.
func oldResult(h *durable.Home, id string) (*Result, error) {
	res, err := loadResult(h, oldHome+"/"+id+"/exit.json")
	if err != nil || res == nil {
		return nil, err
	}
	res.Kind = Investigate
	if kept, err := loadResult(h, "runs/"+id+"/result.json"); err != nil {
		return nil, err
	} else if kept != nil {
		res.Cycle, res.Round, res.Agent, res.Model = kept.Cycle, kept.Round, kept.Agent, kept.Model
	}
	if res.Status != Done {
		return res, nil
	}
	res.Value, err = h.ReadFile(oldHome + "/" + id + "/return.json")
	if err == nil && !json.Valid(res.Value) {
		err = errors.New("return.json is not JSON")
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return res, err
}
