package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"tri/lib/base/durable"
)

// published is result.json: the result, and the CRC-32C of the run's other files that nobody
// writes after it.
type published struct {
	Result
	Files map[string]string `json:"files,omitempty"`
}

// fileSums returns the Files of a run's folder.
func fileSums(h *durable.Home, folder string) map[string]string {
	sums := map[string]string{}
	for _, name := range []string{"return.json", StreamName} {
		if crc, err := h.Sum(folder + "/" + name); err == nil {
			sums[name] = crc
		}
	}
	return sums
}

// CheckFiles compares result.json of a run's folder, and the files that it names, with their sums.
// A result of an earlier version has none.
func CheckFiles(h *durable.Home, folder string) error {
	b, err := h.ReadSealed(folder + "/result.json")
	if err != nil {
		return err
	}
	var p struct{ Files map[string]string }
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	for name, want := range p.Files {
		if crc, err := h.Sum(folder + "/" + name); err != nil || crc != want {
			return errors.Join(err, fmt.Errorf("%s: %w", name, durable.ErrChanged))
		}
	}
	return nil
}
