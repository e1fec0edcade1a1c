package main

import (
	"errors"
	"os"
	"testing"
	"time"
)

// TestQuick is a little of what needs neither root nor strace nor another clock. The
// programs are those that make has built: it says where.
func TestQuick(t *testing.T) {
	bin := os.Getenv("TRI_BIN")
	if bin == "" {
		t.Skip("TRI_BIN names no folder of programs; make check does")
	}
	for _, tt := range []struct {
		part             string
		rounds, messages int
	}{{"follow", 12, 0}, {"stop", 12, 16}, {"readers", 0, 16}, {"kill", 12, 12}} {
		t.Run(tt.part, func(t *testing.T) {
			t.Parallel()
			o := options{bin: bin, rounds: tt.rounds, messages: tt.messages, seed: 1, chat: "local",
				sandbox: "off", wait: 2 * time.Minute}
			if err := o.absolute(); err != nil {
				t.Fatal(err)
			}
			if err := partOf(tt.part).run(o); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWarp: the edits fit the library of this Go.
func TestWarp(t *testing.T) {
	if _, err := warpOverlay(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// TestClock: what the clock shows goes on from where it was set, at its rate.
func TestClock(t *testing.T) {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	c, err := newClock(t.TempDir(), start, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if now := c.now(); now.Before(start) || now.After(start.Add(10*time.Hour)) {
		t.Errorf("shows %v", now)
	}
	c.jump(-48 * time.Hour)
	if now := c.now(); now.Before(start.Add(-48*time.Hour)) || now.After(start.Add(-24*time.Hour)) {
		t.Errorf("shows %v", now)
	}
	if a, b := c.page.at[0], c.page.at[1]; b.toMono-a.toMono != (b.mono-a.mono)*1000 {
		t.Errorf("setting the clock moved the other one: %+v, %+v", a, b)
	}
}

// TestParts: every part has a size for a turn, and is found by its name.
func TestParts(t *testing.T) {
	for _, p := range parts {
		var o options
		p.size(&o)
		if partOf(p.name) == nil || p.run == nil || p.says == "" {
			t.Errorf("%s is half a part", p.name)
		}
	}
	if partOf("nothing") != nil {
		t.Error("nothing is a part")
	}
}

// TestTooLong: one stage that a busy machine kept waiting is none that stays away.
func TestTooLong(t *testing.T) {
	for _, tt := range []struct {
		away []time.Duration
		bad  bool
	}{
		{nil, true}, {[]time.Duration{1, 2, 20 * time.Second}, false},
		{[]time.Duration{1, 2, time.Minute}, true},
		{[]time.Duration{3 * time.Second, 1, 3 * time.Second}, true},
		{[]time.Duration{2 * time.Second}, false},
	} {
		if err := tooLong(tt.away); (err != nil) != tt.bad {
			t.Errorf("%v: %v", tt.away, err)
		}
	}
}

func TestHarmed(t *testing.T) {
	for text, want := range map[string]bool{"renameat a b: structure needs cleaning": true,
		"renameat a b: input/output error": false} {
		if harmed(errors.New(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	if harmed(nil) {
		t.Error("no error")
	}
}
