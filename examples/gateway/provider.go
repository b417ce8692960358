package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/quoinhq/quoin/host/modeltools"
)

// api is one API of a model.
type api struct {
	open func(o options) provider
	// keyVariable is where the SDK looks for the key, and model what is asked without -model.
	keyVariable, model string
}

var apis = map[modeltools.Provider]api{
	modeltools.ProviderOpenAI:    {openChatCompletions, "OPENAI_API_KEY", "gpt-5-mini"},
	modeltools.ProviderResponses: {openResponses, "OPENAI_API_KEY", "gpt-5-mini"},
	modeltools.ProviderAnthropic: {openMessages, "ANTHROPIC_API_KEY", "claude-sonnet-4-5"},
}

// provider speaks an API. The items of a conversation are in its words.
type provider interface {
	kind() modeltools.Provider
	// said is what a person has written, as an item.
	said(text string) any
	// answers are the results of all calls of a reply, as items.
	answers(calls []call) []any
	// reply sends a request and streams the answer; say gets its text as it comes. stop ends
	// the request for good. An answer that has not come whole is an error.
	reply(ctx context.Context, stop context.CancelCauseFunc, r request, say func(string)) (*reply, error)
}

// request is what a model is asked.
type request struct {
	model, instructions string
	tools               json.RawMessage // as modeltools.Render writes them
	items               []json.RawMessage
	// verify sees the body as it is about to be sent; an error keeps it here.
	verify func(body []byte) error
}

// reply is what a model has answered.
type reply struct {
	items []json.RawMessage
	calls []call
}

// Bounds of what a model endpoint may send.
const (
	maxReplyBytes = 32 << 20
	maxCalls      = 16
	maxTokens     = 16_000 // of one reply, where the API wants to know
)

var (
	errCut       = errors.New("the answer broke off before its end")
	errTruncated = errors.New("the answer was longer than the model may write")
)

// encoded is a value of an SDK as an item.
func encoded(values ...any) (items []json.RawMessage, err error) {
	for _, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		items = append(items, b)
	}
	return items, nil
}

// ask has a provider reply, and refuses a reply that the gateway could not answer.
func ask(ctx context.Context, p provider, r request, say func(string)) (*reply, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, err := p.reply(ctx, stop, r, say)
	if err == nil {
		err = out.check()
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // an SDK says of it that the context has ended
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (r *reply) check() error {
	if len(r.calls) > maxCalls {
		return fmt.Errorf("the model made %d calls at once, and at most %d are taken", len(r.calls), maxCalls)
	}
	seen := map[string]bool{}
	for _, c := range r.calls {
		if c.ID == "" || c.Name == "" || seen[c.ID] {
			return fmt.Errorf("the model made a call without a name or an id of its own (%q, %q)", c.Name, c.ID)
		}
		seen[c.ID] = true
	}
	return nil
}

// events is a stream of an SDK.
type events[E any] interface {
	Next() bool
	Current() E
	Err() error
	Close() error
}

// read hands the events of a stream on, until one of them ends the reply.
func read[E any](s events[E], each func(E) (*reply, error)) (*reply, error) {
	defer s.Close()
	for s.Next() {
		if out, err := each(s.Current()); out != nil || err != nil {
			return out, err
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return nil, errCut
}

// guarded is the middleware of both SDKs: it verifies the body of a request as it goes out,
// and bounds the response. A body that must not be sent ends the request's context, so that
// the SDK does not try again.
func guarded(verify func(body []byte) error, stop context.CancelCauseFunc) func(*http.Request, func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verify(body)
		}
		if err != nil {
			stop(err)
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := next(r)
		if err == nil {
			resp.Body = http.MaxBytesReader(nil, resp.Body, maxReplyBytes)
		}
		return resp, err
	}
}
