package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// endless returns two tools: one that ends only with its context, and says so, and
// one that returns once the first has been called.
func endless(ended chan<- error) []catalog.Tool {
	entered := make(chan struct{})
	tool := func(name string, invoke func(context.Context) error) catalog.Tool {
		return catalog.Tool{
			Name: name, Description: "Ends as the test says.", Owner: catalog.OwnerCore, Source: catalog.SourceQuoin,
			Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) { return nil, invoke(ctx) },
		}
	}
	return []catalog.Tool{
		tool("endless", func(ctx context.Context) error {
			close(entered)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}),
		tool("begun", func(ctx context.Context) error {
			select {
			case <-entered:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}),
	}
}

// TestAbortSignalEndsTheToolsContext: the guest continues at once, and the tool's context
// ends, whichever way the call was made.
func TestAbortSignalEndsTheToolsContext(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"tools.call":       `tools.call("endless", {}, {signal})`,
		"tools.<name>":     `tools.endless({}, {signal})`,
		"with the default": `tools.endless(undefined, {signal})`,
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			h := start(t, host.Config{Tools: endless(ended)})
			r := exec(h, `const c = new AbortController(), {signal} = c
				const call = `+code+`
				await tools.begun()
				c.abort(new RangeError("enough"))
				try { await call } catch (e) { return [e.name, e.message] }`)
			wantValue(t, r, `["RangeError","enough"]`)
			if cause := <-ended; cause == nil || cause.Error() != "the program gave the call up" {
				t.Errorf("the tool's context ended because of %v", cause)
			}
		})
	}
}

// TestAbortSignalOfATimeout: the guest's timer gives the call up.
func TestAbortSignalOfATimeout(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	h := start(t, host.Config{Tools: endless(ended)})
	r := exec(h, `try { await tools.endless({}, {signal: AbortSignal.timeout(1)}) } catch (e) { return e.name }`)
	wantValue(t, r, `"TimeoutError"`)
}

// TestGuestReadsItsDeclarations: the worker's own file and the host's.
func TestGuestReadsItsDeclarations(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{{
		Name: "echo", Owner: catalog.OwnerCore, Source: catalog.SourceQuoin, Description: "Echoes.",
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) { return c.Input, nil },
	}}})
	r := exec(h, `const {files} = await API.list()
		const wrong = []
		for (const f of files) {
			const g = await API.read(f.path)
			if (g.description !== f.description || g.bytes !== f.bytes || new TextEncoder().encode(g.content).length !== f.bytes) wrong.push(f)
		}
		return [wrong, files.some((f) => f.path === "guest.d.ts"), files.some((f) => f.path === "tools/echo.d.ts"), (await API.read("guest.d.ts")).content.includes("interface Tools")]`)
	wantValue(t, r, `[[],true,true,true]`)
}
