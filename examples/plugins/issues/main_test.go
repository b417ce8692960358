package main

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/quoinhq/quoin/examples/plugins/internal/plugintest"
	"github.com/quoinhq/quoin/examples/plugins/issues/tracker"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

func TestPlugin(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), &sdktest.Options{Run: &sdk.RunContext{AgentID: "ada", RunID: "r"}})
	plugintest.Check(t, h, "plugin.json")

	made := plugintest.Verb[tracker.Issue](t, h, "issues", "create", map[string]any{"title": "Crash on save", "labels": []string{"bug"}})
	if made.ID != 1 || made.Author != "ada" || made.Version != 1 {
		t.Errorf("created %+v", made)
	}
	edited := plugintest.Verb[tracker.Issue](t, h, "issues", "update", 1, map[string]any{"version": 1, "assignee": "bob", "labels": []string{}})
	if edited.Version != 2 || edited.Assignee != "bob" || len(edited.Labels) != 0 {
		t.Errorf("edited %+v", edited)
	}
	plugintest.Verb[tracker.Comment](t, h, "issues", "comment", 1, "On it.")
	if page := plugintest.Verb[tracker.Page](t, h, "issues", "list"); page.Total != 1 || len(page.Items) != 1 || page.Items[0].Comments != 1 {
		t.Errorf("listed %+v", page)
	}
	if page := plugintest.Verb[tracker.Page](t, h, "issues", "list", map[string]any{"anyLabels": []string{"bug"}}); page.Total != 0 {
		t.Errorf("listed %+v, want none", page)
	}
	if closed := plugintest.Verb[tracker.Issue](t, h, "issues", "close", 1); closed.CloseReason != "completed" {
		t.Errorf("closed %+v", closed)
	}
	if got := plugintest.Verb[tracker.Detail](t, h, "issues", "get", 1); got.State != "closed" || got.Thread[0].Body != "On it." {
		t.Errorf("got %+v", got)
	}
}

// TestTimesAreDeclared: the schemas say of each time that it is one, and not any text.
func TestTimesAreDeclared(t *testing.T) {
	for _, tool := range sdktest.Start(t, newPlugin(), nil).Describe().Tools {
		if tool.Name != "issues_get" {
			continue
		}
		var issue struct {
			Properties struct {
				CreatedAt, UpdatedAt, ClosedAt struct{ Format string }
				Thread                         struct {
					Items struct {
						Properties struct{ CreatedAt struct{ Format string } }
					}
				}
			}
		}
		if err := json.Unmarshal(tool.Output, &issue); err != nil {
			t.Fatal(err)
		}
		p := issue.Properties
		for _, format := range []string{p.CreatedAt.Format, p.UpdatedAt.Format, p.ClosedAt.Format, p.Thread.Items.Properties.CreatedAt.Format} {
			if format != "date-time" {
				t.Errorf("a time has the format %q: %s", format, tool.Output)
			}
		}
		return
	}
	t.Error("there is no tool issues_get")
}

// TestUndo: each change is undone, and one that others have changed again is not.
func TestUndo(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), nil)
	read := func() (out tracker.Detail) {
		h.CallInto(&out, "issues_get", map[string]any{"id": 1})
		return out
	}
	made := h.CallInverse("issues_create", map[string]any{"title": "Crash", "body": "It crashes.", "labels": []string{"bug"}})
	first := read()
	said := h.CallInverse("issues_comment", map[string]any{"id": 1, "body": "On it."})
	edited := h.CallInverse("issues_update", map[string]any{"id": 1, "patch": map[string]any{"version": 1, "title": "Crash on save", "labels": []string{}}})
	closed := h.CallInverse("issues_close", map[string]any{"id": 1, "reason": "duplicate"})
	if again := h.CallInverse("issues_close", map[string]any{"id": 1}); again != nil {
		t.Errorf("closing a closed issue is undone by %+v", again)
	}
	var conflict *protocol.Error
	if err := h.Revert(edited); !errors.As(err, &conflict) || conflict.Code != tracker.CodeConflict {
		t.Errorf("an edit before another one: %v", err)
	}
	if err := h.Revert(made); !errors.As(err, &conflict) || conflict.Code != tracker.CodeConflict {
		t.Errorf("an issue that was edited: %v", err)
	}
	for _, i := range []*protocol.Inverse{closed, edited, said} {
		if err := h.Revert(i); err != nil {
			t.Fatalf("%s: %v", i.Tool, err)
		}
	}
	if now := read(); !reflect.DeepEqual(now.Content(), first.Content()) || now.Comments != 0 {
		t.Errorf("after undo %+v, want %+v", now, first)
	}
	reopened := h.CallInverse("issues_close", map[string]any{"id": 1})
	if err := h.Revert(reopened); err != nil {
		t.Fatal(err)
	}
	if err := h.Revert(made); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Call("issues_get", map[string]any{"id": 1}); !errors.As(err, &conflict) || conflict.Code != tracker.CodeNotFound {
		t.Errorf("a withdrawn issue: %v", err)
	}
}

func TestErrorsForTheModel(t *testing.T) {
	h := sdktest.Start(t, newPlugin(), nil)
	plugintest.Verb[tracker.Issue](t, h, "issues", "create", map[string]any{"title": "a"})
	plugintest.Verb[tracker.Issue](t, h, "issues", "update", 1, map[string]any{"version": 1, "title": "b"})

	e := plugintest.Refused(t, h, "issues", "update", 1, map[string]any{"version": 1, "title": "c"})
	var facts struct{ CurrentVersion, ReadVersion int }
	if err := json.Unmarshal(e.Details, &facts); err != nil || e.Code != tracker.CodeConflict || facts.CurrentVersion != 2 || facts.ReadVersion != 1 {
		t.Errorf("conflict %+v %s: %v", e, e.Details, err)
	}
	for code, args := range map[string][]any{
		tracker.CodeNotFound:     {"get", 99},
		tracker.CodeInvalidField: {"create", map[string]any{"title": " "}},
		"invalid_input":          {"update", 1, map[string]any{"title": "no version"}},
	} {
		if e := plugintest.Refused(t, h, "issues", args[0].(string), args[1:]...); e.Code != code || e.Message == "" {
			t.Errorf("%v: code %q (%s), want %q", args, e.Code, e.Message, code)
		}
	}
}
