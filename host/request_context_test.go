package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

type tenantKey struct{}

// asTenant is the context of a request.
func asTenant(name string) context.Context {
	return context.WithValue(context.Background(), tenantKey{}, name)
}

// whoami tells what a tool learns about the request that its call is made by.
var whoami = catalog.FromDefinitions([]catalog.Tool{{Name: "whoami", Description: "Tells who calls.", ReadOnly: true}},
	func(ctx context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
		c := catalog.InvocationOf(ctx)
		tenant, _ := ctx.Value(tenantKey{}).(string)
		return json.Marshal([]any{name, tenant, c.Session.SessionID, !c.Deadline.IsZero(), c.IdempotencyKey != ""})
	})[0]

// TestCallsHaveTheValuesOfTheirRequest: tools of Config, of a request and of a run, and
// hooks, see the values of the context of Exec, and after a Wait the values of the Wait's
// context.
func TestCallsHaveTheValuesOfTheirRequest(t *testing.T) {
	t.Parallel()
	own := whoami
	own.Name = "mine"
	hook := policy.Authorize("tenants", func(ctx context.Context, c *policy.Call) error {
		if ctx.Value(tenantKey{}) == nil {
			return errors.New("no tenant")
		}
		return nil
	})
	h := start(t, host.Config{Tools: []catalog.Tool{whoami}, Hooks: []policy.Hook{hook}})
	wantValue(t, h.Exec(asTenant("acme"), me, host.ExecInput{Code: `return [await tools.whoami(), await tools.mine()]`, Tools: []catalog.Tool{own}}),
		`[["whoami","acme","session",false,true],["whoami","acme","session",false,true]]`)

	bounded, cancel := context.WithTimeout(asTenant("acme"), time.Hour)
	defer cancel()
	const twice = `const a = await tools.whoami(); await yield_control(); return [a, await tools.whoami()]`
	r := h.Exec(bounded, me, host.ExecInput{Code: twice})
	wantValue(t, h.Wait(asTenant("globex"), me, wantWaiting(t, r, codemode.ReasonYield)), `[["whoami","acme","session",true,true],["whoami","globex","session",false,true]]`)

	r = exec(h, `return await tools.whoami().catch((e) => [e.message, e.code, e.effectStatus])`)
	wantValue(t, r, `["The call of \"whoami\" was blocked before execution: no tenant","blocked","none"]`)
}

// TestTheRequestEndsItsCalls: a call ends with the request that drives its run, and the
// tool learns the cause.
func TestTheRequestEndsItsCalls(t *testing.T) {
	t.Parallel()
	errHangUp := errors.New("the caller hung up")
	g := newGate()
	h := start(t, host.Config{Settings: host.Settings{Timeout: time.Minute}, Tools: []catalog.Tool{g.tool("slow")}})
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan *host.Result)
	go func() { done <- h.Exec(ctx, me, host.ExecInput{Code: `return await tools.slow()`}) }()
	<-g.entered
	cancel(errHangUp)
	wantFailure(t, <-done, codemode.CodeAborted, "", codemode.PhaseHost)
	if cause := <-g.ended; !errors.Is(cause, errHangUp) {
		t.Errorf("the call ended with %v, want %v", cause, errHangUp)
	}
}

// TestCallsLearnTheDeadline: a tool learns when its caller gives up; the context of its
// call, which may outlive that, has no deadline.
func TestCallsLearnTheDeadline(t *testing.T) {
	t.Parallel()
	has := echo("has")
	has.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		_, bounded := ctx.Deadline()
		return json.Marshal([]any{c.Deadline.UnixNano(), bounded})
	}
	h := start(t, host.Config{Tools: []catalog.Tool{has}})
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	deadline, _ := ctx.Deadline()
	wantValue(t, h.Exec(ctx, me, host.ExecInput{Code: `const [at, bounded] = await tools.has({}); return [String(at).slice(0, 9), bounded]`}),
		fmt.Sprintf(`["%.9s",false]`, fmt.Sprint(deadline.UnixNano())))
}

// TestCallsOutliveTheirRequest: once the run is suspended, the end of the request does
// not end its calls, and they keep its values.
func TestCallsOutliveTheirRequest(t *testing.T) {
	t.Parallel()
	g := newGate()
	slow := g.tool("slow")
	invoke := slow.Invoke
	slow.Invoke = func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		if _, err := invoke(ctx, c); err != nil {
			return nil, err
		}
		return json.Marshal(ctx.Value(tenantKey{}))
	}
	h := start(t, host.Config{Tools: []catalog.Tool{slow}})
	ctx, cancel := context.WithCancel(asTenant("acme"))
	r := h.Exec(ctx, me, host.ExecInput{Code: `const p = tools.slow(); await yield_control(); return await p`})
	id := wantWaiting(t, r, codemode.ReasonPendingTools)
	cancel()
	<-g.entered
	close(g.open)
	wantValue(t, h.Wait(context.Background(), me, id), `"acme"`)
}
