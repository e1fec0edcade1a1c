package dispatch

import (
	"tri/lib/event"
	"tri/lib/thread"
)

// Facts returns what the rules of o.Config and the built-in ones say of an
// event, as a Dispatcher asks them, for who measures or explains them.
func Facts(o Options) (func(e *event.Classified) (*thread.Facts, error), error) {
	r, err := newRules(o.Config, o.Prompts)
	if err != nil {
		return nil, err
	}
	return func(e *event.Classified) (*thread.Facts, error) { return r.facts(e, o) }, nil
}
