package main

import (
	"cmp"
	"context"
	"errors"
	"reflect"

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
		Revert: sdk.RevertBy(func(in tracker.Draft, made tracker.Issue) (*sdk.Inverse, error) {
			as := tracker.Detail{Issue: made, Body: in.Body}.Content()
			return &sdk.Inverse{Tool: "issues_withdraw", Input: withdrawInput{ID: made.ID, As: as}}, nil
		}),
		Examples: []sdk.Example{{Input: tracker.Draft{Title: "Crash on save", Body: "Saving an empty file crashes.", Labels: []string{"bug"}, Assignee: "ada"}}},
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
		Revert:      sdk.RevertBy(func(_ updateInput, out changed) (*sdk.Inverse, error) { return restore(out) }),
		Examples: []sdk.Example{
			{Description: "assign and label", Input: updateInput{ID: 12, Patch: tracker.Patch{Version: 3, Assignee: new("bob"), AddLabels: []string{"p1"}}}},
			{Description: "reopen", Input: updateInput{ID: 12, Patch: tracker.Patch{Version: 4, State: new("open")}}},
		},
	}, func(ctx context.Context, c *sdk.Call, in updateInput) (changed, error) {
		return asChanged(explain(d.store.Update(ctx, act(c), in.ID, in.Patch)))
	})
}

// changed is an issue after an edit. What the edit has changed is for the inverse alone.
type changed struct {
	tracker.Issue
	before, after tracker.Content
}

func asChanged(c tracker.Change, err error) (changed, error) {
	return changed{c.Issue, c.Before, c.After}, err
}

// restore undoes an edit, unless the issue has been edited since.
func restore(c changed) (*sdk.Inverse, error) {
	if reflect.DeepEqual(c.before, c.after) {
		return nil, nil
	}
	return &sdk.Inverse{Tool: "issues_restore", Input: restoreInput{ID: c.ID, From: c.after, To: c.before}}, nil
}

func (d *desk) addComment(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "issues_comment",
		Label:       "Comment on an issue",
		Description: "Adds a comment to an open or closed issue and returns it. Does not change the issue's version.",
		Idempotent:  true,
		Revert: sdk.RevertBy(func(_ commentInput, made tracker.Comment) (*sdk.Inverse, error) {
			return &sdk.Inverse{Tool: "issues_uncomment", Input: uncommentInput{ID: made.IssueID, Comment: made.ID}}, nil
		}),
		Examples: []sdk.Example{{Input: commentInput{ID: 12, Body: "Fixed in the next release."}}},
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
		Revert:      sdk.RevertBy(func(_ closeInput, out changed) (*sdk.Inverse, error) { return restore(out) }),
		Examples:    []sdk.Example{{Input: closeInput{ID: 12, Reason: "duplicate"}}},
	}, func(ctx context.Context, c *sdk.Call, in closeInput) (changed, error) {
		return asChanged(explain(d.store.CloseIssue(ctx, act(c), in.ID, in.Reason)))
	})
}

// The inputs of the tools that undo others. Programs may call them, but the namespace
// does not offer them.
type withdrawInput struct {
	ID int64           `json:"id" min:"1" jsonschema:"number of the issue"`
	As tracker.Content `json:"as" jsonschema:"what the issue must still be"`
}

type restoreInput struct {
	ID   int64           `json:"id" min:"1" jsonschema:"number of the issue"`
	From tracker.Content `json:"from" jsonschema:"what the issue must still be"`
	To   tracker.Content `json:"to" jsonschema:"what it becomes"`
}

type uncommentInput struct {
	ID      int64 `json:"id" min:"1" jsonschema:"number of the issue"`
	Comment int64 `json:"comment" min:"1" jsonschema:"id of the comment"`
}

func (d *desk) addWithdraw(p *sdk.Plugin) {
	sdk.AddTool(p, sdk.Tool{
		Name:        "issues_withdraw",
		Label:       "Withdraw an issue",
		Description: "Removes an issue that was created by mistake. Fails with code conflict once it was edited or has comments.",
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: withdrawInput{ID: 12, As: tracker.Content{Title: "Crash on save", State: tracker.Open, Labels: []string{}}}}},
	}, func(ctx context.Context, c *sdk.Call, in withdrawInput) (tracker.Issue, error) {
		return explain(d.store.Withdraw(ctx, act(c), in.ID, in.As))
	})
}

func (d *desk) addRestore(p *sdk.Plugin) {
	sdk.AddTool(p, sdk.Tool{
		Name:        "issues_restore",
		Label:       "Restore an issue",
		Description: "Makes an issue what it was before it was edited, closed or reopened. Fails with code conflict if it has been edited since.",
		Idempotent:  true,
		Examples: []sdk.Example{{Input: restoreInput{
			ID: 12, From: tracker.Content{Title: "Crash", State: tracker.Open, Labels: []string{}}, To: tracker.Content{Title: "Crash on save", State: tracker.Open, Labels: []string{}},
		}}},
	}, func(ctx context.Context, c *sdk.Call, in restoreInput) (tracker.Issue, error) {
		return explain(d.store.Restore(ctx, act(c), in.ID, in.From, in.To))
	})
}

func (d *desk) addUncomment(p *sdk.Plugin) {
	sdk.AddTool(p, sdk.Tool{
		Name:        "issues_uncomment",
		Label:       "Remove a comment",
		Description: "Removes a comment. Returns the issue.",
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: uncommentInput{ID: 12, Comment: 3}}},
	}, func(ctx context.Context, c *sdk.Call, in uncommentInput) (tracker.Issue, error) {
		return explain(d.store.Uncomment(ctx, act(c), in.ID, in.Comment))
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
