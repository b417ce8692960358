package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/tidwall/gjson"

	"github.com/quoinhq/quoin/host/modeltools"
)

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
		return fmt.Errorf("%s refuses the key (HTTP %d): check %s", p, status, apis[p].keyVariable)
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
func statusOf(err error) (status int, header http.Header, detail string) {
	var r *http.Response
	if o, ok := errors.AsType[*openai.Error](err); ok {
		status, r, detail = o.StatusCode, o.Response, o.Message
	} else if a, ok := errors.AsType[*anthropic.Error](err); ok {
		status, r, detail = a.StatusCode, a.Response, gjson.Get(a.RawJSON(), "error.message").String()
		detail = cmp.Or(detail, a.RawJSON())
	}
	if r != nil {
		header = r.Header
	}
	return status, header, detail
}
