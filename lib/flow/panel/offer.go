package panel

import (
	"errors"
	"fmt"

	"tri/lib/base/config"
	"tri/lib/base/sysexit"
	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/discussion"
)

// Offer asks people, through the decision log, for the proposals of all discussions about issues of the
// configured project, each once. tri-reply does what is approved.
func (k *Keeper) Offer() error {
	forge := k.Config.Forge
	if !forge.Issues {
		return sysexit.Hint(sysexit.With(sysexit.Config, errors.New("offer: forge.issues is not set")),
			"set forge.kind, project and issues: true in config.yaml; tri-reply then acts as people approve")
	}
	state, err := decision.Fold(k.Home, decision.PolicyOf(k.Config), nil)
	if err != nil {
		return err
	}
	return discussion.Each(k.Home, func(d *discussion.Discussion) error {
		r := d.Offer(config.PlatformForge, forge.Project)
		if r == nil || state.Standing(r.Key) != nil {
			return nil
		}
		r.At = text.Timestamp(k.Now())
		done, err := decision.Append(k.Home, *r)
		if err != nil {
			return err
		}
		state.Add(done)
		_, err = fmt.Fprintf(k.Out, "%s\t%s\n", r.Key, text.Line(r.Text, 100))
		return sysexit.With(sysexit.IO, err)
	})
}
