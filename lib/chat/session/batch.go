package session

import (
	"errors"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// Batch holds events that a platform delivered together. They are acknowledged only when all of
// them are durable.
type Batch struct {
	Events  []event.Event
	IDs     map[string]bool // identities of Events
	Actions []event.Action
	Done    []func(error) error // acknowledge to the platform (nil), or refuse
}

// Add appends an event, unless one with the same identity is in the batch.
func (b *Batch) Add(e event.Event, id string) {
	if b.IDs == nil {
		b.IDs = map[string]bool{}
	}
	if !b.IDs[id] {
		b.IDs[id] = true
		b.Events = append(b.Events, e)
	}
}

// Commit stores the events, then the actions, calls kept when all are durable, and then
// acknowledges or refuses the deliveries. failed is the error of storing, told the errors of
// acknowledging.
func (b *Batch) Commit(to chat.Handler, kept func()) (failed, told error) {
	if len(b.Events) > 0 {
		failed = to.OnEvents(b.Events...)
	}
	for _, a := range b.Actions {
		if failed == nil {
			failed = to.OnAction(a)
		}
	}
	if failed == nil {
		kept()
	}
	for _, done := range b.Done {
		told = errors.Join(told, done(failed))
	}
	return failed, told
}
