package mcp

import (
	"io"
	"testing"
)

// TestABatchHasNoBatches: each level of nesting would be another look at all of it.
func TestABatchHasNoBatches(t *testing.T) {
	t.Parallel()
	events, err := io.ReadAll(asEvents([]byte(`[{"a":1}, [[{"b":2}]], 3]`)))
	if want := "data: {\"a\":1}\n\ndata: null\n\ndata: 3\n\n"; err != nil || string(events) != want {
		t.Errorf("got %q, %v", events, err)
	}
}
