package mcp

import (
	"context"
	"crypto/rand"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of the embedder's own process is connected over pipes, so that what it sends is
// bounded like messages of any other server. Its handlers get the values of the context of the
// call, which pipes do not carry: a request names the call by a token in its _meta.

// metaCall is the member of _meta that names a call of this process.
const metaCall = "com.github.quoinhq.quoin/call"

// callContexts are the contexts of the calls that are made of a server of this process.
type callContexts struct {
	mu   sync.Mutex
	open map[string]context.Context
}

// newCallContexts has a server give its handlers the values of the calls.
func newCallContexts(s *sdk.Server) *callContexts {
	c := &callContexts{open: make(map[string]context.Context)}
	s.AddReceivingMiddleware(c.handing)
	return c
}

// note returns a token for a call, which no one else can guess. Forget it when the call
// has ended.
func (c *callContexts) note(ctx context.Context) (token string, forget func()) {
	token = rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[token] = ctx
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, token)
	}
}

// handing is the middleware that gives handlers the values of the call.
func (c *callContexts) handing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		switch method {
		case "tools/call", "resources/read", "prompts/get":
			ctx = c.with(ctx, r.GetParams().GetMeta())
		}
		return next(ctx, method, r)
	}
}

// with returns a context with the values of the call that a request is made for, if it
// is one of ours: a server may have several hosts. The handler does not see the token.
func (c *callContexts) with(ctx context.Context, meta map[string]any) context.Context {
	token, _ := meta[metaCall].(string)
	c.mu.Lock()
	call := c.open[token]
	c.mu.Unlock()
	if call == nil {
		return ctx
	}
	delete(meta, metaCall)
	return handlerContext{ctx, call}
}

// handlerContext ends with the request, and has the values of the call too.
type handlerContext struct {
	context.Context
	call context.Context
}

// Value returns a value of the request, or of the call.
func (c handlerContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.call.Value(key)
}
