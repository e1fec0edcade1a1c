package main

import (
	"os"
	"strings"
	"testing"
)

// TestBudgets: no floor and no program is larger than its budget. Programs are those
// that make has built.
func TestBudgets(t *testing.T) {
	var table strings.Builder
	over, err := run(&table, "../..", os.Getenv("TRI_BIN"), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(over) > 0 {
		t.Errorf("over budget: %v\n%s", over, &table)
	}
}
