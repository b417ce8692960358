package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// A tool says with each call how that call is undone. Once the run has ended, a person
// undoes all that it has changed.
func ExampleEffects_Undo() {
	ctx := context.Background()
	guest, err := hosttest.Guest() // in a gateway: built next to it
	if err != nil {
		log.Fatal(err)
	}
	door := "closed"
	set := catalog.Tool{
		Name: "set_door", Description: "Opens or closes the door.", Idempotent: true, Revertible: true,
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			var in struct{ To string }
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			before, err := json.Marshal(map[string]string{"to": door})
			if err != nil {
				return nil, err
			}
			c.RevertBy(catalog.Inverse{Tool: "set_door", Input: before})
			door = in.To
			return json.RawMessage("null"), nil
		},
	}
	h, err := host.New(ctx, host.Config{Guests: host.GuestConfig{Path: guest}, Tools: []catalog.Tool{set}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	me := host.Session{SessionID: "42"}
	h.Exec(ctx, me, host.ExecInput{Code: `await tools.set_door({to: "open"})`})
	fmt.Println("the door is", door)
	runs, err := h.Effects().List(ctx)
	if err != nil {
		log.Fatal(err)
	}
	undone, err := h.Effects().Undo(ctx, me, runs[0].RunID, host.UndoOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(undone.Status, "and the door is", door)
	// Output:
	// the door is open
	// done and the door is closed
}
