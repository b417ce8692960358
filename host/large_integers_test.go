package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// TestAnIDIsPassedOnAsItCame: a program takes an id that no double holds from one tool to
// another without changing it.
func TestAnIDIsPassedOnAsItCame(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"id":{"type":"integer"}}}`
	find := catalog.Tool{Name: "find", Description: "Finds an id.", Output: json.RawMessage(schema), Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage(`{"id":9007199254740993}`), nil
	}}
	var got string
	get := catalog.Tool{Name: "get", Description: "Gets one.", Parameters: json.RawMessage(schema), Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		got = string(c.Input)
		return nil, nil
	}}
	h := start(t, host.Config{Tools: []catalog.Tool{find, get}})
	for code, want := range map[string]string{
		`const { id } = await tools.find({}); await tools.get({ id }); return id`: `"9007199254740993"`,
		`await tools.get({ id: 9007199254740993n })`:                              `null`,
	} {
		got = ""
		wantValue(t, exec(h, code), want)
		if got != `{"id":9007199254740993}` {
			t.Errorf("%s: the second tool got %s", code, got)
		}
	}
}
