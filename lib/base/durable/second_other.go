//go:build !linux

package durable

import "os"

// second is for systems with open file description locks.
func (h *Home) second(string, string) (*os.File, error) { return nil, nil }
