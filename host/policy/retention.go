package policy

import (
	"cmp"
	"slices"
)

// Programs can ask, cancel and ask again as fast as they run. Approvals that are
// over must therefore be bounded by number as well as by age. Otherwise one program
// would fill the store, and no other could ask.

// Bounds of all approvals, decided ones included, as multiples of the pending
// ones. An approval holds up to 64 KiB of input.
const (
	maxKeptStored = 10
	maxKeptMemory = 2
)

// finishedApproval is an approval that is not pending any more.
type finishedApproval struct {
	id string
	r  Resolution
}

// surplus returns the ids of those to forget so that there is room for some time:
// first those without a decision, then the oldest. A run that still waits for one of
// them asks again.
func surplus(list []finishedApproval, limit int) []string {
	decided := func(o finishedApproval) int { return min(len(o.r.Decision)+len(o.r.Answers), 1) }
	slices.SortFunc(list, func(a, b finishedApproval) int {
		return cmp.Or(cmp.Compare(decided(a), decided(b)), a.r.At.Compare(b.r.At), cmp.Compare(a.id, b.id))
	})
	list = list[:min(len(list), max(limit/2, 1))]
	ids := make([]string, len(list))
	for i, o := range list {
		ids[i] = o.id
	}
	return ids
}
