package thread

// broke is the badge of a thread whose next run waits for budget.
const broke = "budget spent"

// spent makes the thread wait for budget. Its findings are kept.
func (t *Thread) spent(in Input) {
	due := t.awaited()
	if due == "" || due != in.Spent.RunID {
		return
	}
	if t.Status == Escalated && t.InvestigatorReturn != nil {
		t.InvestigatorError = "the longer look: " + in.Spent.Why
		t.validate(in.At, "no budget for a longer look, the shorter one gave a draft")
		return
	}
	if t.inRound() {
		t.InvestigatorReturn = nil
	}
	t.InvestigatorError = in.Spent.Why
	t.Badge = broke
	t.to(in.At, PendingUser, in.Spent.Why)
}

// awaited returns the run that is in progress or due, "" if none is.
func (t *Thread) awaited() string {
	switch {
	case t.inRound() && t.InvestigatorTaskID != nil:
		return *t.InvestigatorTaskID
	case t.Status == AwaitingValidation && t.ValidatorTaskID != nil:
		return *t.ValidatorTaskID
	}
	return ""
}

// Broke returns the run for which t waits for budget, and whether that run is a validation; "" if
// t does not wait.
func (t *Thread) Broke() (runID string, validate bool) {
	switch {
	case t.Status != PendingUser || t.Badge != broke:
		return "", false
	case t.ValidatorTaskID != nil && t.InvestigatorReturn != nil:
		return *t.ValidatorTaskID, true
	case t.InvestigatorTaskID != nil:
		return *t.InvestigatorTaskID, false
	}
	return "", false
}

// resumed continues where the budget ran out.
func (t *Thread) resumed(in Input) {
	const why = "there is budget again"
	runID, validate := t.Broke()
	if runID == "" || runID != in.Resumed.RunID {
		return
	}
	if t.Badge, t.InvestigatorError = "", ""; validate {
		t.to(in.At, AwaitingValidation, why)
		return
	}
	if t.waits() {
		t.begin(in.At, "messages came while it waited for budget")
		return
	}
	id := t.InvestigatorTaskID
	t.investigate(in.At, why)
	t.InvestigatorTaskID = id // a longer investigation stays one
}
