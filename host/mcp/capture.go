package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The bounds of one message of a server.
const (
	maxMessage   = 8<<20 + 64<<10 // bytes; a reply of 8 MiB and what is around it
	maxDepth     = 100            // containers inside each other
	maxListDepth = 900            // in a page of a list of tools: a schema that is too deep costs no other tool
	maxValues    = 500_000        // values and names
)

// capture takes the result of one call as the server sent it. The SDK decodes
// results into its own types, which lose the order and the fields they do not
// know; guests get what the server said. A capture travels in the context of its
// call and is filled before the call returns.
type capture struct {
	mu      sync.Mutex
	id      jsonrpc.ID // of the request; only over a network, where an answer comes by the way of its request
	deep    bool       // the result is a page of tools; set before the request is sent
	result  json.RawMessage
	refused error
	asks    func(params json.RawMessage) // told of questions in the answer's stream; may be nil
	tells   func(params json.RawMessage) // told of progress in the answer's stream; may be nil
	strays  func()                       // told of answers to other requests; may be nil
	drop    func()                       // forgets the call in its transport; nil if it never got there
}

// captureKey is the context key of a capture.
type captureKey struct{}

// withCapture returns the context of a call that is captured.
func withCapture(ctx context.Context) (context.Context, *capture) {
	c := &capture{}
	return context.WithValue(ctx, captureKey{}, c), c
}

// captureOf returns the capture of a call, or nil.
func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

// expect has only the answer to a request over the network count.
func (c *capture) expect(r *http.Request) {
	if r.GetBody == nil {
		return
	}
	body, err := r.GetBody()
	if err != nil {
		return // nor can it be sent
	}
	prefix, err := io.ReadAll(io.LimitReader(body, maxPrefix))
	if id, ok := leadingID(prefix); errors.Join(err, body.Close()) == nil && ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.id = id
	}
}

// sole returns the id of the request, if an answer comes by its way.
func (c *capture) sole() (jsonrpc.ID, bool) {
	if c == nil {
		return jsonrpc.ID{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id, c.id.IsValid()
}

// errStray refuses an answer to another request.
var errStray = &Error{Code: CodeInvalidReply, Message: "it has the id of another request."}

// belongs returns errStray if an id is not the request's id.
func (c *capture) belongs(id any) error {
	of, err := jsonrpc.MakeID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if none := (jsonrpc.ID{}); c.id == none || err == nil && of == c.id {
		return nil
	}
	if c.strays != nil {
		c.strays()
	}
	return errStray
}

// take keeps a result, or why it was not accepted.
//
// The result is a copy, independent of the message that it came in.
func (c *capture) take(result json.RawMessage) error {
	err := c.inspect(result)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.refused = err
		return err
	}
	c.result = append(json.RawMessage(nil), result...)
	return nil
}

// refuse notes why there will be no result.
func (c *capture) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = err
}

// refusal returns why the result was not accepted, nil if it was or is not there
// yet.
func (c *capture) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// taken returns the result, nil without one.
func (c *capture) taken() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result
}

// release forgets the call.
func (c *capture) release() {
	c.mu.Lock()
	drop := c.drop
	c.mu.Unlock()
	if drop != nil {
		drop()
	}
}

// errTooLarge refuses an answer by its size alone.
var errTooLarge = &Error{Code: CodeReplyTooLarge, Message: fmt.Sprintf("it is larger than %d bytes.", maxMessage)}

// inspect refuses a message that would cost too much to decode. It does not
// decode it.
//
// It runs before any decoder: a small message can decode into a large tree, and a
// deep one costs a decoder its stack.
func inspect(message []byte) error { return inspectTo(maxDepth, message) }

// inspect does the same with the answer to a call, which may be nil.
func (c *capture) inspect(message []byte) error {
	if c != nil && c.deep {
		return inspectTo(maxListDepth, message)
	}
	return inspect(message)
}

func inspectTo(most int, message []byte) error {
	if len(message) > maxMessage {
		return errTooLarge
	}
	depth, values, inString, escaped := 0, 0, false, false
	for _, b := range message {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			depth++
			values++
			if depth > most {
				return &Error{Code: CodeInvalidReply, Message: fmt.Sprintf("it is nested more than %d levels deep.", most)}
			}
		case b == '}' || b == ']':
			depth--
		case b == ',' || b == ':':
			values++
		}
		if values > maxValues {
			return &Error{Code: CodeReplyTooLarge, Message: fmt.Sprintf("it has more than %d values.", maxValues)}
		}
	}
	return nil
}

// leadingID returns the id of a message from its first bytes.
func leadingID(prefix []byte) (jsonrpc.ID, bool) {
	dec := json.NewDecoder(bytes.NewReader(prefix))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return jsonrpc.ID{}, false
	}
	for {
		key, err := dec.Token()
		if err != nil {
			return jsonrpc.ID{}, false
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return jsonrpc.ID{}, false
		}
		if key != "id" {
			continue
		}
		id, err := jsonrpc.MakeID(value)
		return ownID(id), err == nil
	}
}

// maxPrefix is how much of a line is searched for the call that it answers.
const maxPrefix = 4 << 10

// ownID is the id of a request of ours, which is a number. Some servers answer with its
// digits as a text.
func ownID(id jsonrpc.ID) jsonrpc.ID {
	digits, ok := id.Raw().(string)
	if !ok {
		return id
	}
	n, err := strconv.ParseInt(digits, 10, 53)
	if err != nil || strconv.FormatInt(n, 10) != digits {
		return id
	}
	number, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return id
	}
	return number
}
