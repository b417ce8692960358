package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxAsked is how many requests of a server may be without our answer at once.
const maxAsked = 64

// lineConn is a connection over two pipes, a JSON message per line. Lines that
// are no messages go to the log. It implements the SDK's Connection.
type lineConn struct {
	in      *os.File // what we write to
	out     *os.File // what we read from
	reader  *bufio.Reader
	queue   []jsonrpc.Message // rest of a batch; the reader's own
	log     *lineLog
	changed func() // the list of tools has changed

	progressed func(json.RawMessage) // told how far calls are; may be nil
	odd        *oddities             // of the server; may be nil

	writing chan struct{} // holds a token during a write

	mu        sync.Mutex
	greetings []jsonrpc.ID            // of server/discover and initialize
	open      map[jsonrpc.ID]*capture // our requests without an answer; nil where the SDK takes it
	strayed   bool                    // the log has it that there was an answer to no request
	asked     int                     // the server's requests without an answer
	closed    bool
}

// newLineConn makes a connection over the two pipes of a program, without the secrets in what it says. It reads
// nothing before Read is called.
func newLineConn(in, out *os.File, secrets [][]byte, log *lineLog, changed func()) *lineConn {
	return &lineConn{
		in: in, out: out, log: log, changed: changed,
		reader:  bufio.NewReaderSize(hiding(out, secrets), 64<<10),
		writing: make(chan struct{}, 1),
		open:    map[jsonrpc.ID]*capture{},
	}
}

// SessionID is empty: a pipe has one session.
func (c *lineConn) SessionID() string { return "" }

// Read returns the next message that the SDK needs to know of.
//
// Answers that were captured reach the SDK with an empty result: it only has to
// end the call.
func (c *lineConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		for len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			m, err := c.admit(m)
			if m != nil || err != nil {
				return m, err
			}
		}
		line, whole, err := c.line()
		if err != nil {
			return nil, err
		}
		if !whole {
			m, err := c.oversize(line)
			if m != nil || err != nil {
				return m, err
			}
			continue
		}
		if c.queue = c.decode(line); c.queue == nil {
			if m := c.rejectLine(line); m != nil {
				return m, nil
			}
		}
	}
}

// line reads one line. If it is too long, line returns its first bytes and whole is
// false.
func (c *lineConn) line() (line []byte, whole bool, err error) {
	whole = true
	for {
		chunk, err := c.reader.ReadSlice('\n')
		if whole && len(line)+len(chunk) > maxMessage {
			line, whole = bytes.Clone(append(line, chunk...)[:maxPrefix]), false
		}
		if whole {
			line = append(line, chunk...)
		}
		switch {
		case err == nil:
			return bytes.TrimPrefix(line, byteOrderMark), whole, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, false, err
		}
	}
}

// oversize turns a line that is too long into the failure of the call that it
// answers, if it says at its start which one that is.
func (c *lineConn) oversize(prefix []byte) (jsonrpc.Message, error) {
	id, ok := leadingID(prefix)
	if !ok {
		return nil, fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)
	}
	return c.fail(id, errTooLarge), nil
}

// decode returns the messages of one line: one, or all of a batch.
//
// A batch counts as one line. One with a message that is not valid is refused as
// a whole.
func (c *lineConn) decode(line []byte) []jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	texts := []json.RawMessage{line}
	if line[0] == '[' && (json.Unmarshal(line, &texts) != nil || len(texts) > maxAsked) {
		texts = nil
	}
	var out []jsonrpc.Message
	for _, text := range texts {
		m, _, err := c.odd.decode(text, c.sole)
		if err != nil {
			return nil
		}
		out = append(out, m)
	}
	return out
}

// sole returns the only request of ours that is open.
func (c *lineConn) sole() (jsonrpc.ID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.open {
		return id, len(c.open) == 1
	}
	return jsonrpc.ID{}, false
}

// errNoMessage refuses an answer that the SDK could not decode.
var errNoMessage = &Error{Code: CodeInvalidReply, Message: "it is not a message of the protocol."}

// rejectLine logs a line that is no message, and returns the failure of the call
// that it means to answer, if it says which one that is.
func (c *lineConn) rejectLine(line []byte) jsonrpc.Message {
	c.log.stdout(line)
	prefix := line[:min(len(line), maxPrefix)]
	if id, ok := leadingID(prefix); ok && bytes.Contains(prefix, []byte(`"jsonrpc"`)) {
		return c.fail(id, errNoMessage)
	}
	return nil
}

// admit returns a message for the SDK, or nil for one that needs no further
// attention. A server that asks without end is cut off.
func (c *lineConn) admit(m jsonrpc.Message) (jsonrpc.Message, error) {
	switch m := m.(type) {
	case *jsonrpc.Response:
		m.ID = ownID(m.ID)
		return c.answer(m), nil
	case *jsonrpc.Request:
		if m.IsCall() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.asked++; c.asked > maxAsked {
				return nil, fmt.Errorf("the server has made more than %d requests of its own without waiting for answers", maxAsked)
			}
			return m, nil
		}
		switch m.Method {
		case "notifications/tools/list_changed":
			c.changed()
		case methodProgress: // as many as there are, so that none of them waits in the SDK
			if c.progressed != nil {
				c.progressed(m.Params)
			}
		case methodCancelled, "notifications/subscriptions/acknowledged":
			return m, nil
		}
	}
	return nil, nil
}

// answer gives a result to the capture of its call. The SDK then need not decode it. An
// answer to no request is dropped.
func (c *lineConn) answer(m *jsonrpc.Response) jsonrpc.Message {
	capture, awaited := c.settle(m.ID)
	switch {
	case !awaited:
		return nil
	case capture == nil:
		if err := inspect(m.Result); err != nil {
			return &jsonrpc.Response{ID: m.ID, Error: err}
		}
		m.Result = c.odd.introduction(m.Result)
		if m.Error == nil && !bytes.HasPrefix(m.Result, []byte("{")) {
			m.Error = &Error{Code: CodeInvalidReply, Message: fmt.Sprintf("it answered with %s, not with an object", bounded(string(m.Result), 100))}
		}
		return m
	case m.Error != nil:
		return m
	}
	if err := capture.take(m.Result); err != nil {
		return &jsonrpc.Response{ID: m.ID, Error: err}
	}
	return &jsonrpc.Response{ID: m.ID, Result: json.RawMessage("{}")}
}

// settle notes that a request has its answer.
func (c *lineConn) settle(id jsonrpc.ID) (answer *capture, awaited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, awaited = c.open[id]
	delete(c.open, id)
	if !awaited && !c.strayed && !slices.Contains(c.greetings, id) {
		c.strayed = true
		c.log.log.Info(strayAnswer, "id", bounded(fmt.Sprint(id.Raw()), 64))
	}
	return answer, awaited
}

// strayAnswer is what the log has once of each connection.
const strayAnswer = "an MCP server has answered a request that is not waited for, or not any more; such answers are dropped"

// fail returns the answer to a call after its real answer was refused.
func (c *lineConn) fail(id jsonrpc.ID, err error) jsonrpc.Message {
	if capture, _ := c.settle(id); capture != nil {
		capture.refuse(err)
	}
	return &jsonrpc.Response{ID: id, Error: err}
}

// Write writes one message. If ctx ends in the middle of it, because the server
// does not read, the connection is broken.
func (c *lineConn) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if !c.note(ctx, m) {
		return nil
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	n, cut, err := c.write(ctx, append(withEmptyCursor(text), '\n'))
	switch {
	case !cut || err == nil:
		return err
	case n > 0: // a part of a message cannot be taken back
		return errors.Join(io.ErrClosedPipe, c.Close())
	}
	return ctx.Err()
}

// write writes until it is done or ctx ends; cut says that ctx has ended.
//
// A write deadline in the past interrupts a write that is blocked; it is removed
// afterwards for the next one.
func (c *lineConn) write(ctx context.Context, text []byte) (n int, cut bool, err error) {
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		_ = c.in.SetWriteDeadline(time.Unix(1, 0)) // fails only if the pipe is closed
	})
	n, err = c.in.Write(text)
	if stop() {
		return n, false, err
	}
	<-fired
	_ = c.in.SetWriteDeadline(time.Time{})
	return n, true, err
}

// note keeps account of a message that is about to be written, and reports whether it is
// to be written: a server that does not know server/discover may end at the word that it is
// cancelled.
func (c *lineConn) note(ctx context.Context, m jsonrpc.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.asked--
	case *jsonrpc.Request:
		switch m.Method {
		case methodDiscover, methodInitialize:
			c.greetings = append(c.greetings, m.ID)
		case methodCancelled:
			var p struct {
				RequestID any `json:"requestId"`
			}
			if json.Unmarshal(m.Params, &p) == nil && p.RequestID != nil {
				id, err := jsonrpc.MakeID(p.RequestID)
				delete(c.open, id)
				return err != nil || !slices.Contains(c.greetings, id)
			}
		}
		if !m.IsCall() {
			return true
		}
		id, capture := m.ID, captureOf(ctx)
		if c.open[id] = capture; capture == nil {
			return true
		}
		capture.mu.Lock()
		capture.drop = func() { c.forget(id, capture) }
		capture.mu.Unlock()
	}
	return true
}

// forget drops the capture of a call that ended without an answer.
func (c *lineConn) forget(id jsonrpc.ID, capture *capture) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[id] == capture {
		delete(c.open, id)
	}
}

// Close closes both pipes; a Read that waits returns. It may be called again.
func (c *lineConn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	return errors.Join(c.in.Close(), c.out.Close())
}
