package health

import (
	"encoding/json"
	"time"

	"github.com/tidwall/gjson"

	"tri/lib/base/stats"
	"tri/lib/judge/autoreply"
	"tri/lib/record/budget"
	"tri/lib/record/decision"
	"tri/lib/record/notify"
	"tri/lib/record/todo"
	"tri/lib/report/history"
)

// spend reports the cost of today's runs, and whether questions wait because the budget is spent.
func (x *checker) spend() {
	const name = "budget"
	now := x.Now().UTC()
	today := now.Format(time.DateOnly)
	begin := now.Truncate(24 * time.Hour)
	runs, silent, usd := 0, 0, 0.0
	err := history.Recent(x.home, history.SpendLog, "at", begin, func(line []byte) error {
		var e budget.Entry
		if err := json.Unmarshal(line, &e); err != nil || e.Day != today {
			return err
		}
		switch {
		case e.Kind == budget.Reserve && e.Investigates():
			runs++
		case e.Kind == budget.Settle && e.CostUSD == nil:
			silent++
		case e.Kind == budget.Settle:
			usd += *e.CostUSD
		}
		return nil
	})
	refused, why := 0, ""
	if err == nil {
		err = history.Recent(x.home, history.Journal, "at", begin, func(line []byte) error {
			if spent := gjson.GetBytes(line, "spent"); spent.IsObject() {
				refused, why = refused+1, spent.Get("why").String()
			}
			return nil
		})
	}
	switch {
	case err != nil:
		x.failed(name, "", err)
	case refused > 0:
		x.warn(name, "tri-approve list shows them; raise budget in the configuration, or wait for the new day (UTC)", "%d questions found nothing left: %s", refused, why)
	case silent > 0:
		x.warn("spend", "set limits in runs and tokens beside those in money: tri-report cost shows what is known", "%d of today's runs do not report their cost; the others took $%.2f", silent, usd)
	default:
		x.ok(name, "%d investigations today, $%.2f", runs, usd)
	}
}

// lately is the period for which drills are checked.
const lately = 7 * 24 * time.Hour

// drills reports whether the validator passed a planted fault recently.
func (x *checker) drills() {
	const name = "drills"
	all, err := autoreply.Drills(x.home, x.Now().Add(-lately))
	var s stats.Share
	for _, d := range all {
		missed := d.Missed()
		s.Hits, s.N = s.Hits+missed.Hits, s.N+missed.N
	}
	switch {
	case err != nil:
		x.failed(name, "", err)
	case s.Hits > 0:
		x.warn(name, "tri-report trust shows which; try another validator, or your own prompt",
			"%d of %d planted faults passed the validator in 7 days", s.Hits, s.N)
	case s.N > 0:
		x.ok(name, "%d planted faults in 7 days, all caught", s.N)
	}
}

// trusted reports whether enabled automatic replies actually happen.
func (x *checker) trusted() {
	const name = "auto-reply"
	if x.config == nil || !x.config.AutoReply.Enabled {
		return
	}
	policy, err := autoreply.New(x.config)
	if err != nil {
		x.failed(name, "correct auto_reply in the configuration", err)
		return
	}
	book, err := autoreply.Read(x.home, policy, decision.PolicyOf(x.config),
		x.Now().Add(-(autoreply.Weeks+2)*lately))
	if err != nil {
		x.failed(name, "tri-report verify", err)
		return
	}
	if r := book.Report(x.Now()); !r.Open && len(r.Missing) > 0 {
		x.warn(name, "tri-report trust says all that is missing",
			"on, and not earned, so that every draft waits for a person: %s", r.Missing[0])
		return
	}
	x.ok(name, "on, and earned")
}

// fewSignals is the share of failed signals that is not reported.
const fewSignals = 0.1

// signals reports whether the signals that tri-reply is asked for are shown.
func (x *checker) signals() {
	const name = "signals"
	from := x.Now().Add(-24 * time.Hour)
	n, lost, why := 0, 0, ""
	err := history.Recent(x.home, notify.DoneName, "at", from, func(line []byte) error {
		var d notify.Done
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		n++
		if d.Outcome == notify.Refused || d.Outcome == notify.Failed {
			lost, why = lost+1, d.Why
		}
		return nil
	})
	switch {
	case err != nil:
		x.failed(name, "", err)
	case float64(lost) > fewSignals*float64(n):
		x.warn(name, "tri-health with the platform's name looks at the bot's rights there; gate.chat and gate.reactions say where it may", "%d of %d cards and reactions were not shown in 24 h, the last: %s", lost, n, why)
	case n > 0:
		x.ok(name, "%d cards and reactions shown or settled in 24 h", n-lost)
	}
}

// reminders checks whether those whose time has come were shown.
func (x *checker) reminders() {
	l, err := todo.Read(x.home)
	var missed map[string]string
	if err == nil {
		missed, err = l.Missed(x.home, x.Now())
	}
	if err != nil {
		x.failed("reminders", "", err)
	}
	for id, why := range missed {
		x.warn("reminders", "tri-task todo lists them; tri-task todo done "+id+" when it is settled",
			"%d due and not shown, one of them because: %s", len(missed), why)
		break
	}
}
