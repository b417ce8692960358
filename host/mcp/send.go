package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/codemode"
)

// captured makes a request, and returns what the server answered.
func (c *connection) captured(ctx context.Context, send func(context.Context) (any, error)) (json.RawMessage, *capture, error) {
	ctx, answer := withCapture(ctx)
	defer answer.release()
	answer.tells = c.flights.progressed
	answer.strays = func() { c.stray.Do(func() { c.log.Info(strayAnswer) }) }
	if f, ok := ctx.Value(flightKey{}).(*flight); ok {
		answer.asks = func(params json.RawMessage) { c.flights.carried(f, params) }
	}
	res, err := send(ctx)
	switch {
	case answer.refusal() != nil:
		return nil, answer, answer.refusal()
	case answer.taken() != nil:
		return answer.taken(), answer, nil
	case err != nil:
		return nil, answer, err
	}
	if raw, ok := res.(json.RawMessage); ok {
		return raw, answer, nil
	}
	raw, err := json.Marshal(res)
	return raw, answer, err
}

// errCaptured stands for a result that its capture has.
var errCaptured = errors.New("the answer was captured")

// send makes the request that a tool or an operation stands for. The capture in
// ctx takes the answer. A call that is made again carries the answers of a person.
func (c *connection) send(ctx context.Context, t *Tool, r *Request, again *resumption) (any, error) {
	input := r.Input
	if c.api != nil {
		return c.request(ctx, t, input)
	}
	var in struct {
		Cursor    *string           `json:"cursor"`
		URI       string            `json:"uri"`
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	var answers sdk.InputResponseMap
	var state string
	if again != nil && again.Kind == resumeCall {
		answers = again.answers
		if again.RequestState != nil {
			state = *again.RequestState
		}
	}
	meta := traceMeta(ctx)
	if t.Operation == "" {
		meta = callMeta(r, meta)
	}
	if c.contexts != nil {
		token, forget := c.contexts.note(ctx)
		defer forget()
		if meta == nil {
			meta = sdk.Meta{}
		}
		meta[metaCall] = token
	}
	if t.Operation == "" {
		if f, ok := ctx.Value(flightKey{}).(*flight); ok {
			meta = f.withProgressToken(meta)
		}
		return c.session.CallTool(ctx, &sdk.CallToolParams{Meta: meta, Name: t.offeredName(), Arguments: input, InputResponses: answers, RequestState: state})
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("the input of %s: %w", t.Operation, err)
	}
	cursor, on := c.sentCursor(in.Cursor)
	if !on {
		cursor = ""
	}
	switch t.Operation {
	case ResourcesList:
		return c.session.ListResources(ctx, &sdk.ListResourcesParams{Meta: meta, Cursor: cursor})
	case ResourcesRead:
		return c.session.ReadResource(ctx, &sdk.ReadResourceParams{Meta: meta, URI: in.URI, InputResponses: answers, RequestState: state})
	case PromptsList:
		return c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Meta: meta, Cursor: cursor})
	default:
		return c.session.GetPrompt(ctx, &sdk.GetPromptParams{Meta: meta, Name: in.Name, Arguments: in.Arguments, InputResponses: answers, RequestState: state})
	}
}

// The members of _meta that tell attempts of one call, and the hosts of a run, apart.
// Digests stand for the ids, which are this host's business.
const (
	metaIdempotencyKey = "io.github.quoinhq/idempotencyKey"
	metaRun            = "io.github.quoinhq/run"
	metaEpoch          = "io.github.quoinhq/epoch"
)

// callMeta adds to meta what a server needs to make a call once: a key that is the same
// for each attempt, and the run with its epoch, which is higher in each host that takes
// the run over.
func callMeta(r *Request, meta sdk.Meta) sdk.Meta {
	if r.IdempotencyKey == "" {
		return meta
	}
	if meta == nil {
		meta = sdk.Meta{}
	}
	meta[metaIdempotencyKey], meta[metaRun] = digest(r.IdempotencyKey), digest(r.RunID)
	if r.Epoch > 0 {
		meta[metaEpoch] = r.Epoch
	}
	return meta
}

// keepNothing has the session keep no answer to a call. The SDK would give what it keeps
// to all callers, who may be known to the server by tokens of their own, and would forget
// none of it before the connection ends. The list of tools is the host's alone, and is kept.
func keepNothing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, r)
		switch res.(type) {
		case *sdk.ListResourcesResult, *sdk.ListPromptsResult, *sdk.ReadResourceResult:
			if answer := captureOf(ctx); err == nil && answer != nil && answer.taken() != nil {
				return nil, errCaptured
			}
		}
		return res, err
	}
}

// takeOff notes a request that is about to be made.
func (c *connection) takeOff(ctx context.Context, r Request, limit time.Duration) *flight {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.calls, func() { end(errEnded) })
	f := &flight{ctx: ctx, caller: r.Session, ask: r.Ask, progress: r.Progress}
	f.clock = newClock(limit, func() { end(errCallTimeout) })
	f.ctx = context.WithValue(ctx, flightKey{}, f)
	f.land = func() {
		c.flights.remove(f)
		f.clock.stop()
		stop()
		end(nil)
	}
	c.flights.add(f)
	return f
}

// elicit puts a question of the server to the person behind the call that it belongs to.
func (c *connection) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	declined := &sdk.ElicitResult{Action: string(codemode.AnswerDecline)}
	f := c.flights.owner(r.Params)
	if f == nil || f.ask == nil {
		return declined, nil
	}
	e := elicitation{Mode: r.Params.Mode, Message: r.Params.Message, URL: r.Params.URL}
	if r.Params.RequestedSchema != nil {
		schema, err := json.Marshal(r.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		e.RequestedSchema = schema
	}
	f.mu.Lock()
	f.asked++
	n := f.asked
	f.mu.Unlock()
	q, err := e.question(c.server.Name, strconv.Itoa(n))
	switch {
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	case n > maxAskedInFlight:
		return declined, nil
	}
	answer, err := f.put(ctx, q)
	if err != nil {
		return &sdk.ElicitResult{Action: string(codemode.AnswerCancel)}, nil
	}
	return elicitResult(answer)
}

// sentCursor is the cursor of a request that is to ask for what follows next, and whether
// next leads on.
func (c *connection) sentCursor(next *string) (cursor string, on bool) {
	switch {
	case next == nil:
		return "", false
	case *next != "":
		return *next, true
	}
	return emptyCursor, c.stateless()
}
