package host

import "errors"

// Error is why the host refuses a call before any program runs. Message is
// written for whoever made the mistake, which is a model more often than not: it
// says what to send instead.
type Error struct {
	Code    Code
	Reason  Reason
	Phase   Phase
	Message string
}

func (e *Error) Error() string { return e.Message }

// Is compares codes, and the reason where target has one.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && e.Code == t.Code && (t.Reason == "" || e.Reason == t.Reason)
}

// public is f for callers outside of this package.
func (f *failure) public() *Error {
	return &Error{Code: f.Code, Reason: f.Reason, Phase: f.Phase, Message: boundError(f.Text)}
}

// Refused returns the Result that tells a model of err, such as one of ParseExec.
// What is not an *Error becomes internal_error.
func (h *Host) Refused(err error) *Result {
	var e *Error
	if !errors.As(err, &e) {
		return h.refused(failf(CodeInternal, "", PhaseHost, "%v", err))
	}
	return h.refused(&failure{Code: e.Code, Reason: e.Reason, Phase: e.Phase, Text: e.Message})
}
