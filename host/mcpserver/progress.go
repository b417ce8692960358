package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
)

// reportProgress tells a client that has asked for it what happens in the runs that are driven
// with the returned context: their calls, and what they put out. No notification is sent after
// stop has returned.
func (c *toolCall) reportProgress(ctx context.Context, runID string) (_ context.Context, stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return ctx, func() {}
	}
	watch := observe.NewWatch()
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	notify := func(message string) {
		if message == "" || ctx.Err() != nil || following.Err() != nil {
			return
		}
		c.steps++
		p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: c.steps, Message: message}
		if err := c.req.Session.NotifyProgress(ctx, p); err != nil {
			c.server.options.Logger.Debug("a client was not told of progress", "run", runID, "error", err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		started, beat := time.Now(), time.NewTicker(c.server.times.heartbeat)
		defer beat.Stop()
		for {
			select {
			case <-watch.Wake():
				for _, one := range watch.Take() {
					notify(watchedMessage(one))
				}
			case <-beat.C:
				notify(fmt.Sprintf("waiting for %s", time.Since(started).Round(time.Second)))
			case <-following.Done():
				return
			}
		}
	}()
	return observe.WithWatch(ctx, watch), func() {
		cancel()
		watch.Close()
		<-done
	}
}

// maxProgressText bounds what one notification says of the output of a program, in bytes.
const maxProgressText = 1000

// watchedMessage says what has happened in a run, or is empty.
func watchedMessage(one observe.Watched) string {
	switch {
	case one.Event != nil:
		return progressMessage(*one.Event)
	case one.Output != nil:
		words := one.Output.Text()
		if one.Output.Kind != codemode.OutputText {
			words = string(one.Output.Value)
		}
		return terminal.Text(text.Shorten(words, maxProgressText))
	}
	return ""
}

// progressMessage says what a call of a program does, or is empty.
func progressMessage(e trajectory.Event) string {
	name := terminal.Short(cmp.Or(e.Via, e.ToolName, e.ToolID))
	switch e.Kind {
	case trajectory.CallStarted:
		return name + " started"
	case trajectory.CallProgress:
		words := terminal.Short(e.Message)
		if e.Progress > 0 {
			words = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", e.Progress*100, words))
		}
		return name + ": " + cmp.Or(words, "goes on")
	case trajectory.CallEnded:
		return name + " ended: " + string(e.Outcome)
	case trajectory.ApprovalRequested:
		return name + " waits for a person"
	case trajectory.ServerAwaited:
		return "MCP server " + terminal.Short(e.Owner) + " is being connected"
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
