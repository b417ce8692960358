package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"

	"github.com/quoinhq/quoin/host/modeltools"
)

// keyVariables are where the SDKs look for keys.
var keyVariables = map[modeltools.Provider]string{
	modeltools.ProviderOpenAI: "OPENAI_API_KEY", modeltools.ProviderResponses: "OPENAI_API_KEY", modeltools.ProviderAnthropic: "ANTHROPIC_API_KEY",
}

// explain says of a request that has failed what a person can do about it. The
// conversation is as it was before the request.
func explain(p modeltools.Provider, model string, err error) error {
	status, header, detail := statusOf(err)
	var unreachable *net.OpError
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("%s refuses the key (HTTP %d): check %s", p, status, keyVariables[p])
	case status == http.StatusNotFound:
		return fmt.Errorf("%s does not have the model %q (HTTP 404): choose another with -model", p, model)
	case status == http.StatusTooManyRequests:
		return fmt.Errorf("%s takes no more requests for now (HTTP 429): continue after %s s", p, cmp.Or(header.Get("Retry-After"), "some"))
	case status >= 500:
		return fmt.Errorf("%s has failed (HTTP %d) and has lost nothing: continue in a while", p, status)
	case status != 0:
		return fmt.Errorf("%s refuses the request (HTTP %d): %.500s", p, status, detail)
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &unreachable):
		return fmt.Errorf("%s cannot be reached: %w", p, err)
	case errors.As(err, &large):
		return fmt.Errorf("the answer of %s is larger than %d bytes; it is given up", p, large.Limit)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errCut):
		return fmt.Errorf("%s: %w; what came of it is not kept: continue to ask again", p, errCut)
	}
	return fmt.Errorf("%s: %w", p, err)
}

// statusOf takes an error of one of the SDKs apart.
func statusOf(err error) (status int, _ http.Header, detail string) {
	header := func(r *http.Response) http.Header {
		if r == nil {
			return nil
		}
		return r.Header
	}
	var o *openai.Error
	var a *anthropic.Error
	switch {
	case errors.As(err, &o):
		return o.StatusCode, header(o.Response), o.Message
	case errors.As(err, &a):
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(a.RawJSON()), &body); err != nil {
			return a.StatusCode, header(a.Response), a.RawJSON()
		}
		return a.StatusCode, header(a.Response), body.Error.Message
	}
	return 0, nil, ""
}
