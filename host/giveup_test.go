package host_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
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

// TestAbortSignalEndsTheToolsContext: the guest goes on at once, and the tool's
// context ends, whichever way the call was made.
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

// TestAbortSignalReachesQueuedCalls: a call that waits for a slot is never made.
func TestAbortSignalReachesQueuedCalls(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	made := make(chan struct{}, 1)
	late := catalog.Tool{Name: "late", Description: "Comes too late.", Owner: catalog.OwnerCore, Source: catalog.SourceQuoin,
		Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			made <- struct{}{}
			return nil, nil
		}}
	h := start(t, host.Config{
		Tools:    append(endless(ended), late),
		Settings: host.Settings{MaxPendingCalls: 1},
	})
	r := exec(h, `const c = new AbortController(), {signal} = c
		const calls = Promise.allSettled([tools.endless({}, {signal}), tools.late({}, {signal})])
		c.abort()
		return (await calls).map((r) => r.reason.name)`)
	wantValue(t, r, `["AbortError","AbortError"]`)
	if len(made) > 0 {
		t.Error("a call that was given up in the queue was made")
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

// TestAbortSignalAfterAWait: a call that was in flight when the run was suspended
// can still be given up.
func TestAbortSignalAfterAWait(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	h := start(t, host.Config{Tools: endless(ended)})
	r := exec(h, `const c = new AbortController()
		const call = tools.endless({}, {signal: c.signal})
		await tools.begun(); await yield_control()
		c.abort("later")
		return await call.catch((e) => e)`)
	if r.Status != host.StatusWaiting {
		t.Fatalf("got %+v", r)
	}
	wantValue(t, h.Wait(context.Background(), me, r.RunID), `"later"`)
	<-ended
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

// TestACallGivenUpInTheQueueStaysSoAfterACrash: the next host does not make what
// the program gave up before it was made.
func TestACallGivenUpInTheQueueStaysSoAfterACrash(t *testing.T) {
	t.Parallel()
	dir, crashed := mkdir(t), mkdir(t)
	slow := newGate()
	paid := make(chan struct{}, 1)
	pay := catalog.Tool{Name: "pay", Description: "Pays.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		paid <- struct{}{}
		return nil, nil
	}}
	settings := host.Settings{MaxPendingCalls: 1}
	first := start(t, host.Config{Settings: settings, Store: openDir(t, dir), Tools: []catalog.Tool{slow.tool("slow"), pay, echo("echo")}})
	id := wantWaiting(t, exec(first, `const c = new AbortController()
		const slow = tools.slow().catch((e) => e.effectStatus), pay = tools.pay({}, {signal: c.signal}).catch((e) => e.name)
		c.abort(); await yield_control()
		return [await slow, await pay, await tools.echo({n: 1})]`), host.ReasonPendingTools)
	copyStore(t, crashed, dir) // what a host that is killed now leaves
	second := start(t, host.Config{Settings: settings, Store: openDir(t, crashed), Tools: []catalog.Tool{slow.tool("slow"), pay, echo("echo")}})
	wantValue(t, second.Wait(context.Background(), me, id), `["unknown","AbortError",{"n":1}]`)
	if len(paid) > 0 {
		t.Error("a call that was given up in the queue was made after the crash")
	}
}

// copyStore copies a directory of runs, for its owner alone.
func copyStore(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
