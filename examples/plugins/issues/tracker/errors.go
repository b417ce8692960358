package tracker

import (
	"fmt"
	"strings"
	"time"
)

// The codes of an [Error].
const (
	CodeNotFound      = "not_found"      // there is no such issue
	CodeConflict      = "conflict"       // the issue has changed since it was read
	CodeInvalidField  = "invalid_field"  // a value is not acceptable; details.fields says which
	CodeInvalidCursor = "invalid_cursor" // the cursor is damaged or belongs to another filter
	CodeAlreadyClosed = "already_closed" // closed before, for another reason
)

// Error is a refusal that the caller can act on.
type Error struct {
	Code    string
	Message string         // one or two sentences for a person or a model
	Details map[string]any // JSON-safe facts: ids, versions, fields
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func notFound(id int64) error {
	return &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("Issue %d does not exist. Use list to find the ids that do.", id),
		Details: map[string]any{"id": id},
	}
}

func conflict(now Issue, read int64) error {
	return &Error{
		Code: CodeConflict,
		Message: fmt.Sprintf("Issue %d is at version %d, but the edit was made against version %d. Get the issue again, look at what changed, and repeat the edit with version %d.",
			now.ID, now.Version, read, now.Version),
		Details: map[string]any{"id": now.ID, "currentVersion": now.Version, "readVersion": read, "updatedAt": now.UpdatedAt.Format(time.RFC3339Nano)},
	}
}

func alreadyClosed(now Issue, reason string) error {
	return &Error{
		Code: CodeAlreadyClosed,
		Message: fmt.Sprintf("Issue %d is already closed as %s and cannot be closed again as %s. Reopen it first with update(id, {version: %d, state: \"open\"}).",
			now.ID, now.CloseReason, reason, now.Version),
		Details: map[string]any{"id": now.ID, "closeReason": now.CloseReason, "currentVersion": now.Version},
	}
}

func changedSince(now Issue) error {
	return &Error{
		Code:    CodeConflict,
		Message: fmt.Sprintf("Issue %d has been edited since and is at version %d, so that nothing is undone. Look at what changed, and edit it with update.", now.ID, now.Version),
		Details: map[string]any{"id": now.ID, "currentVersion": now.Version},
	}
}

func commented(now Issue) error {
	return &Error{
		Code:    CodeConflict,
		Message: fmt.Sprintf("Issue %d has %d comments by now, so it is not withdrawn. Close it instead.", now.ID, now.Comments),
		Details: map[string]any{"id": now.ID, "comments": now.Comments},
	}
}

func noComment(id, comment int64) error {
	return &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("Issue %d has no comment %d. Get the issue to see those that it has.", id, comment),
		Details: map[string]any{"id": id, "comment": comment},
	}
}

func badCursor(why string) error {
	return &Error{Code: CodeInvalidCursor, Message: "The cursor " + why + ". Pass nextCursor of the previous page unchanged, with the same filter, or leave it out to start again."}
}

// A Problem is one field that was refused.
type Problem struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// problems collects everything wrong with one input, so that a caller can mend
// it in one go.
type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	texts := make([]string, len(p))
	for i, one := range p {
		texts[i] = one.Field + " " + one.Problem
	}
	return &Error{
		Code:    CodeInvalidField,
		Message: "Nothing was changed: " + strings.Join(texts, "; ") + ".",
		Details: map[string]any{"fields": []Problem(p)},
	}
}
