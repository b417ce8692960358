package agenda

import (
	"fmt"
	"strings"
)

// The codes of an [Error].
const (
	CodeNotFound      = "not_found"      // there is no such event or occurrence
	CodeConflict      = "conflict"       // the event has changed, or the time is taken
	CodeInvalidField  = "invalid_field"  // a value is not acceptable; details.fields says which
	CodeScopeRequired = "scope_required" // a series: say how much of it is meant
	CodeTooMuch       = "too_much"       // the window holds more than one answer may
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
		Message: fmt.Sprintf("Event %d does not exist. Use list to find the ids that do.", id),
		Details: map[string]any{"id": id},
	}
}

func noOccurrence(id int64, key string) error {
	return &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("Event %d has no occurrence %q. Take the start of an item that list returned.", id, key),
		Details: map[string]any{"id": id, "occurrence": key},
	}
}

func conflict(id, current, read int64) error {
	return &Error{
		Code:    CodeConflict,
		Message: fmt.Sprintf("Event %d is at version %d, not at version %d. Nothing was removed; list it again and look at what changed.", id, current, read),
		Details: map[string]any{"id": id, "currentVersion": current, "readVersion": read},
	}
}

func taken(o Occurrence) error {
	return &Error{
		Code:    CodeConflict,
		Message: fmt.Sprintf("The time is taken by event %d, %q, from %s to %s. Nothing was booked; ask freeBusy for free slots.", o.ID, o.Title, o.Start, o.End),
		Details: map[string]any{"id": o.ID, "title": o.Title, "start": o.Start, "end": o.End},
	}
}

func scopeRequired(id int64, why string) error {
	return &Error{
		Code:    CodeScopeRequired,
		Message: fmt.Sprintf("Event %d %s. Nothing was removed; pass scope \"series\", or scope \"occurrence\" together with occurrence.", id, why),
		Details: map[string]any{"id": id, "scopes": []string{ScopeOccurrence, ScopeSeries}},
	}
}

func tooMuch(limit int) error {
	return &Error{
		Code:    CodeTooMuch,
		Message: fmt.Sprintf("The range holds more than %d occurrences. Ask for a shorter one.", limit),
		Details: map[string]any{"limit": limit},
	}
}

func invalid(field, format string, args ...any) error {
	var p problems
	p.add(field, format, args...)
	return p.err()
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
