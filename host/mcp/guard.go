package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/quoinhq/quoin/host/internal/oauth"
)

// The bounds of what a server on the network may have us hold.
const (
	maxRequests   = 256      // open at once
	maxStream     = 64 << 20 // bytes of one event stream; it is then opened again
	maxOtherBody  = 64 << 10 // bytes of answers that are neither JSON nor events
	maxHeaderSize = 64 << 10
)

// guard carries the requests of one connection. It adds the configured headers,
// bounds what comes back before the SDK reads it, and ends with the connection.
type guard struct {
	base     *http.Transport
	carrier  http.RoundTripper // base, with tokens where the server is signed in to
	headers  http.Header
	life     context.Context
	gone     func(error) // told once a connection was lost and the server takes no other
	open     atomic.Int64
	probing  atomic.Bool
	streamed atomic.Bool                    // the stream of the server's own messages was asked for
	denied   atomic.Pointer[oauth.Required] // why the last request of no call was refused
	refused  atomic.Pointer[error]          // why the last request of no call was not answered as it should be
	plain    bool                           // answers are no messages of MCP; who reads them bounds them

	odd *oddities // of the server; may be nil

	probeTimeout time.Duration
}

// limitedBody reads less than is there.
type limitedBody struct {
	io.Reader
	io.Closer
}

// failureOf returns the answer to a request after its real answer was refused.
func failureOf(r *http.Request, refused error) ([]byte, error) {
	q, err := requestOf(r)
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: q.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: refused.Error()}})
}
