package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/text"
)

// maxBy bounds the name of who decides, in bytes. More is cut.
const maxBy = 256

// Decide enters a person's decision, which by names for the record. It returns
// the approval as it is then. Deciding again in the same way changes nothing and
// is no error; deciding otherwise is ErrDecided. ErrNotFound, ErrExpired,
// ErrCancelled and ErrNotAllowed say why else a decision does not count.
func Decide(ctx context.Context, store Approvals, id string, d Decision, by string, now time.Time) (*Approval, error) {
	if !slices.Contains(allDecisions, d) {
		return nil, fmt.Errorf("%w: %q is not a decision, expected allow-once, allow-always or deny", ErrNotAllowed, text.Cut(d, 64))
	}
	a, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(a.Allowed, d) {
		return a, fmt.Errorf("%w: %s, expected %s", ErrNotAllowed, d, joined(a.Allowed))
	}
	if a.State == StatePending {
		r := Resolution{State: StateAllowed, Decision: d, By: text.Cut(plain(by), maxBy), At: now}
		switch {
		case !now.Before(a.Expires):
			r = Resolution{State: StateExpired, At: now}
		case d == Deny:
			r.State = StateDenied
		}
		if a, err = store.Resolve(ctx, id, r); err != nil {
			return nil, err
		}
	}
	if err := a.contradicts(d); err != nil || d != AllowAlways {
		return a, err
	}
	// Remember the grant again on a repeated decision: the process that decided
	// first may have died before it did.
	for _, g := range a.grants() {
		if err := store.Remember(ctx, g); err != nil {
			return a, fmt.Errorf("the call is allowed, but not remembered: %w", err)
		}
	}
	return a, nil
}

// contradicts says why d is not what became of a resolved approval.
func (a *Approval) contradicts(d Decision) error {
	switch {
	case a.State == StateExpired:
		return ErrExpired
	case a.State == StateCancelled:
		return ErrCancelled
	case a.Decision != d:
		return fmt.Errorf("%w: %s by %q", ErrDecided, a.Decision, a.By)
	}
	return nil
}

// joined writes decisions for a message.
func joined(ds []Decision) string {
	words := make([]string, len(ds))
	for i, d := range ds {
		words[i] = string(d)
	}
	return strings.Join(words, ", ")
}
