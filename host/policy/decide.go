package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
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
	if err := a.offers(d); err != nil {
		return a.shown(), err
	}
	r := Resolution{State: StateAllowed, Decision: d, By: text.Cut(plain(by), maxBy), At: now}
	if d == Deny {
		r.State = StateDenied
	}
	if a, err = resolve(ctx, store, a, r); err != nil {
		return nil, err
	}
	if err := a.contradicts(d, nil); err != nil || d != AllowAlways {
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

// AllowEdited is Decide with allow-once, for a call with another input in place of its
// own. The input must fit the schema that the approval shows; that and nothing else is
// what the call is made with. ErrInvalidAnswer says what is wrong with it.
func AllowEdited(ctx context.Context, store Approvals, id string, input json.RawMessage, by string, now time.Time) (*Approval, error) {
	a, err := store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.offers(AllowOnce); err != nil {
		return a.shown(), err
	}
	if err := a.checkEdited(input); err != nil {
		return a.shown(), err
	}
	if digest(input) == a.InputSHA256 {
		return Decide(ctx, store, id, AllowOnce, by, now)
	}
	r := Resolution{State: StateAllowed, Decision: AllowOnce, Input: input, By: text.Cut(plain(by), maxBy), At: now}
	if a, err = resolve(ctx, store, a, r); err != nil {
		return nil, err
	}
	return a.shown(), a.contradicts(AllowOnce, input)
}

// checkEdited says what is wrong with an input that takes the place of the call's own.
func (a *Approval) checkEdited(input json.RawMessage) error {
	switch {
	case len(a.InputSchema) == 0:
		return fmt.Errorf("%w: the input of this call cannot be edited, allow or deny it as it is", ErrNotAllowed)
	case len(input) > maxShownInput:
		return fmt.Errorf("%w: the input has %d bytes, at most %d fit", ErrInvalidAnswer, len(input), maxShownInput)
	case !utf8.Valid(input):
		return fmt.Errorf("%w: the input is not JSON in UTF-8", ErrInvalidAnswer)
	}
	if err := catalog.CheckInput(a.InputSchema, input); err != nil {
		return fmt.Errorf("%w: the input: %w", ErrInvalidAnswer, err)
	}
	return nil
}

// SetInputSchema has the input of the call be one that people may edit. A schema that is
// too large to be kept changes nothing.
func (a *Approval) SetInputSchema(schema json.RawMessage) {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if len(schema) <= maxShownInput && a.Kind == KindTool {
		a.InputSchema = schema
	}
}

// offers says why a decision is not one to choose.
func (a *Approval) offers(d Decision) error {
	switch {
	case len(a.Questions) > 0:
		return fmt.Errorf("%w: the approval asks questions, expected their answers", ErrNotAllowed)
	case d == AllowAlways && grantScope(a.Session) == "" && slices.Contains(a.Allowed, AllowOnce):
		return fmt.Errorf("%w: %s needs a session to be remembered for, and the call names none, as by the header Quoin-Session-Key; expected %s", ErrNotAllowed, d, joined(a.Allowed))
	case !slices.Contains(a.Allowed, d):
		return fmt.Errorf("%w: %s, expected %s", ErrNotAllowed, d, joined(a.Allowed))
	}
	return nil
}

// resolve resolves a pending approval, and expires it instead if its time is over, also by the
// clock of the store.
func resolve(ctx context.Context, store Approvals, a *Approval, r Resolution) (*Approval, error) {
	if a.State != StatePending {
		return a, nil
	}
	if !r.At.Before(a.Expires) {
		expired, err := store.Resolve(ctx, a.ID, Resolution{State: StateExpired, At: r.At})
		if err != nil || expired.State != StatePending {
			return expired, err
		}
	}
	return store.Resolve(ctx, a.ID, r)
}

// contradicts says why d, perhaps with an edited input, is not what became of a resolved
// approval.
func (a *Approval) contradicts(d Decision, edited json.RawMessage) error {
	switch {
	case a.State == StateExpired:
		return ErrExpired
	case a.State == StateCancelled:
		return ErrCancelled
	case a.Decision != d:
		return fmt.Errorf("%w: %s by %q", ErrDecided, a.Decision, a.By)
	case !equalJSON(a.EditedInput, edited):
		return fmt.Errorf("%w: %s with another input by %q", ErrDecided, a.Decision, a.By)
	}
	return nil
}

// equalJSON reports whether two documents are the same but for white space.
func equalJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var one, other bytes.Buffer
	return json.Compact(&one, a) == nil && json.Compact(&other, b) == nil && bytes.Equal(one.Bytes(), other.Bytes())
}

// joined writes decisions for a message.
func joined(ds []Decision) string {
	words := make([]string, len(ds))
	for i, d := range ds {
		words[i] = string(d)
	}
	return strings.Join(words, ", ")
}
