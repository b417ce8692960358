package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/jsonschema"
)

// call is one call of a tool or an operation of one server.
type call struct {
	*standing
	Request
}

// make makes the call, and all that belongs to it: it is made again at once where the
// server asks for just that, and a task of the server is awaited.
func (c *call) make(ctx context.Context) (json.RawMessage, error) {
	again, err := resumptionOf(c.Resumption)
	if err != nil {
		return nil, &Error{Code: CodeInvalidReply, Server: c.name, Message: fmt.Sprintf("The call of %q of MCP server %s cannot continue: %v", c.Tool, c.name, err), Unknown: true, Err: err}
	}
	if again != nil && again.Kind == resumeVisit && again.refused {
		return nil, &Error{Code: CodeDeclined, Server: c.name, Message: fmt.Sprintf("A person did not agree to what MCP server %s asks before %q.", c.name, c.Tool)}
	}
	if again != nil && again.Kind == resumeTask && again.Task != nil {
		return c.tellTask(ctx, again)
	}
	renewed := false
	for round := 0; ; round++ {
		if err := c.awaitSession(ctx, nil); err != nil {
			return nil, err
		}
		reply, conn, err := c.once(ctx, again)
		switch {
		case errors.Is(err, errSessionEnded) && !renewed:
			renewed = true
			if err := c.awaitSession(ctx, conn); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		case reply.task != nil:
			return c.await(ctx, reply.task, nil)
		case reply.again == nil:
			return reply.raw, nil
		case round == maxEmptyRounds:
			return nil, &Error{Code: CodeUnavailable, Server: c.name, Message: fmt.Sprintf("MCP server %s put off %q %d times.", c.name, c.Tool, round+1)}
		}
		again = reply.again
		if !pause(ctx, min(c.options.times.emptyRound<<round, c.options.times.maxEmptyRound)) {
			return nil, c.explain(ctx, &capture{}, ctx.Err())
		}
	}
}

// reply is what a server answered: a result, or what has to happen first.
type reply struct {
	raw   json.RawMessage
	again *resumption // the call has to be made again at once
	task  *task       // the server continues the call by itself
}

// once makes one request over the current connection.
//
// Three things end a request early: its own context, the end of the connection, and
// CallTimeout, which does not run while a person is asked. An error says Unknown unless the
// tool only reads, because the server may have acted.
func (c *call) once(ctx context.Context, again *resumption) (*reply, *connection, error) {
	conn, tool, err := c.current(c.Tool)
	if err != nil {
		return nil, nil, err
	}
	release, err := c.admit(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	f := conn.takeOff(ctx, c.Request, c.server.CallTimeout)
	defer f.land()
	raw, answer, err := conn.captured(f.ctx, func(ctx context.Context) (any, error) { return conn.send(ctx, tool, &c.Request, again) })
	if err != nil {
		return nil, conn, c.failure(f.ctx, conn, tool, answer, err)
	}
	conn.answered.Store(true)
	out, err := c.interpret(conn.stateless(), tool, raw)
	return out, conn, err
}

// failure says why a request has no answer.
func (c *call) failure(ctx context.Context, conn *connection, tool *Tool, answer *capture, err error) error {
	if ask := c.visitFirst(tool, err); ask != nil {
		return ask
	}
	e := c.explain(ctx, answer, err)
	e = conn.sessionEnded(ctx, answer, err, e)
	e.Unknown = e.Unknown && !tool.ReadOnly
	if e.Code == CodeTimeout {
		conn.change() // a server that does not list its tools either is given up
	}
	return e
}

// visitFirst is the question of a server that refuses a call until a person has visited a
// page. It is nil for other refusals.
func (c *call) visitFirst(tool *Tool, err error) error {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc.Code != sdk.CodeURLElicitationRequired {
		return nil
	}
	fail := func(err error) error {
		return &Error{Code: CodeInvalidReply, Server: c.name, Message: fmt.Sprintf("MCP server %s refused %q until a person has answered, but %v.", c.name, tool.Name, err)}
	}
	if err := inspect(rpc.Data); err != nil {
		return fail(err)
	}
	var data struct {
		Elicitations []elicitation `json:"elicitations"`
	}
	if json.Unmarshal(rpc.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxQuestions {
		return fail(fmt.Errorf("it does not ask 1 to %d questions", maxQuestions))
	}
	var questions []codemode.Question
	for i := range data.Elicitations {
		e := &data.Elicitations[i]
		q, err := e.question(c.name, e.ElicitationID)
		switch {
		case err != nil:
			return fail(err)
		case q.Kind != codemode.QuestionURL:
			return fail(fmt.Errorf("its question %.80q is not a page to visit", q.ID))
		}
		questions = append(questions, q)
	}
	return inputRequired(questions, resumeState{Kind: resumeVisit})
}

// interpret checks that an answer is one, and finds out what it means. In a stateless
// version of the protocol an answer may ask, or be a task.
//
// Everything else about the content of a result is left to the guest, which gets the
// answer as it is.
func (c *call) interpret(stateless bool, tool *Tool, raw json.RawMessage) (*reply, error) {
	var in struct {
		Content       json.RawMessage `json:"content"`
		InputRequests json.RawMessage `json:"inputRequests"`
		RequestState  json.RawMessage `json:"requestState"`
		ResultType    json.RawMessage `json:"resultType"`
	}
	fail := func(code Code, text string) (*reply, error) {
		return nil, c.unacceptable(tool, code, text)
	}
	if tool.Operation == "" {
		raw = c.odd.result(raw)
	}
	if len(raw) > c.server.MaxResultBytes {
		return fail(CodeReplyTooLarge, fmt.Sprintf("it has %d bytes; maxResultBytes allows %d.", len(raw), c.server.MaxResultBytes))
	}
	if err := json.Unmarshal(raw, &in); err != nil || len(raw) == 0 || raw[0] != '{' {
		return fail(CodeInvalidReply, "it is not an object.")
	}
	switch kind := string(in.ResultType); {
	case kind == `"input_required"` || in.InputRequests != nil:
		return c.asks(stateless, tool, in.InputRequests, in.RequestState)
	case kind == `"task"`:
		t, err := c.options.times.newTask(raw)
		if err == nil && (tool.Operation != "" || !stateless) {
			err = errors.New("tasks were not offered for it")
		}
		if err != nil {
			return fail(CodeInvalidReply, fmt.Sprintf("it is a task, but %v.", err))
		}
		return &reply{task: t}, nil
	case tool.Operation == "" && in.Content != nil && in.Content[0] != '[':
		list := c.odd.content(in.Content)
		if list == nil {
			return fail(CodeInvalidReply, "its content is not a list.")
		}
		return &reply{raw: withContent(raw, list)}, nil
	}
	return &reply{raw: raw}, nil
}

// withContent returns an answer with another content.
func withContent(raw, content json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	for _, m := range (jsonschema.Bounds{Bytes: maxMessage, Values: maxValues, Nesting: maxDepth}).Parse(raw).Root().Fields() {
		name, err := json.Marshal(m.Key)
		if err != nil {
			continue // strings can always be encoded
		}
		if m.Key == "content" {
			m.Value = &jsonschema.Node{Raw: content}
		}
		out = append(append(append(append(out, name...), ':'), m.Value.Raw...), ',')
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}')
}

// asks is what an answer means that asks a person, or only to be called again.
func (c *call) asks(stateless bool, tool *Tool, requests, requestState json.RawMessage) (*reply, error) {
	state := resumeState{Kind: resumeCall}
	if !stateless || tool.Operation == ResourcesList || tool.Operation == PromptsList {
		return nil, c.unacceptable(tool, CodeNeedsInput, "it asks a person for input, which its protocol version does not have.")
	}
	if requestState != nil && json.Unmarshal(requestState, &state.RequestState) != nil {
		return nil, c.unacceptable(tool, CodeInvalidReply, "its requestState is not a text.")
	}
	if requests == nil && state.RequestState == nil {
		return nil, c.unacceptable(tool, CodeInvalidReply, "it asks for input and does not say which.")
	}
	var questions []codemode.Question
	if requests != nil {
		var err error
		if questions, err = questionsOf(c.name, requests); errors.Is(err, errNotOffered) {
			return nil, c.unacceptable(tool, CodeNeedsInput, err.Error()+".")
		} else if err != nil {
			return nil, c.unacceptable(tool, CodeInvalidReply, err.Error()+".")
		}
	}
	if len(questions) == 0 {
		return &reply{again: &resumption{resumeState: state}}, nil
	}
	err := inputRequired(questions, state)
	if ask := (*codemode.InputRequired)(nil); !errors.As(err, &ask) {
		return nil, c.unacceptable(tool, CodeInvalidReply, err.Error()+".")
	}
	return nil, err
}
