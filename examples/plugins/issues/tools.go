package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/quoinhq/quoin/examples/plugins/issues/tracker"
	"github.com/quoinhq/quoin/sdk"
)

// desk is what the tools work on.
type desk struct{ store *tracker.Store }

// idInput names one issue.
type idInput struct {
	ID int64 `json:"id" min:"1" jsonschema:"number of the issue"`
}

type updateInput struct {
	ID    int64         `json:"id" min:"1" jsonschema:"number of the issue"`
	Patch tracker.Patch `json:"patch" jsonschema:"the version you read, and the fields to change"`
}

type commentInput struct {
	ID   int64  `json:"id" min:"1" jsonschema:"number of the issue"`
	Body string `json:"body" min:"1" max:"20000" jsonschema:"text of the comment"`
}

type closeInput struct {
	ID     int64  `json:"id" min:"1" jsonschema:"number of the issue"`
	Reason string `json:"reason,omitempty" enum:"completed,not_planned,duplicate" jsonschema:"why it is closed; default completed"`
}

func (d *desk) addList(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_list",
		Label:       "List issues",
		Description: "Finds issues by state, labels, assignee, words and time of the last change, sorted and in pages. Items carry everything but body and comments; total counts all matches. Without arguments: the open issues, latest change first.",
		ReadOnly:    true,
		Idempotent:  true,
		Examples: []sdk.Example{
			{Description: "open bugs of ada", Input: tracker.Filter{Labels: []string{"bug"}, Assignee: "ada"}},
			{Description: "what changed since March, oldest first", Input: tracker.Filter{State: "all", Since: "2026-03-01", Order: "asc", Limit: 50}},
		},
	}, func(ctx context.Context, _ *sdk.Call, in tracker.Filter) (tracker.Page, error) {
		return explain(d.store.List(ctx, in))
	})
}

func (d *desk) addGet(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_get",
		Label:       "Read an issue",
		Description: "Returns one issue with its body, its latest 200 comments and its version. Fails with code not_found.",
		ReadOnly:    true,
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: idInput{ID: 12}}},
	}, func(ctx context.Context, _ *sdk.Call, in idInput) (tracker.Detail, error) {
		return explain(d.store.Get(ctx, in.ID))
	})
}

func (d *desk) addCreate(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_create",
		Label:       "Create an issue",
		Description: "Creates an open issue and returns it with its number. Fails with code invalid_field and says which fields to mend.",
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: tracker.Draft{Title: "Crash on save", Body: "Saving an empty file crashes.", Labels: []string{"bug"}, Assignee: "ada"}}},
	}, func(ctx context.Context, c *sdk.Call, in tracker.Draft) (tracker.Issue, error) {
		return explain(d.store.Create(ctx, act(c), in))
	})
}

func (d *desk) addUpdate(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_update",
		Label:       "Edit an issue",
		Description: "Changes title, body, assignee, labels, or reopens a closed issue. Needs the version you read: fails with code conflict, naming the current version, if the issue has changed since. Returns the issue with its new version.",
		Idempotent:  true,
		Examples: []sdk.Example{
			{Description: "assign and label", Input: updateInput{ID: 12, Patch: tracker.Patch{Version: 3, Assignee: new("bob"), AddLabels: []string{"p1"}}}},
			{Description: "reopen", Input: updateInput{ID: 12, Patch: tracker.Patch{Version: 4, State: new("open")}}},
		},
	}, func(ctx context.Context, c *sdk.Call, in updateInput) (tracker.Issue, error) {
		return explain(d.store.Update(ctx, act(c), in.ID, in.Patch))
	})
}

func (d *desk) addComment(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_comment",
		Label:       "Comment on an issue",
		Description: "Adds a comment to an open or closed issue and returns it. Does not change the issue's version.",
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: commentInput{ID: 12, Body: "Fixed in the next release."}}},
	}, func(ctx context.Context, c *sdk.Call, in commentInput) (tracker.Comment, error) {
		return explain(d.store.Comment(ctx, act(c), in.ID, in.Body))
	})
}

func (d *desk) addClose(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_close",
		Label:       "Close an issue",
		Description: "Closes an issue and returns it. An issue that is closed for that reason already stays as it is; one closed for another reason fails with code already_closed.",
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: closeInput{ID: 12, Reason: "duplicate"}}},
	}, func(ctx context.Context, c *sdk.Call, in closeInput) (tracker.Issue, error) {
		return explain(d.store.CloseIssue(ctx, act(c), in.ID, in.Reason))
	})
}

// act is who makes a call. The agent's name comes from the host, not from the
// model, so it can be trusted as an author.
func act(c *sdk.Call) tracker.Act {
	return tracker.Act{Author: cmp.Or(c.Run.AgentID, "unknown"), Key: c.IdempotencyKey}
}

// explain turns a refusal of the tracker into one the model may read. Other
// errors pass as they are.
func explain[T any](out T, err error) (T, error) {
	if refusal, ok := errors.AsType[*tracker.Error](err); ok {
		err = &sdk.Error{Code: refusal.Code, Message: refusal.Message, Details: refusal.Details}
	}
	return out, err
}
