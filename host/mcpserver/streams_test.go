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
