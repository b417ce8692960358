package mcp

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestChangesOfAStatelessServer: a server of 2026-07-28 tells of another list over the
// stream that subscriptions/listen opens, also when its lists may be kept for a while.
func TestChangesOfAStatelessServer(t *testing.T) {
	t.Parallel()
	for _, ttl := range []int{0, 3_600_000} {
		t.Run(fmt.Sprint("ttl ", ttl), func(t *testing.T) {
			s := goodServer("net")
			s.AddReceivingMiddleware(withTTL(ttl))
			w := connect(t, Options{}, Server{Name: "net", URL: serveHTTP(t, s, stateless(s)), Pin: PinWarn})
			if p := w.Status()[0].Protocol; p != statelessVersion {
				t.Fatalf("it speaks %s", p)
			}
			w.call(t, "net", "grow", `{"text":"novelty"}`)
			w.until(t, func() bool { return w.has("novelty") })
			w.call(t, "net", "novelty", `{}`)
		})
	}
}

// TestAListThatGetsOld: the list of a server that tells of no changes is read again once
// its time is over.
func TestAListThatGetsOld(t *testing.T) {
	t.Parallel()
	s, set := shifty(t, `{"tools":[{"name":"one"}],"ttlMs":1,"cacheScope":"private"}`)
	s.Env[roleKey], s.Pin = "silent", PinWarn
	w := connect(t, Options{}, s)
	set(`{"tools":[{"name":"two"}],"ttlMs":1,"cacheScope":"private"}`)
	w.until(t, func() bool { return w.has("two") })
}

func init() {
	badServers["silent"] = func(r *raw) error {
		return r.serveStateless(nil)
	}
}

// withTTL says of lists how long they may be kept.
func withTTL(ms int) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			res, err := next(ctx, method, r)
			if list, ok := res.(*sdk.ListToolsResult); ok {
				list.TTLMs = ms
			}
			return res, err
		}
	}
}
