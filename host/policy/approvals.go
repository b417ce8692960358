package policy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// The reasons for which an approval is not returned or not decided. Match with
// errors.Is.
var (
	ErrNotFound   = errors.New("no such approval")
	ErrCorrupt    = errors.New("approval is damaged or was not written by this installation")
	ErrFull       = errors.New("too many approvals are pending")
	ErrDecided    = errors.New("approval has been decided otherwise")
	ErrExpired    = errors.New("approval has expired: no one decided in time, so the call was denied")
	ErrCancelled  = errors.New("approval was cancelled: its run has ended")
	ErrNotAllowed = errors.New("decision is not one that the approval allows")
)

// Limits of a store that sets no limits of its own.
const (
	DefaultMaxPending = 1000
	// retention is how long a decided approval is kept. A second decision then
	// gets ErrDecided, and a run that was suspended by then finds the answer.
	retention = 24 * time.Hour
)

// Approvals is a store of approvals and grants. All methods are safe for
// concurrent use. What is returned belongs to the caller. Pass a person's
// decision to Decide, not to Resolve.
type Approvals interface {
	// Add stores a pending approval. It answers ErrFull when too many are.
	Add(ctx context.Context, a *Approval) error
	// Get returns an approval, or ErrNotFound.
	Get(ctx context.Context, id string) (*Approval, error)
	// List returns every approval, oldest first, and leaves out what it cannot
	// read.
	List(ctx context.Context) ([]*Approval, error)
	// Resolve ends the waiting of an approval. The first resolution counts: the
	// approval returned is as that one left it. A store that several machines share goes by
	// its own clock if that is behind the clock of the caller: what is to expire stays pending
	// until its time is over by that one, too.
	Resolve(ctx context.Context, id string, r Resolution) (*Approval, error)
	// Watch returns a channel that receives after approvals may have been
	// resolved, by any process, until ctx ends. Receives are not counted: one may
	// stand for several resolutions or for no resolution.
	Watch(ctx context.Context) <-chan struct{}
	// Remember stores a grant, replacing an equal one.
	Remember(ctx context.Context, g Grant) error
	// Grant returns a grant, or ErrNotFound.
	Grant(ctx context.Context, id string) (*Grant, error)
	// Grants returns every grant, oldest first.
	Grants(ctx context.Context) ([]*Grant, error)
	// Forget removes a grant, or answers ErrNotFound.
	Forget(ctx context.Context, id string) error
	// Sweep expires pending approvals when their time is over, and forgets resolved ones after
	// a day. A store that would hold too many forgets them sooner, and first those without a
	// decision.
	Sweep(ctx context.Context, now time.Time) error
}

// Filter chooses approvals. The zero value chooses the pending ones of all sessions.
type Filter struct {
	// Session chooses the approvals of one session; the agent turn does not count.
	Session *codemode.Session
	// RunID chooses the approvals of one run.
	RunID string
	// Resolved also chooses approvals that are no longer pending.
	Resolved bool
}

// Select returns the approvals in the store that f chooses, oldest first. Pending approvals
// are shown as expired once their time is over.
func Select(ctx context.Context, store Approvals, f Filter, now time.Time) ([]*Approval, error) {
	all, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*Approval, 0, len(all))
	for _, a := range all {
		if a.State == StatePending && !now.Before(a.Expires) {
			a.State = StateExpired
		}
		if a.State != StatePending && !f.Resolved || f.RunID != "" && a.RunID != f.RunID || f.Session != nil && !f.Session.Owns(a.Session) {
			continue
		}
		out = append(out, a.shown())
	}
	return out, nil
}

// byAge sorts approvals oldest first.
func byAge(list []*Approval) {
	slices.SortFunc(list, func(a, b *Approval) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}

// grantsByAge sorts grants oldest first.
func grantsByAge(list []*Grant) {
	slices.SortFunc(list, func(a, b *Grant) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}
