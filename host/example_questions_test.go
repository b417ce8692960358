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

// A tool that has to know more returns its questions, before it has changed anything. The
// run waits, and the tool is invoked again with the answers.
func ExampleApprovals_Answer() {
	ctx := context.Background()
	guest, err := hosttest.Guest() // in a gateway: built next to it
	if err != nil {
		log.Fatal(err)
	}
	order := catalog.Tool{
		Name: "order", Description: "Orders a shirt.",
		Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
			if c.Resumption == nil {
				return nil, &codemode.InputRequired{Questions: []codemode.Question{{
					ID: "size", Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
					Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["S","M"]}},"required":["size"]}`),
				}}}
			}
			return c.Resumption.Answers["size"].Content, nil
		},
	}
	questions := make(chan *policy.Approval, 1)
	h, err := host.New(ctx, host.Config{
		Guests: host.GuestConfig{Path: guest}, Tools: []catalog.Tool{order},
		Approvals: host.ApprovalConfig{OnNew: func(a *policy.Approval) { questions <- a }}, // tell a person
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	go func() { // the person
		a := <-questions
		fmt.Println(a.Questions[0].From+":", a.Questions[0].Message)
		_, err := h.Approvals().Answer(ctx, a.ID, map[string]host.QuestionAnswer{
			"size": {Action: codemode.AnswerAccept, Content: json.RawMessage(`{"size":"M"}`)},
		}, "ada")
		if err != nil {
			log.Fatal(err)
		}
	}()

	session := host.Session{SessionID: "42"}
	r := h.Exec(ctx, session, host.ExecInput{Code: `return (await tools.order()).size`})
	for r.Status == host.StatusWaiting && r.Reason == codemode.ReasonApproval { // the person takes long
		r = h.Wait(ctx, session, r.RunID)
	}
	fmt.Println(string(r.Value))
	// Output:
	// shop: Which size?
	// "M"
}
