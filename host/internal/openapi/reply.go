package openapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
)

// The bounds of what is read of an answer.
const (
	maxReply      = 8 << 20
	maxReplyDepth = 100
	maxErrorBody  = 8 << 10
)

// StatusError is an answer that is not 2xx.
type StatusError struct {
	Status int
	// Body is what it says, bounded. Location is where a redirect leads.
	Body, Location string
	// RetryAfter is the header of that name: seconds, or a date.
	RetryAfter string
}

// Error has the status and what the answer says.
func (e *StatusError) Error() string {
	out := fmt.Sprintf("HTTP status %d", e.Status)
	if name := http.StatusText(e.Status); name != "" {
		out += " " + name
	}
	if e.Location != "" {
		out += " (to " + e.Location + ", which is not followed)"
	}
	if body := strings.TrimSpace(e.Body); body != "" {
		out += ": " + body
	}
	if e.RetryAfter != "" {
		out += "; Retry-After: " + e.RetryAfter
	}
	return out
}

// ReplyError is an answer that is not accepted.
type ReplyError struct {
	TooLarge bool
	Text     string
}

// Error says what is wrong with the answer.
func (e *ReplyError) Error() string { return e.Text }

var errReplyTooLarge = &ReplyError{TooLarge: true, Text: fmt.Sprintf("it has more than %d bytes.", maxReply)}

// content is what a tool answers besides JSON.
type content struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MIMEType string    `json:"mimeType,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

type resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitempty"`
	Blob     string `json:"blob"`
}

// result makes the result of a tool of an answer.
func result(resp *http.Response) (json.RawMessage, error) {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // as much as came
		return nil, &StatusError{
			Status:     resp.StatusCode,
			Body:       text.Shorten(strings.ToValidUTF8(string(body), "\uFFFD"), maxErrorBody),
			RetryAfter: text.Shorten(strings.ToValidUTF8(resp.Header.Get("Retry-After"), "\uFFFD"), 64),
			Location:   text.Shorten(strings.ToValidUTF8(resp.Header.Get("Location"), "\uFFFD"), 2048),
		}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxReply {
		return nil, errReplyTooLarge
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		mediaType = ""
	}
	out, err := resultOf(mediaType, body)
	if err == nil && len(out) > maxReply {
		err = errReplyTooLarge
	}
	return out, err
}

// resultOf makes the result of a body.
func resultOf(mediaType string, body []byte) (json.RawMessage, error) {
	if len(strings.TrimSpace(string(body))) == 0 {
		return json.RawMessage(`{"content":[]}`), nil
	}
	if isJSON(mediaType) || mediaType == "" && json.Valid(body) {
		if err := measureReply(body); err != nil {
			return nil, err
		}
		if !json.Valid(body) || !utf8.Valid(body) {
			return nil, &ReplyError{Text: "it is not JSON, though its Content-Type says so."}
		}
		return append(append([]byte(`{"content":[],"structuredContent":`), body...), '}'), nil
	}
	c := content{MIMEType: mediaType}
	kind, _, _ := strings.Cut(mediaType, "/")
	switch {
	case kind == "image" && mediaType != "image/svg+xml", kind == "audio":
		c.Type, c.Data = kind, base64.StdEncoding.EncodeToString(body)
	case utf8.Valid(body):
		s := string(body)
		c = content{Type: "text", Text: &s}
	default:
		c = content{Type: "resource", Resource: &resource{URI: "data:,", MIMEType: mediaType, Blob: base64.StdEncoding.EncodeToString(body)}}
	}
	return jsontext.Marshal(map[string]any{"content": []content{c}})
}

// measureReply refuses an answer that is nested too deep.
func measureReply(body []byte) error {
	depth, inString, escaped := 0, false, false
	for _, b := range body {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			if depth++; depth > maxReplyDepth {
				return &ReplyError{Text: fmt.Sprintf("it is nested more than %d levels deep.", maxReplyDepth)}
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}
