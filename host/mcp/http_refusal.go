package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/oauth"
	"github.com/quoinhq/quoin/host/internal/openapi"
)

// errSessionEnded is the end of a session that the server does not know any more. The
// request that found out did not run.
var errSessionEnded = errors.New("the session has ended")

// permanentError is why a server cannot be used until someone has changed something.
type permanentError struct {
	err  error
	told string // the same for programs: nothing of this machine
}

// Error says why, and what helps.
func (e *permanentError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *permanentError) Unwrap() error { return e.err }

// permanent returns what programs are told of an error that waiting does not mend; "" for
// other errors.
func permanent(err error) string {
	var p *permanentError
	if errors.As(err, &p) {
		return p.told
	}
	return ""
}

// maxRefusalText is how much of the body of a refusal an error repeats.
const maxRefusalText = 500

// refusalOf is what an answer that is not 2xx says.
func refusalOf(resp *http.Response, body []byte) *Error {
	e := statusRefusal(resp.StatusCode, bounded(string(body), maxRefusalText), retryAfter(resp.Header))
	help := map[int]struct{ text, told string }{
		http.StatusUnauthorized:     {"check the header Authorization in its headers", "it does not accept the credentials of this host"},
		http.StatusForbidden:        {"check what its credentials may do", "it does not let this host in"},
		http.StatusNotFound:         {"check its url: many servers are at a path such as /mcp", "there is no MCP server at its address"},
		http.StatusMethodNotAllowed: {"check its url: many servers are at a path such as /mcp", "there is no MCP server at its address"},
		http.StatusGone:             {"check its url", "there is no MCP server at its address any more"},
	}[resp.StatusCode]
	if help.text != "" {
		e.Err = &permanentError{fmt.Errorf("%s; %s", e.Message, help.text), help.told}
	}
	return e
}

// statusRefusal is the error of a request that was answered with a status that is not 2xx.
func statusRefusal(status int, body, retryAfter string) *Error {
	e := &Error{Code: CodeStatus, status: status, Message: fmt.Sprintf("HTTP status %d %s", status, http.StatusText(status))}
	details := map[string]any{"status": status, "body": body}
	if body = strings.TrimSpace(body); body != "" {
		e.Message += ": " + body
	}
	if seconds, ok := retrySeconds(retryAfter); ok {
		details["retryAfterSeconds"] = seconds
		e.Message += fmt.Sprintf("; try again after %d s", seconds)
	}
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		e.Retryable = true
	default:
		e.Unknown = status < 400 || status >= 500 || status == http.StatusRequestTimeout
	}
	e.Details, _ = json.Marshal(details) // texts and numbers always can be encoded
	return e
}

// retryAfter returns when to try again, as many servers say it, as a header Retry-After.
func retryAfter(h http.Header) string {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return fmt.Sprint(ms / 1000)
	}
	return h.Get("Retry-After")
}

// retrySeconds reads a header Retry-After, which has seconds or a date.
func retrySeconds(header string) (int, bool) {
	const most = 24 * 60 * 60
	if n, err := strconv.ParseFloat(strings.TrimSpace(header), 64); err == nil && n >= 0 { // no number is not more
		return int(math.Ceil(min(n, most))), true
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return int(clampTo(time.Until(at)+time.Second-1, 0, most*time.Second) / time.Second), true
}

// refuse looks at the answer to a message that is not 2xx. Where a call waits for it, it
// becomes the failure of that call, so that other calls of the connection continue.
func (g *guard) refuse(r *http.Request, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOtherBody))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		body = fmt.Appendf(body, " (%v)", err) // its status says enough
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	refused := refusalOf(resp, body)
	answer, why := captureOf(r.Context()), saysWhy(r, resp.StatusCode, body)
	switch {
	case answer == nil:
		g.refuseOwn(cmp.Or[error](g.olderTransport(r, resp.StatusCode), refused.Err, refused))
		return nil
	case forgets(r, resp.StatusCode):
		refused = &Error{Code: CodeClosed, Message: "the session has ended: " + refused.Message, Retryable: true, Details: refused.Details, Err: errSessionEnded}
		answer.refuse(refused) // before the end of the connection ends the call
		g.gone(errSessionEnded)
	case why != nil:
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK" // else the SDK may tell the status alone
		resp.Body = io.NopCloser(bytes.NewReader(why))
		return g.boundJSON(r, resp)
	}
	answer.refuse(refused)
	return replaceAnswer(r, resp, refused)
}

// refuseOwn keeps why the last message of no call was refused: the SDK does not say.
func (g *guard) refuseOwn(err error) { g.refused.Store(&err) }

// refusePage refuses a web page in place of an answer.
func (g *guard) refusePage(r *http.Request, resp *http.Response, kind string) error {
	refused := webPage(kind)
	if answer := captureOf(r.Context()); answer != nil {
		answer.refuse(&Error{Code: CodeInvalidReply, Message: refused.Error() + ".", Unknown: true, Err: refused})
	} else {
		g.refuseOwn(refused)
	}
	return errors.Join(resp.Body.Close(), replaceAnswer(r, resp, refused))
}

// forgets reports whether an answer says by its status that the server does not know the
// session.
func forgets(r *http.Request, status int) bool {
	return r.Header.Get("Mcp-Session-Id") != "" && (status == http.StatusNotFound || status == http.StatusGone)
}

// olderTransport returns an error if a server that refuses initialize with a status offers the
// transport of version 2024-11-05: its address takes no messages, and answers GET with events.
func (g *guard) olderTransport(r *http.Request, status int) error {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
	default:
		return nil
	}
	if q, err := requestOf(r); err != nil || q.Method != methodInitialize {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.probeTimeout)
	defer cancel()
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL.String(), nil)
	if err != nil {
		return nil
	}
	get.Header.Set("Accept", "text/event-stream")
	resp, err := g.exchange(get)
	if err != nil {
		return nil // it says nothing of a transport
	}
	_ = resp.Body.Close() // its head is enough
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		return nil
	}
	return &permanentError{
		errors.New("its url is an address of the older transport HTTP+SSE, which Quoin does not speak: ask for its url of streamable HTTP, often with /mcp in place of /sse"),
		"it speaks an older transport at its address",
	}
}

// replaceAnswer puts the failure of a call in place of its answer.
func replaceAnswer(r *http.Request, resp *http.Response, refused error) error {
	text, err := failureOf(r, refused)
	if err != nil {
		return err
	}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header = http.Header{"Content-Type": {"application/json"}}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// follow lets a client follow a redirect that keeps the method within the origin, such as
// from /mcp to /mcp/. Others would carry the configured headers to another address, or lose
// the message.
func (g *guard) follow(r *http.Request, via []*http.Request) error {
	const most = 3
	if first := via[0]; len(via) <= most && r.Method == first.Method && openapi.SameOrigin(r.URL, first.URL) {
		return nil
	}
	to := *r.URL
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	err := &permanentError{fmt.Errorf("it redirects to %s, which is not followed; if that address is right, make it its url", bounded(to.String(), maxErrorText)), "it redirects to another address"}
	if captureOf(r.Context()) == nil {
		g.refuseOwn(err)
	}
	return err
}

// webPage is an answer that is neither JSON nor events, in place of one.
func webPage(kind string) error {
	return &permanentError{
		fmt.Errorf("it answers with %s, not with JSON: check its url, which seems to lead to a web page", bounded(kind, 100)),
		"there is a web page at its address, and no MCP server",
	}
}

// unauthorized reports whether a request failed because its caller has to sign in, and
// tells the call, or the connection, of it.
func (g *guard) unauthorized(r *http.Request, err error) bool {
	var required *oauth.Required
	var failed *oauth.Error
	if !errors.As(err, &required) && !errors.As(err, &failed) {
		return false
	}
	if answer := captureOf(r.Context()); answer != nil {
		answer.refuse(err)
	}
	if required != nil && !oauth.HasCaller(r.Context()) {
		g.denied.Store(required)
	}
	return true
}
