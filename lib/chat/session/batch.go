package session

import (
	"errors"

	"tri/lib/chat"
	"tri/lib/record/event"
)

// Batch is what a platform delivered together. The platform is told only when all
// of it is durable.
type Batch struct {
	Events  []event.Event
	IDs     map[string]bool // identities of Events
	Actions []event.Action
	Done    []func(error) error // acknowledge to the platform (nil), or refuse
}

// Add adds an event, once for an identity.
func (b *Batch) Add(e event.Event, id string) {
	if b.IDs == nil {
		b.IDs = map[string]bool{}
	}
	if !b.IDs[id] {
		b.IDs[id] = true
		b.Events = append(b.Events, e)
	}
}

// Commit makes the batch durable, events before actions, calls kept, and then
// acknowledges. failed is why it is not durable, told why the platform could not be
// told.
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
