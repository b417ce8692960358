package mcpserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/terminal"
)

// reportProgress tells a client that has asked for it which calls the program makes. The
// run is that of runID, if it is the caller's, or the one that an Exec with the returned
// context starts. No notification is sent after stop has returned.
func (c *toolCall) reportProgress(ctx context.Context, runID string) (_ context.Context, stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return ctx, func() {}
	}
	id := rand.Text()
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	events := c.server.host.Subscribe(following)
	done := make(chan struct{})
	go func() {
		defer close(done)
		started, beat := time.Now(), time.NewTicker(c.server.times.heartbeat)
		defer beat.Stop()
		for {
			var message string
			select {
			case e, more := <-events:
				if !more {
					return
				}
				if c.caller.Owns(e.Session) && e.RunID != "" && (e.RunID == runID || e.ParentCallID == id) {
					message = progressMessage(e)
				}
			case <-beat.C:
				message = fmt.Sprintf("waiting for %s", time.Since(started).Round(time.Second))
			}
			if message == "" || ctx.Err() != nil {
				continue
			}
			c.steps++
			p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: c.steps, Message: message}
			if err := c.req.Session.NotifyProgress(ctx, p); err != nil {
				c.server.options.Logger.Debug("a client was not told of progress", "run", runID, "error", err)
			}
		}
	}()
	return host.WithToolCallID(ctx, id), func() {
		cancel()
		<-done
	}
}

// progressMessage says what a call of a program does, or is empty.
func progressMessage(e trajectory.Event) string {
	name := e.Via
	if name == "" {
		name = e.ToolName
	}
	name = terminal.Short(name)
	switch e.Kind {
	case trajectory.CallStarted:
		return name + " started"
	case trajectory.CallEnded:
		return name + " ended: " + string(e.Outcome)
	case trajectory.ApprovalRequested:
		return name + " waits for a person"
	}
	return ""
}

// traced returns a context under the span that the client names in _meta, if it does.
func traced(ctx context.Context, meta mcp.Meta) context.Context {
	carrier := propagation.MapCarrier{}
	for _, key := range []string{"traceparent", "tracestate"} {
		if value, ok := meta[key].(string); ok {
			carrier[key] = value
		}
	}
	return propagation.TraceContext{}.Extract(ctx, carrier)
}
