package pipeline

import (
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/mcp"
)

// TestFailuresOfMCP: what a server refused without effect may be tried again, and says so.
func TestFailuresOfMCP(t *testing.T) {
	t.Parallel()
	tool := &catalog.Tool{Source: catalog.SourceMCP, Owner: "s", Name: "t"}
	e := failureFromMCP(tool, &mcp.Error{Code: mcp.CodeStatus, Message: "HTTP status 429", Retryable: true, Details: []byte(`{"status":429}`)})
	if e.EffectStatus != fault.EffectNone || !e.Retryable || e.Unknown || string(e.Details) != `{"status":429}` {
		t.Errorf("a refusal: %+v", e)
	}
	e = failureFromMCP(tool, &mcp.Error{Code: mcp.CodeClosed, Message: "it ended", Unknown: true})
	if e.EffectStatus != fault.EffectUnknown || e.Retryable || !e.Unknown {
		t.Errorf("an end: %+v", e)
	}
}
