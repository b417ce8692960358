package host_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// slowServer is an MCP server that answers nothing before open is closed.
func slowServer(t *testing.T, name string, open <-chan struct{}) mcp.Server {
	t.Helper()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return upstream(name) }, &sdk.StreamableHTTPOptions{Stateless: true})
	over := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			handler.ServeHTTP(w, r)
		case <-over:
		}
	}))
	t.Cleanup(func() {
		close(over)
		web.CloseClientConnections()
		web.Close()
	})
	return mcp.Server{Name: name, URL: web.URL}
}

// slowHost starts a host. Its servers have not connected yet.
func slowHost(t *testing.T, cfg host.Config, servers ...mcp.Server) *host.Host {
	t.Helper()
	cfg.MCP.Servers, cfg.MCP.Wait = servers, -1
	return start(t, cfg)
}

// opensOnceAwaited closes open when a run waits for the server.
func opensOnceAwaited(t *testing.T, h *host.Host, server string, open chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			if e.Kind == trajectory.ServerAwaited && e.Owner == server && e.RunID != "" && e.Session == me {
				close(open)
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// TestAProgramWaitsForTheServersThatItNames: a server that takes longer to connect than the
// host takes to start is there for the program that names it, and keeps no other waiting.
func TestAProgramWaitsForTheServersThatItNames(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"by property": `return (await MCP.slowOne.delete2({})).structuredContent.label`,
		"by name":     `return (await MCP["slow-one"].delete({})).structuredContent.label`,
		"in parts":    `const {slowOne} = MCP; return (await slowOne.delete2({})).structuredContent.label`,
		"by id":       `return await tools.describe("mcp:slow-one:delete").catch((e) => e.message.includes("MCP.slowOne.delete2") && "slow-one")`,
		"by file":     `return (await API.read("mcp/slowOne.d.ts")).content.includes("delete2") ? "slow-one" : "no"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, never := make(chan struct{}), make(chan struct{})
			h := slowHost(t, host.Config{}, slowServer(t, "slow-one", open), slowServer(t, "stuck", never))
			wantValue(t, exec(h, `return [Object.keys(MCP), "slowOneMore", 1]`), `[[],"slowOneMore",1]`)
			opensOnceAwaited(t, h, "slow-one", open)
			wantValue(t, exec(h, code), `"slow-one"`)
		})
	}
}

// TestAProgramWaitsForServersWhoseNamesItComputes: it waits for all servers that it may use,
// if their tools are not known.
func TestAProgramWaitsForServersWhoseNamesItComputes(t *testing.T) {
	t.Parallel()
	pins := mkdir(t)
	h, err := newHost(host.Config{MCP: host.MCPConfig{PinDir: pins, Servers: []mcp.Server{network(t, "known")}, Wait: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	open, never := make(chan struct{}), make(chan struct{})
	denied := policy.Scopes{Agents: map[string]policy.Rules{me.AgentID: {Deny: []string{"mcp:stuck:*"}}}}
	h = slowHost(t, host.Config{Rules: denied, MCP: host.MCPConfig{PinDir: pins}}, slowServer(t, "known", never), slowServer(t, "slow-one", open), slowServer(t, "stuck", never))
	opensOnceAwaited(t, h, "slow-one", open)
	r := h.Exec(t.Context(), me, host.ExecInput{Code: `const name = ["slow", "One"].join(""); return (await MCP[name].delete2({})).structuredContent.label`, Wait: time.Hour})
	wantValue(t, r, `"slow-one"`)
}

// TestAServerThatDoesNotComeInTime: the wait is as long as the caller's wait, and the program
// is told what helps.
func TestAServerThatDoesNotComeInTime(t *testing.T) {
	t.Parallel()
	h := slowHost(t, host.Config{}, slowServer(t, "slow", nil))
	r := h.Exec(t.Context(), me, host.ExecInput{Code: `return await MCP.slow.delete2({})`, Wait: time.Second})
	if r.Status != host.StatusFailed || !strings.Contains(r.Error, "A program with the words MCP.slow in it waits for that") {
		t.Errorf("got %s", show(r))
	}
	// A server that the rules leave nothing of is not waited for.
	r = h.Exec(t.Context(), me, host.ExecInput{Code: `return typeof MCP.slow`, Rules: policy.Rules{Deny: []string{"mcp:slow:*"}}})
	wantValue(t, r, `"undefined"`)
}

// TestAServerThatIsComingIsInThePrompt, if the session may use it.
func TestAServerThatIsComingIsInThePrompt(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	h := slowHost(t, host.Config{Rules: policy.Scopes{Agents: map[string]policy.Rules{"other": {Deny: []string{"mcp:slow-one:*"}}}}}, slowServer(t, "slow-one", open))
	const coming = "MCP servers that are being connected: MCP.slowOne. A program that names one of them waits for it."
	changed := h.ToolsChanged(t.Context())
	if exec, _ := h.Catalog(me).Definitions(); !strings.Contains(exec.Description, coming) {
		t.Errorf("the model is told:\n%s", exec.Description)
	}
	if exec, _ := h.Catalog(host.Session{AgentID: "other"}).Definitions(); strings.Contains(exec.Description, "slowOne") {
		t.Errorf("a session without the server is told:\n%s", exec.Description)
	}
	close(open)
	for {
		<-changed
		if exec, _ := h.Catalog(me).Definitions(); !strings.Contains(exec.Description, coming) && strings.Contains(exec.Description, "- slowOne (") {
			return
		}
	}
}

// TestARunWaitsForItsServers: a run was suspended with the tools of a server. In a host that
// is still connecting to the server it resumes at the first attempt, whether the tools are
// pinned or not.
func TestARunWaitsForItsServers(t *testing.T) {
	t.Parallel()
	for _, pin := range []mcp.Pinning{mcp.PinBlock, mcp.PinOff} {
		t.Run(string(pin), func(t *testing.T) {
			t.Parallel()
			dir, pins := mkdir(t), mkdir(t)
			config := func() host.Config { return host.Config{Store: openState(t, dir), MCP: host.MCPConfig{PinDir: pins}} }
			server := network(t, "slow")
			server.Pin = pin
			h, err := newHost(func() host.Config {
				cfg := config()
				cfg.MCP.Servers, cfg.MCP.Wait = []mcp.Server{server}, time.Minute
				return cfg
			}())
			if err != nil {
				t.Fatal(err)
			}
			id := wantWaiting(t, exec(h, `const {slow} = MCP; slow.delete2; await yield_control(); return (await slow.delete2({})).structuredContent.label`), codemode.ReasonYield)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			open := make(chan struct{})
			server = slowServer(t, "slow", open)
			server.Pin = pin
			h = slowHost(t, config(), server)
			if pin == mcp.PinOff {
				opensOnceAwaited(t, h, "slow", open)
			} else { // the tools are known, and the call waits
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				events := h.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
				go func() {
					for e := range events {
						if e.Kind == trajectory.CallStarted {
							close(open)
							return
						}
					}
				}()
			}
			wantValue(t, h.Wait(t.Context(), me, id), `"slow"`)
		})
	}
}

// TestAnApprovedCallWaitsForItsServer: the decision of a person counts in a host that has not
// connected the server yet.
func TestAnApprovedCallWaitsForItsServer(t *testing.T) {
	t.Parallel()
	ask, err := policy.ApprovalRule{Tools: []string{"mcp:slow:*"}, ApprovalRequest: policy.ApprovalRequest{Title: "Delete?"}}.Hook("careful")
	if err != nil {
		t.Fatal(err)
	}
	dir := mkdir(t)
	config := func(server mcp.Server, wait time.Duration) host.Config {
		state := openState(t, dir)
		server.Pin = mcp.PinOff
		return host.Config{Store: state, Approvals: host.ApprovalConfig{Store: state.Approvals()}, Hooks: []policy.Hook{ask}, MCP: host.MCPConfig{Servers: []mcp.Server{server}, Wait: wait}}
	}
	h, err := newHost(config(network(t, "slow"), time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	r := h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return (await MCP.slow.delete2({})).structuredContent.label`})
	id := wantWaiting(t, r, codemode.ReasonApproval)
	if _, err := h.Approvals().Decide(t.Context(), r.PendingApprovals[0].ID, policy.AllowOnce, "ada"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	h = start(t, config(slowServer(t, "slow", open), -1))
	opensOnceAwaited(t, h, "slow", open)
	wantValue(t, h.Wait(t.Context(), me, id), `"slow"`)
}
