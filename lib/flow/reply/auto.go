package reply

import (
	"tri/lib/record/decision"
	"tri/lib/record/notify"
)

// holdAuto keeps an automatic reply from being posted late, or before it was announced: its card must be
// in the operators' channel.
func (p *poster) holdAuto(j *job) (bool, error) {
	switch {
	case !j.st.Automatic():
		return false, nil
	case j.st.Lapsed(p.Now()):
		p.Say("%s: the automatic yes is too old; it waits for a person", j.st.Key)
		p.drop(j)
		return true, nil
	}
	id, told := notify.OfAuto(decision.ID(j.st.Key, j.st.Cycle, j.offer().DraftSHA256)), false
	_, err := notify.Told(p.Home, 0, func(d notify.Done) error {
		told = told || d.ID == id && d.Outcome == notify.Shown
		return nil
	})
	if err != nil || told {
		return false, err
	}
	p.later(j)
	return true, nil
}
