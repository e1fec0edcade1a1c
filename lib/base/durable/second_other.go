//go:build !linux

package durable

import "os"

// second needs open file description locks, which this system lacks.
func (h *Home) second(string, string) (*os.File, error) { return nil, nil }
