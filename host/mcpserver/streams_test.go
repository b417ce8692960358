package mcpserver

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host/trajectory"
)

// TestASubscriptionEndsWithTheInput: it has no answer that the end of the input could wait for.
func TestASubscriptionEndsWithTheInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}` + "\n")
		c, err := answering{&mcp.IOTransport{Reader: io.NopCloser(in), Writer: &writer{out: io.Discard}}, time.Minute}.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("after the subscription: %v, want io.EOF", err)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("the end of the input was held back for %v", took)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAResultThatAsksHasAList: clients of the protocol expect content to be one.
func TestAResultThatAsksHasAList(t *testing.T) {
	t.Parallel()
	o, err := Options{}.filled()
	if err != nil {
		t.Fatal(err)
	}
	c := &toolCall{server: &Server{options: o}}
	res, err := c.inputRequired(requestState{Expires: time.Now().Add(time.Hour)}, mcp.InputRequestMap{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(res); err != nil || !strings.Contains(string(text), `"content":[]`) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestProgressNamesWhatItIsAbout, whatever an event says of it.
func TestProgressNamesWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]trajectory.Event{
		"mcp:shop:buy waits for a person":    {Kind: trajectory.ApprovalRequested, ToolID: "mcp:shop:buy"},
		"MCP.shop.buy started":               {Kind: trajectory.CallStarted, Via: "MCP.shop.buy", ToolName: "buy", ToolID: "mcp:shop:buy"},
		"buy: 50 %":                          {Kind: trajectory.CallProgress, ToolName: "buy", Progress: 0.5},
		"buy: goes on":                       {Kind: trajectory.CallProgress, ToolName: "buy"},
		"buy: 50 % packing":                  {Kind: trajectory.CallProgress, ToolName: "buy", Progress: 0.5, Message: "packing"},
		"buy: packing":                       {Kind: trajectory.CallProgress, ToolName: "buy", Message: "packing"},
		"MCP server shop is being connected": {Kind: trajectory.ServerAwaited, Owner: "shop"},
		"":                                   {Kind: trajectory.RunStarted},
	} {
		if got := progressMessage(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
