package main

import (
	"bytes"
	"os"
	"regexp"
)

var classifiedAt = regexp.MustCompile(`"classified_at":"[^"]*"`)

// checkBatch: what a filter said of events live, between kills, is what one run
// says.
func (w *world) checkBatch(fault func(string, ...any), filter []string, in, live string) {
	batch, err := w.command(append(filter, in)...).Output()
	if err != nil {
		fault("%s: %v", filter[0], err)
	}
	said, err := os.ReadFile(w.path(live))
	if err != nil {
		fault("%v", err)
	}
	if !bytes.Equal(classifiedAt.ReplaceAll(said, nil), classifiedAt.ReplaceAll(batch, nil)) {
		fault("live and batch of %s differ", filter[0])
	}
}

func (w *world) checkClassified(fault func(string, ...any)) {
	w.checkBatch(fault, []string{"tri-classify", "--config", w.configFile()}, w.classified(),
		"events-classified.ndjson")
}

func (w *world) checkThreaded(fault func(string, ...any)) {
	w.checkBatch(fault, []string{"tri-thread"}, w.path("events.ndjson"), "events-threaded.ndjson")
}

func (w *world) checkTurned(fault func(string, ...any)) {
	w.checkBatch(fault, []string{"tri-turn"}, w.threaded(), "events-turns.ndjson")
}

// thread does what a last kill left undone: nobody in the pipe waited for it.
func (w *world) thread(fault func(string, ...any)) {
	for _, args := range [][]string{
		{"tri-thread", "--out", w.path("events-threaded.ndjson"), w.path("events.ndjson")},
		{"tri-turn", "--out", w.classified(), w.threaded()},
	} {
		if out, err := w.command(args...).CombinedOutput(); err != nil {
			fault("%s: %v: %s", args[0], err, out)
		}
	}
}
