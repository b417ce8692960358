package configfile

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/internal/resourceserver"
)

// MCPServerFile is the part of a File about Quoin as an MCP server.
type MCPServerFile struct {
	// Auth says which issuer's access tokens let callers in. Without an issuer, no token
	// does.
	Auth resourceserver.Config
	// Direct are the tools that clients see next to exec and wait.
	Direct []string
	// OthersDecide keeps approvals of calls from clients.
	OthersDecide bool
	// Wait is how long exec takes, and wait for clients that do not follow its progress.
	Wait time.Duration
}

func (s *MCPServerFile) fields() []config.Field {
	a := &s.Auth
	return []config.Field{
		config.Texts("direct", &s.Direct, "The ids or names of tools that clients see next to `exec` and `wait`. Rules, hooks and approvals hold for them."),
		config.Bool("othersDecide", &s.OthersDecide, "Keeps approvals of calls from MCP clients, which else may ask their users: `quoin approvals` decides alone."),
		config.Duration("waitMs", &s.Wait, time.Millisecond, 1000, codemode.Ranges().Wait.Max, "How long `exec` takes at the most, and `wait` for clients that do not follow its progress: less than the time after which they give up."),
		config.Object("auth", []config.Field{
			config.Text("issuer", &a.Issuer, "The identity provider, as the claim `iss` of its tokens has it. `/mcp` of `quoin serve` then wants one of its tokens, or the server's own."),
			config.Text("audience", &a.Audience, "What the claim `aud` must name: the address of `/mcp` as clients know it, such as `https://quoin.example.com/mcp`, or the provider's name for it."),
			config.Text("resource", &a.Resource, "The address of `/mcp` as clients know it, for its metadata. Without it: `audience`."),
			config.Text("jwksUrl", &a.JWKSURL, "Where the provider's keys are. Without it: where the provider's metadata says."),
			config.Texts("scopes", &a.Scopes, "Scopes that a token must have, all of them; with less the answer is 403 and names them."),
			config.Object("claims", []config.Field{
				config.Text("agentId", &a.Claims.AgentID, "The claim that names the agent, such as `client_id`. Without it: no agent."),
				config.Text("sessionKey", &a.Claims.SessionKey, "The claim that names the session's key. Without it: `sub`, unless `sessionId` is given."),
				config.Text("sessionId", &a.Claims.SessionID, "The claim that names the session's id. Without it: none."),
			}, "Which claims of a token say who asks. A claim that is named must be in every token; the session headers count only with the server's own token."),
		}, "Callers who come with access tokens of an identity provider."),
	}
}

// checkMCPServer reports what the fields one by one do not show.
func (f *File) checkMCPServer(path string) error {
	const auth = "mcp.server.auth."
	a := f.MCPServer.Auth
	if a.Issuer+a.Audience+a.Resource+a.JWKSURL+strings.Join(a.Scopes, "")+a.Claims.AgentID+a.Claims.SessionKey+a.Claims.SessionID == "" {
		return nil
	}
	var wrong *resourceserver.ConfigError
	if !errors.As(resourceserver.Check(f.MCPServer.Auth), &wrong) {
		return nil
	}
	p := config.Problem{Source: cmp.Or(path, "the environment"), Field: auth + wrong.Field, Message: wrong.Text}
	for _, v := range f.Report.Values {
		if v.Origin.Line == 0 || !strings.HasPrefix(v.Field, auth) {
			continue
		}
		if p.Line == 0 || v.Field == p.Field {
			p.Line, p.Column = v.Origin.Line, v.Origin.Column
		}
	}
	return &Error{Problems: []config.Problem{p}}
}
