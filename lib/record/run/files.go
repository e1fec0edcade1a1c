package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"tri/lib/base/durable"
)

// fileSums returns the CRC-32C of the files of a run's folder that nobody writes after result.json.
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
	var res Result
	if err := json.Unmarshal(b, &res); err != nil {
		return err
	}
	for name, want := range res.Files {
		if crc, err := h.Sum(folder + "/" + name); err != nil || crc != want {
			return errors.Join(err, fmt.Errorf("%s: %w", name, durable.ErrChanged))
		}
	}
	return nil
}
