package sdktest

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// Main runs the tests of a package that uses [Harness.Cell]. Guest workers are
// processes of the test binary itself, so it must come first in TestMain:
//
//	func TestMain(m *testing.M) { sdktest.Main(m) }
func Main(m *testing.M) {
	guestserver.ServeIfWorker()
	os.Exit(m.Run())
}

// Cell runs a JavaScript program against the plugin: a real guest in a real
// worker process, the plugin's tools and namespaces, and nothing else. A program
// that yields can resume with Wait of [Harness.Host]. It needs [Main].
func (h *Harness) Cell(code string) *host.Result {
	h.t.Helper()
	return h.exec(host.ExecInput{Code: code})
}

// TypeScript is [Harness.Cell] for a TypeScript program.
func (h *Harness) TypeScript(code string) *host.Result {
	h.t.Helper()
	return h.exec(host.ExecInput{Code: code, Language: "typescript"})
}

func (h *Harness) exec(in host.ExecInput) *host.Result {
	h.t.Helper()
	return h.Host().Exec(h.t.Context(), h.Session(), in)
}

// Session returns the session of the harness's programs: the session of the run of its calls.
func (h *Harness) Session() host.Session {
	rc := h.currentRun()
	return host.Session{AgentID: rc.AgentID, SessionKey: rc.SessionKey, SessionID: rc.SessionID, TurnID: rc.TurnID}
}

// Host returns the host that runs the cells. It starts with the first use and
// closes with the test.
func (h *Harness) Host() *host.Host {
	h.t.Helper()
	h.hostOnce.Do(func() {
		h.host, h.hostErr = host.New(h.t.Context(), host.Config{
			Guests: host.GuestConfig{Prepared: 1}, Tools: h.tools(), Namespaces: h.registrations(),
			// The cells are the test's own, and a test binary with cgo cannot be sealed.
			Settings: host.Settings{Isolation: host.IsolationBestEffort},
		})
		if h.hostErr == nil {
			h.t.Cleanup(func() {
				if err := h.host.Close(); err != nil {
					h.t.Errorf("sdktest: closing the host: %v", err)
				}
			})
		}
	})
	if h.hostErr != nil {
		h.t.Fatalf("sdktest: no host for cells (does TestMain call sdktest.Main?): %v", h.hostErr)
	}
	return h.host
}

// tools are the plugin's, as a host's catalog has them.
func (h *Harness) tools() []catalog.Tool {
	var out []catalog.Tool
	for _, t := range h.desc.Tools {
		var examples []catalog.Example
		for _, e := range t.Examples {
			examples = append(examples, catalog.Example(e))
		}
		out = append(out, catalog.Tool{
			Name:        t.Name,
			Label:       t.Label,
			Description: t.Description,
			Owner:       h.desc.ID,
			Parameters:  t.Parameters,
			Output:      t.Output,
			ReadOnly:    t.ReadOnly,
			Idempotent:  t.Idempotent,
			Revertible:  t.Revertible,
			Examples:    examples,
			Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
				return h.client.CallTool(ctx, protocol.CallRequest{
					Tool:           t.Name,
					CallID:         c.ID,
					IdempotencyKey: c.IdempotencyKey,
					Run: sdk.RunContext{
						AgentID: c.Session.AgentID, SessionKey: c.Session.SessionKey,
						SessionID: c.Session.SessionID, RunID: c.RunID, TurnID: c.Session.TurnID,
					},
					Input: c.Input,
					RevertBy: func(i protocol.Inverse) {
						if c.RevertBy != nil {
							c.RevertBy(catalog.Inverse(i))
						}
					},
				}, c.Progress)
			},
		})
	}
	return out
}

// registrations are the plugin's namespaces, as a host's registry has them.
func (h *Harness) registrations() []namespaces.Registration {
	var out []namespaces.Registration
	for _, n := range h.desc.Namespaces {
		out = append(out, namespaces.Registration{
			PluginID:      h.desc.ID,
			ID:            n.ID,
			GlobalName:    n.GlobalName,
			Description:   n.Description,
			Prompt:        n.Prompt,
			RequiredTools: n.RequiredTools,
			CreateScope: func(ctx context.Context, rc namespaces.RunContext) (any, error) {
				b, err := h.client.CreateScope(ctx, n.ID, protocol.RunContext(rc))
				if err != nil {
					return nil, err
				}
				return namespaces.Decode(b, namespaces.Limits{})
			},
			MapInput: func(ctx context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
				return h.client.MapInput(ctx, n.ID, protocol.RunContext(rc), mapper, args)
			},
		})
	}
	return out
}
