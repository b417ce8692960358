// Command fictions is the production desk of a small fiction publisher as a
// plugin. It teaches scopes:
//
//   - a scope is made for each run (CreateScope) and may hold plain data next to
//     verbs: Fictions.statuses is an array and Fictions.desk an object that the
//     guest reads without any call;
//   - the data may come from the plugin's configuration and from the run: the
//     desk's name is configured, the agent's name is the run's;
//   - Positional gives the arguments of a verb their names, so that a guest
//     writes Fictions.promoteIfReady("F-105", "edit").
package main

import (
	"context"
	"path/filepath"

	"github.com/quoinhq/quoin/examples/plugins/fictions/desk"
	"github.com/quoinhq/quoin/sdk"
)

func main() { sdk.Serve(newPlugin()) }

// config is the plugin's section of the host's configuration.
type config struct {
	Desk  string `json:"desk"`
	Today string `json:"today"`
}

// newPlugin returns the plugin with everything registered. Its desk opens when
// the host configures it.
func newPlugin() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "fictions", Version: "1.0.0", Description: "The production desk of a small fiction publisher."}, nil)
	s := &service{config: config{Desk: "Fiction desk"}}
	p.OnConfigure(func(ctx context.Context, c sdk.Config) error {
		err := c.Decode(&s.config)
		if err != nil {
			return err
		}
		s.desk, err = desk.Open(ctx, filepath.Join(c.DataDir, "fictions.db"), s.config.Today)
		return err
	})
	p.OnClose(func() error {
		if s.desk == nil { // the host never came to configure
			return nil
		}
		return s.desk.Close()
	})

	audit, promote, unpaid := s.addAudit(p), s.addPromote(p), s.addUnpaid(p)
	p.AddNamespace(sdk.Namespace{
		ID:          "fictions",
		Global:      "Fictions",
		Description: "Fiction production service helpers.",
		Prompt:      "Use Fictions.riskAudit(), Fictions.promoteIfReady(id, status), and Fictions.unpaidOver(amount). Fictions.statuses lists the statuses in order.",
		Tools:       []*sdk.ToolRef{audit, promote, unpaid},
		CreateScope: func(_ context.Context, rc sdk.RunContext) (sdk.Scope, error) {
			return sdk.Scope{
				"riskAudit":      sdk.Verb(audit),
				"promoteIfReady": sdk.Verb(promote).Positional("id", "status"),
				"unpaidOver":     sdk.Verb(unpaid).Positional("amount"),
				"statuses":       desk.Statuses,
				"desk":           map[string]string{"name": s.config.Desk, "agent": rc.AgentID},
			}, nil
		},
	})
	return p
}
