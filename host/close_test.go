package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// TestCloseWaitsForClose: a second Close finds the host closed when Close
// returns, too.
func TestCloseWaitsForClose(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	tool := echo("hold")
	tool.Invoke = func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		close(entered)
		<-leave
		return nil, nil
	}
	h := start(t, host.Config{Tools: []catalog.Tool{tool}})
	go exec(h, `await tools.hold()`)
	<-entered
	closed := make(chan error, 2)
	for range cap(closed) {
		go func() { closed <- h.Close() }()
	}
	select {
	case err := <-closed:
		t.Errorf("Close returned %v with a tool call under way", err)
	default:
	}
	close(leave)
	for range cap(closed) {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
}
