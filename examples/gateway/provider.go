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

// provider is one API of a model. The items of a conversation are in its words.
type provider interface {
	kind() modeltools.Provider
	// said is what a person has written, as an item.
	said(text string) (json.RawMessage, error)
	// answers are the results of all calls of a reply, as items.
	answers(calls []call) ([]json.RawMessage, error)
	// reply sends a request and streams the answer; say gets its text as it comes. An
	// answer that has not come whole is an error.
	reply(ctx context.Context, r request, say func(string)) (*reply, error)
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

// check refuses a reply that the gateway could not answer.
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

// definitions splits what modeltools.Render has written into its elements.
func definitions(tools json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := json.Unmarshal(tools, &list)
	return list, err
}
