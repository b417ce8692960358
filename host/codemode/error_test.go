package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
)

// TestErrOfAResult: only a failed Result has an error, and it says what the Result says.
func TestErrOfAResult(t *testing.T) {
	for _, s := range []codemode.Status{codemode.StatusCompleted, codemode.StatusWaiting} {
		if err := (&codemode.Result{Status: s, Reason: codemode.ReasonYield}).Err(); err != nil {
			t.Errorf("a result that is %s has the error %v", s, err)
		}
	}
	r := &codemode.Result{
		Status: codemode.StatusFailed, Error: "too slow", Code: codemode.CodeTimeout, Reason: codemode.ReasonQuota,
		Phase: codemode.PhaseGuest, Dispatched: true, Telemetry: codemode.NewTelemetry(),
	}
	r.Telemetry.CallCount = 3
	err := fmt.Errorf("cell: %w", r.Err())
	var e *codemode.Error
	if !errors.As(err, &e) || e.Code != codemode.CodeTimeout || e.Phase != codemode.PhaseGuest || !e.Dispatched || e.Error() != "too slow" {
		t.Errorf("got %#v", e)
	}
	for _, same := range []*codemode.Error{{Code: codemode.CodeTimeout}, {Code: codemode.CodeTimeout, Reason: codemode.ReasonQuota}} {
		if !errors.Is(err, same) {
			t.Errorf("%v is not %+v", err, same)
		}
	}
	for _, other := range []error{&codemode.Error{Code: codemode.CodeAborted}, &codemode.Error{Code: codemode.CodeTimeout, Reason: codemode.ReasonYield}, context.Canceled} {
		if errors.Is(err, other) {
			t.Errorf("%v is %+v", err, other)
		}
	}
	if d := cmp.Diff(r, e.Result()); d != "" {
		t.Errorf("the result of its error (-want +got):\n%s", d)
	}
}

// TestFailedExplainsAnyError: a model learns of an error of any type.
func TestFailedExplainsAnyError(t *testing.T) {
	cause := errors.New("cause")
	own := codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonShell, codemode.PhaseInput, "send %s", "code")
	own.Err = cause
	if !errors.Is(own, cause) {
		t.Error("the cause is lost")
	}
	r := codemode.Failed(fmt.Errorf("wrapped: %w", own))
	if r.Status != codemode.StatusFailed || r.Error != "send code" || r.Code != codemode.CodeInvalidInput || r.Reason != codemode.ReasonShell {
		t.Errorf("got %+v", r)
	}
	r = codemode.Failed(cause)
	if r.Error != "cause" || r.Code != codemode.CodeInternal || r.Phase != codemode.PhaseHost || r.Telemetry.Sources == nil {
		t.Errorf("got %+v", r)
	}
}

// TestMessagesAreBounded: a message has at most 8 KiB, of whole characters.
func TestMessagesAreBounded(t *testing.T) {
	for n := range 4 {
		s := codemode.BoundMessage(strings.Repeat("a", n) + strings.Repeat("é", 8<<10))
		if len(s) > 8<<10 || !utf8.ValidString(s) || !strings.HasSuffix(s, " [error truncated]") {
			t.Errorf("%d bytes that end in %q", len(s), s[len(s)-24:])
		}
	}
	if s := strings.Repeat("a", 8<<10); codemode.BoundMessage(s) != s {
		t.Error("a message that fits was cut")
	}
}
