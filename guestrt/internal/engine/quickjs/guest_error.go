package quickjs

import (
	"strings"

	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// Bounds of what is kept of a guest's error, in bytes.
const (
	maxErrorName    = 128
	maxErrorMessage = 8 << 10
	maxErrorStack   = 16 << 10
)

// The words of the result contract for what can go wrong in the engine.
const (
	codeInput    = "invalid_input"
	codeTimeout  = "timeout"
	codeMemory   = "memory_limit_exceeded"
	codeInternal = "internal_error"

	reasonSyntax    = "syntax_error"
	reasonException = "guest_exception"

	phaseInput = "input"
	phaseGuest = "guest"
)

// outOfMemory is the message of the engine's own out of memory error.
const outOfMemory = "out of memory"

// guestException is the end of a program by an exception.
func guestException(name, message, stack string) *wire.GuestError {
	return &wire.GuestError{
		Name:    clip([]byte(name), maxErrorName),
		Message: clip([]byte(message), maxErrorMessage),
		Stack:   clip([]byte(stack), maxErrorStack),
		Code:    codeInternal, Reason: reasonException, Phase: phaseGuest,
	}
}

// inputError marks e as an error in the submitted source.
func inputError(e *wire.GuestError) *wire.GuestError {
	if e.Code == codeInternal || e.Code == "" {
		e.Code, e.Reason, e.Phase = codeInput, reasonSyntax, phaseInput
	}
	return e
}

func timeoutError() *wire.GuestError {
	return &wire.GuestError{Message: wire.TextTimeout, Code: codeTimeout, Phase: phaseGuest}
}

func memoryError() *wire.GuestError {
	return &wire.GuestError{Message: "code mode memory limit exceeded.", Code: codeMemory, Phase: phaseGuest}
}

// isOutOfMemory reports whether e looks like the engine's out of memory error.
func isOutOfMemory(e *wire.GuestError) bool {
	return e.Name == "InternalError" && (e.Message == outOfMemory || e.Message == outOfMemory+" in regexp execution")
}

// clip copies at most limit bytes of b, cut at a character, as valid UTF-8.
func clip(b []byte, limit int) string {
	return strings.ToValidUTF8(text.Cut(string(b[:min(len(b), limit+1)]), limit), "\uFFFD")
}
