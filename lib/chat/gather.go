package chat

import (
	"errors"

	"tri/lib/record/event"
)

// Gathered is what a platform delivered together: it is told that it was taken
// only when all of it is durable.
type Gathered struct {
	Events  []event.Event
	IDs     map[string]bool // identities of Events
	Actions []event.Action
	Done    []func(error) error // tell the platform: nil is a yes
}

// Add adds an event, once for an identity.
func (g *Gathered) Add(e event.Event, id string) {
	if g.IDs == nil {
		g.IDs = map[string]bool{}
	}
	if !g.IDs[id] {
		g.IDs[id] = true
		g.Events = append(g.Events, e)
	}
}

// Commit makes it durable, calls kept, and then tells the platform. failed is what
// kept it from being durable, told what kept the platform from being told.
func (g *Gathered) Commit(to Handler, kept func()) (failed, told error) {
	if len(g.Events) > 0 {
		failed = to.OnEvents(g.Events...)
	}
	for _, a := range g.Actions {
		if failed == nil {
			failed = to.OnAction(a)
		}
	}
	if failed == nil {
		kept()
	}
	for _, done := range g.Done {
		told = errors.Join(told, done(failed))
	}
	return failed, told
}
