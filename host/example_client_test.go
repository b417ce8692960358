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

// The caller of a run brings a tool that only it can answer, such as a question
// to the person at the screen. The run waits until it has.
func ExampleHost_Answer() {
	guest, err := hosttest.Guest() // a gateway leaves GuestPath to its default
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	h, err := host.New(ctx, host.Config{Guests: host.GuestConfig{Path: guest}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	session := host.Session{SessionID: "42"}
	res := h.Exec(ctx, session, host.ExecInput{
		Code: `const file = await tools.pick_file({ title: "Which report?" }); return "reading " + file.path`,
		Tools: []catalog.Tool{{
			Name:        "pick_file",
			Description: "Asks the person at the screen for a file.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`),
		}},
	})
	for res.Status == host.StatusWaiting {
		for _, call := range res.PendingToolCalls {
			fmt.Printf("%s %s\n", call.Tool, call.Input)
			answer := host.ToolAnswer{Value: json.RawMessage(`{"path":"reports/may.csv"}`)}
			if err := h.Answer(ctx, session, res.RunID, call.ID, answer); err != nil {
				log.Fatal(err)
			}
		}
		res = h.Wait(ctx, session, res.RunID)
	}
	fmt.Printf("%s\n", res.Value)
	// Output:
	// client:client:pick_file {"title":"Which report?"}
	// "reading reports/may.csv"
}
