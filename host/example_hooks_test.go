package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// pay is a tool that should not be called unwatched.
var pay = catalog.Tool{
	Name: "pay", Description: "Pays an invoice.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"invoice":{"type":"string"},"amount":{"type":"number"}},"required":["invoice","amount"]}`),
	Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		fmt.Println("paid:", string(c.Input))
		return json.RawMessage(`{"paid":true,"account":"DE02 1203"}`), nil
	},
}

// Hooks see every call before and after it: they rewrite inputs, block, and keep
// from the program what it should not read.
func ExampleConfig_hooks() {
	ctx := context.Background()
	guest, err := hosttest.Guest() // in a gateway: built next to it
	if err != nil {
		log.Fatal(err)
	}
	limit := policy.Hook{
		Name: "limit", Tools: []string{"pay"},
		Before: func(_ context.Context, c *policy.Call) (policy.Verdict, error) {
			var in struct{ Amount float64 }
			if err := json.Unmarshal(c.Params, &in); err != nil {
				return policy.Verdict{}, err // a hook that fails blocks
			}
			if in.Amount > 1000 {
				return policy.Verdict{Block: true, Reason: "pay at most 1000 at once"}, nil
			}
			return policy.Verdict{}, nil
		},
		After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) {
			return json.RawMessage(`{"paid":true}`), nil // without the account
		},
	}
	h, err := host.New(ctx, host.Config{Guests: host.GuestConfig{Path: guest}, Tools: []catalog.Tool{pay}, Hooks: []policy.Hook{limit}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	for _, amount := range []int{100, 5000} {
		r := h.Exec(ctx, host.Session{SessionID: "42"}, host.ExecInput{
			Code: fmt.Sprintf(`try { return await tools.pay({invoice: "7", amount: %d}) } catch (e) { return e.message }`, amount),
		})
		fmt.Println(string(r.Value))
	}
	// Output:
	// paid: {"invoice":"7","amount":100}
	// {"paid":true}
	// "The call of \"pay\" was blocked before execution: pay at most 1000 at once"
}

// A call that needs a person waits, and the run with it. Anyone who answers, from
// wherever, calls Decide.
func ExampleApprovals_Decide() {
	ctx := context.Background()
	guest, err := hosttest.Guest() // in a gateway: built next to it
	if err != nil {
		log.Fatal(err)
	}
	ask, err := policy.ApprovalRule{
		Tools:           []string{"pay"},
		ApprovalRequest: policy.ApprovalRequest{Title: "Pay the invoice?", Severity: policy.SeverityCritical},
	}.Hook("payments")
	if err != nil {
		log.Fatal(err)
	}
	questions := make(chan *policy.Approval, 1)
	h, err := host.New(ctx, host.Config{
		Guests: host.GuestConfig{Path: guest}, Tools: []catalog.Tool{pay}, Hooks: []policy.Hook{ask},
		Approvals: host.ApprovalConfig{OnNew: func(a *policy.Approval) { questions <- a }}, // tell a person
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	go func() { // the person
		q := <-questions
		fmt.Println(q.Title, string(q.Input))
		if _, err := h.Approvals().Decide(ctx, q.ID, policy.AllowOnce, "ada"); err != nil {
			log.Fatal(err)
		}
	}()

	session := host.Session{SessionID: "42"}
	r := h.Exec(ctx, session, host.ExecInput{Code: `return (await tools.pay({invoice: "7", amount: 100})).paid`})
	for r.Status == host.StatusWaiting && r.Reason == codemode.ReasonApproval { // the person takes long
		r = h.Wait(ctx, session, r.RunID)
	}
	fmt.Println(string(r.Value))
	// Output:
	// Pay the invoice? {"invoice":"7","amount":100}
	// paid: {"invoice":"7","amount":100}
	// true
}
