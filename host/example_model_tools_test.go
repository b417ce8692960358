package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// A gateway gives the tools of a request to ModelTools and then works as before: it shows the
// model what is visible, checks the request, and invokes what the model calls.
func ExampleHost_ModelTools() {
	ctx := context.Background()
	guest, err := hosttest.Guest() // in a gateway: built next to it
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.New(ctx, host.Config{Guests: host.GuestConfig{Path: guest}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	tools := []catalog.Tool{{
		Name: "add", Description: "Adds two numbers.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			var in struct{ A, B float64 }
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			return json.Marshal(in.A + in.B)
		},
	}}
	turn, err := h.ModelTools(ctx, host.Session{SessionID: "42"}, tools, host.ModelToolsOptions{Model: "some-model"})
	if err != nil {
		log.Fatal(err) // never send the tools instead
	}
	request, err := modeltools.Render(modeltools.ProviderOpenAI, turn.Visible)
	if err != nil {
		log.Fatal(err)
	}
	if err := turn.VerifyRequest(modeltools.ProviderOpenAI, fmt.Appendf(nil, `{"model":"some-model","tools":%s}`, request)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Names())

	// The model calls exec.
	arguments := json.RawMessage(`{"code":"const [x, y] = await Promise.all([tools.add({a: 1, b: 2}), tools.add({a: 3, b: 4})]); return x * y"}`)
	for _, t := range turn.Visible {
		if t.Name != "exec" {
			continue
		}
		answer, err := t.Invoke(ctx, catalog.Invocation{Input: arguments})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(answer)) // what the model is shown
	}
	// Output:
	// [exec wait]
	// {"status":"completed","value":21}
}
