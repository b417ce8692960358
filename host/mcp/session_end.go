package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A server that does not know a session any more answers 404, as the specification has it, or
// refuses each request in its own way. Such a refusal looks like one of a tool that has sessions
// of its own. So a ping over the same session decides: it is refused in the same words only
// where the session is what is missing, and then the call did not run.

// aboutSessions matches the words of a refusal that may be about the session.
var aboutSessions = regexp.MustCompile(`(?i)session|initializ|transport|reconnect`)

// refusalText is how a server refused a request, without its numbers; "" for another failure.
func refusalText(answer *capture, err error) string {
	var status *Error
	var rpc *jsonrpc.Error
	switch {
	case errors.As(answer.refusal(), &status):
		if status.Code != CodeStatus || status.status == http.StatusTooManyRequests { // too many sessions: no session has ended
			return ""
		}
		return digits.ReplaceAllString(status.Message, "")
	case errors.As(err, &rpc) && rpc.Code != codeTransport:
		return fmt.Sprintf("%d ", rpc.Code) + digits.ReplaceAllString(rpc.Message, "")
	}
	return ""
}

// sessionEnded makes e the error of a call that did not run, if the call was refused because
// the session has ended.
func (c *connection) sessionEnded(ctx context.Context, answer *capture, err error, e *Error) *Error {
	text := refusalText(answer, err)
	if c.guard == nil || c.session == nil || c.session.ID() == "" || !aboutSessions.MatchString(text) {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, c.server.CallTimeout)
	defer cancel()
	_, pinged, perr := c.captured(ctx, func(ctx context.Context) (any, error) { return nil, c.session.Ping(ctx, nil) })
	if perr == nil || refusalText(pinged, perr) != text {
		return e
	}
	ended := *e
	ended.Code, ended.Unknown, ended.Retryable, ended.Err = CodeClosed, false, true, errSessionEnded
	ended.Message = "the session has ended: " + e.Message
	c.loseServer(errSessionEnded)
	return &ended
}
