package thread

import (
	"strings"

	"tri/lib/record/decision"
)

// cancelled is the start of the close reason of an item that an operator has ended.
const cancelled = "cancelled by "

// Withdrawn reports whether t was closed because nobody wants its answer: its asker withdrew or deleted the
// question, or an operator cancelled it.
func (t *Thread) Withdrawn() bool {
	return t.CloseReason == withdrew || t.CloseReason == Gone || strings.HasPrefix(t.CloseReason, cancelled)
}

// told applies an operator's word on open work: tell adds to what is asked, redirect replaces it, cancel ends
// the item. Both words begin a cycle, which continues the session of the one before and ends its run.
func (t *Thread) told(d *decision.Record) {
	switch d.Kind {
	case decision.Cancel:
		t.close(d.At, strings.TrimSuffix(cancelled+d.By+": "+d.Note, ": "))
	case decision.Tell, decision.Redirect:
		note, why := d.Note, "the operator added to it"
		if d.Kind == decision.Redirect {
			note, why = "Instead of what was asked: "+d.Note, "the operator redirected it"
		}
		t.Notes = append(t.Notes, Note{By: d.By, At: d.At, Text: note})
		earlier := t.DraftPending
		t.Asked = ""
		t.begin(d.At, why)
		if t.Ordered = true; earlier != nil {
			t.EarlierDraft = *earlier
		}
	}
}
