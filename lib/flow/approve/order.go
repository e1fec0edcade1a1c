package approve

import (
	"cmp"
	"slices"
	"strings"

	"tri/lib/base/text"
	"tri/lib/record/decision"
	"tri/lib/record/draft"
)

// order sorts the items and gives all of them distinct IDs.
func order(items []*Item) []*Item {
	slices.SortStableFunc(items, func(a, b *Item) int {
		return cmp.Or(a.urgency()-b.urgency(), text.ParseTime(a.Since).Compare(text.ParseTime(b.Since)),
			strings.Compare(a.Key, b.Key))
	})
	var names []string
	for _, it := range items {
		it.full = decision.Name(it.Key, it.Cycle, it.DraftSHA256, it.Post)
		names = append(names, it.full)
	}
	slices.Sort(names)
	length := idLength
	for i := range names[min(1, len(names)):] {
		for length < len(names[i]) && names[i][:length] == names[i+1][:length] {
			length++
		}
	}
	for _, it := range items {
		it.ID = it.full[:length]
	}
	return items
}

// urgency is an item's place in the order of reading, from 0: what only a person can continue; drafts
// with a fault that a check found, an unanswered question or an alert; drafts that the checks do not cover,
// or of low confidence; other drafts; investigations without a draft; drafts that are not offered;
// items that do not wait.
func (it *Item) urgency() int {
	t := it.thread
	switch {
	case !it.Waits():
		return 9
	case it.Kind == Ask || it.Kind == Parked || it.Kind == Damaged:
		return 0
	case it.Kind == Failure:
		return 4
	case it.Kind == Shadow:
		return 5
	case t == nil:
		return 3
	}
	v := t.ValidatorReturn
	switch {
	case v != nil && v.Objects() || len(t.NotAnswered) > 0 || len(t.Alerts) > 0:
		return 1
	case v == nil || !v.Sure() || it.Confidence == draft.Low:
		return 2
	}
	return 3
}
