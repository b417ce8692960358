package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// boundJSON reads one answer, of any kind that is not events. What is not accepted becomes the
// failure of its request, so that other calls of the connection continue: the SDK would end it.
func (g *guard) boundJSON(r *http.Request, resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))
	answer := captureOf(r.Context())
	refused := answer.inspect(text)
	if refused == nil && len(text) > 0 && text[0] == '[' {
		resp.Header.Set("Content-Type", "text/event-stream")
		resp.Body, resp.ContentLength = g.events(r, io.NopCloser(asEvents(text))), -1
		return nil
	}
	if refused == nil {
		text = g.odd.tidied(text, answer)
		if _, err := jsonrpc.DecodeMessage(text); err != nil {
			refused = noAnswer(resp, text)
		} else {
			refused = captureMessage(answer, text)
		}
	}
	if refused == nil {
		resp.Header.Set("Content-Type", "application/json")
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		return nil
	}
	if answer == nil {
		g.refuseOwn(refused)
	} else {
		answer.refuse(refused)
	}
	return replaceAnswer(r, resp, refused)
}

// noAnswer refuses what is no message, with a piece of it.
func noAnswer(resp *http.Response, text []byte) error {
	e := &Error{Code: CodeInvalidReply, Unknown: true, Message: fmt.Sprintf("HTTP status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))}
	if len(text) == 0 {
		e.Message += " without a body."
		return e
	}
	e.Message += fmt.Sprintf(", and its body is no message of MCP: %s", bounded(string(text), maxRefusalText))
	return e
}

// saysWhy returns the body of a refusal, with the id of its request, where that is an error of
// the protocol: it says more than the status. Otherwise it returns nil.
func saysWhy(r *http.Request, status int, body []byte) []byte {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil
	}
	var m struct {
		Version string          `json:"jsonrpc"`
		Error   json.RawMessage `json:"error"`
	}
	q, err := requestOf(r)
	if err != nil || json.Unmarshal(body, &m) != nil || m.Version != "2.0" || len(m.Error) == 0 || m.Error[0] != '{' {
		return nil
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": q.ID.Raw(), "error": m.Error})
	if err != nil {
		return nil
	}
	return text
}

// asEvents returns the messages of a batch, which version 2025-03-26 has, as events.
func asEvents(batch []byte) io.Reader {
	var messages []json.RawMessage
	if json.Unmarshal(batch, &messages) != nil {
		messages = []json.RawMessage{nil}
	}
	var out bytes.Buffer
	for _, m := range messages {
		out.WriteString("data: ")
		if len(m) == 0 || m[0] == '[' { // a batch has no batches; what is no message, the stream leaves out
			m = json.RawMessage("null")
		}
		_ = json.Compact(&out, m) // it was decoded
		out.WriteString("\n\n")
	}
	return &out
}

// requestOf returns the message of ours that a request carries, if it is no answer.
func requestOf(r *http.Request) (*jsonrpc.Request, error) {
	if r.GetBody == nil {
		return nil, errors.New("the request cannot be read again")
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil {
		return nil, err
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, err
	}
	q, ok := m.(*jsonrpc.Request)
	if !ok {
		return nil, errors.New("it is no request")
	}
	return q, nil
}

// isCall reports whether a message of ours wants an answer.
func isCall(r *http.Request) bool {
	if captureOf(r.Context()) != nil {
		return true
	}
	q, err := requestOf(r)
	return err == nil && q.IsCall()
}

// accept ends the exchange of a message that wants no answer. A refusal of it is no reason to
// end the connection, as the SDK would.
func (g *guard) accept(resp *http.Response) error {
	if resp.StatusCode >= http.StatusBadRequest {
		g.odd.note(fmt.Sprintf("HTTP status %d for messages that want no answer", resp.StatusCode))
	}
	resp.StatusCode, resp.Status = http.StatusAccepted, "202 Accepted"
	err := resp.Body.Close()
	resp.Body, resp.ContentLength = http.NoBody, 0
	return err
}
