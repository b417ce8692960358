// Command issues is an issue tracker as a plugin. It teaches the ordinary
// shape of a plugin that keeps data:
//
//   - package tracker holds the data and its rules, without a word of plugins;
//   - tools.go turns its verbs into tools, one short function each;
//   - this file registers the namespace and opens the data when the host says
//     where the plugin's data directory is.
//
// It also shows errors a model can act on: an edit against an old version is
// refused with code "conflict", and the message says which version is current;
// and tools that may be repeated: each verb takes effect once per idempotency
// key.
package main

import (
	"context"
	"path/filepath"

	"github.com/quoinhq/quoin/examples/plugins/issues/tracker"
	"github.com/quoinhq/quoin/sdk"
)

func main() { sdk.Serve(newPlugin()) }

// prompt is what the model reads about the namespace.
const prompt = `Issues.list({state?, labels?, anyLabels?, assignee?, unassigned?, text?, since?, sort?, order?, limit? (20, at most 100), cursor?}) -> {items, nextCursor?, total}; Issues.get(id) adds body and thread.
Issues.create({title, body?, labels?, assignee?}), Issues.update(id, {version, ...changes}), Issues.comment(id, body), Issues.close(id, reason?).
update needs the version you read; on error code "conflict" get the issue again and retry.`

// newPlugin returns the plugin with everything registered. Its store opens when
// the host configures it.
func newPlugin() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "issues", Version: "1.0.0", Description: "An issue tracker over one SQLite file."}, nil)
	d := &desk{}
	p.OnConfigure(func(ctx context.Context, c sdk.Config) (err error) {
		d.store, err = tracker.OpenStore(ctx, filepath.Join(c.DataDir, "issues.db"), nil)
		return err
	})
	p.OnClose(func() error {
		if d.store == nil { // the host never called configure
			return nil
		}
		return d.store.Close()
	})

	d.addWithdraw(p)
	d.addRestore(p)
	d.addUncomment(p)
	p.AddNamespace(sdk.Namespace{
		ID:          "issues",
		Global:      "Issues",
		Description: "Issue tracker: find, read, create, edit, comment on and close issues.",
		Prompt:      prompt,
		Scope: sdk.Scope{
			"list":    sdk.Verb(d.addList(p)),
			"get":     sdk.Verb(d.addGet(p)).Positional("id"),
			"create":  sdk.Verb(d.addCreate(p)),
			"update":  sdk.Verb(d.addUpdate(p)).Positional("id", "patch"),
			"comment": sdk.Verb(d.addComment(p)).Positional("id", "body"),
			"close":   sdk.Verb(d.addClose(p)).Positional("id", "reason"),
		},
	})
	return p
}
