package oauth

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"

	"golang.org/x/oauth2"

	"github.com/quoinhq/quoin/internal/text"
)

// Required is the error of a request that has no effect before a person has signed in.
type Required struct {
	Server string
	// Link is where to sign in; empty if browsers cannot come back to this process, or
	// if the caller is not known.
	Link string
	// Challenge is what the server said.
	Challenge Challenge
}

// Error says what to do.
func (e *Required) Error() string { return "needs sign-in: run quoin mcp login " + e.Server }

// Error is why there is no sign-in, and will not be before an operator has acted.
type Error struct {
	Server string
	Text   string
}

// Error names the server.
func (e *Error) Error() string { return fmt.Sprintf("signing in to %s: %s", e.Server, e.Text) }

// errorf makes an Error.
func (s *Server) errorf(format string, args ...any) *Error {
	return &Error{Server: s.Name, Text: text.Cut(fmt.Sprintf(format, args...), maxErrorText)}
}

// maxErrorText bounds an error that may repeat words of a server, in bytes.
const maxErrorText = 500

// errorCode is what codes of OAuth look like.
var errorCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// codeOf returns an error code as it may be shown.
func codeOf(code string) string {
	if errorCode.MatchString(code) {
		return code
	}
	return "an error without a code"
}

// short returns what may be said of an error of HTTP, JSON or OAuth: no address with a
// query, no body. They may have secrets in them.
func short(err error) error {
	var refused *oauth2.RetrieveError
	var wrapped *url.Error
	var op *net.OpError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return errors.New("it was refused with " + codeOf(refused.ErrorCode))
	case errors.Is(err, errAddress), errors.Is(err, errRedirect), errors.Is(err, errTooLarge):
		for _, known := range []error{errAddress, errRedirect, errTooLarge} {
			if errors.Is(err, known) {
				return fmt.Errorf("it leads to %w", known)
			}
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return errors.New("it took too long")
	case errors.As(err, &op):
		return errors.New("the connection failed: " + text.Cut(text.Printable(op.Err.Error()), 200))
	case errors.As(err, &wrapped):
		return errors.New("the request failed: " + text.Cut(text.Printable(wrapped.Err.Error()), 200))
	}
	return errors.New(text.Cut(text.Printable(err.Error()), 300))
}
