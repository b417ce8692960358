package policy_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// Patterns choose tools by name, owner or source.
func ExampleParsePatterns() {
	chosen, err := policy.ParsePatterns("rules.deny", []string{"*_delete", "owner:payments"})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range []policy.Tool{{Name: "file_delete", Owner: "files"}, {Name: "refund", Owner: "payments"}, {Name: "file_list", Owner: "files"}} {
		fmt.Println(t.Name, chosen.Match(t))
	}
	// Output:
	// file_delete true
	// refund true
	// file_list false
}

// An approval is decided once: the first decision counts.
func ExampleDecide() {
	ctx, now := context.Background(), time.Now()
	var store policy.MemoryApprovals
	a, err := policy.NewApproval(
		policy.Call{RunID: "run_1", CallID: "call_1", ToolID: "quoin:core:pay", ToolName: "pay"},
		[]policy.Ask{{Hook: "payments", ApprovalRequest: policy.ApprovalRequest{
			Title: "Pay?", Timeout: time.Minute, Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}}}}, now)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Add(ctx, a); err != nil {
		log.Fatal(err)
	}
	got, err := policy.Decide(ctx, &store, a.ID, policy.AllowOnce, "ada", now)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got.Decision, got.By)
	_, err = policy.Decide(ctx, &store, a.ID, policy.Deny, "bob", now)
	fmt.Println(errors.Is(err, policy.ErrDecided))
	// Output:
	// allow-once ada
	// true
}

// An inquiry puts the questions of a tool to a person, who answers them.
func ExampleAnswer() {
	ctx, now := context.Background(), time.Now()
	var store policy.MemoryApprovals
	a, err := policy.NewInquiry(
		policy.Call{RunID: "run_1", CallID: "call_1", ToolID: "mcp:shop:order", ToolName: "order"},
		[]codemode.Question{{ID: "size", Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
			Schema: []byte(`{"type":"object","properties":{"size":{"enum":["S","M"]}},"required":["size"]}`)}}, 0, now)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Add(ctx, a); err != nil {
		log.Fatal(err)
	}
	_, err = policy.Answer(ctx, &store, a.ID, map[string]codemode.QuestionAnswer{"size": {Action: codemode.AnswerAccept, Content: []byte(`{"size":"XXL"}`)}}, "ada", now)
	fmt.Println(errors.Is(err, policy.ErrInvalidAnswer))
	got, err := policy.Answer(ctx, &store, a.ID, map[string]codemode.QuestionAnswer{"size": {Action: codemode.AnswerAccept, Content: []byte(`{"size":"M"}`)}}, "ada", now)
	fmt.Println(got.State, err)
	// Output:
	// true
	// answered <nil>
}
