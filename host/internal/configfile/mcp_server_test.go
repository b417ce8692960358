package configfile_test

import (
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/internal/configfile"
)

func TestMCPServerAuth(t *testing.T) {
	f, err := loadText(t, `{mcp:{server:{auth:{
		issuer: "https://login.example.com", audience: "https://quoin.example.com/mcp",
		scopes: ["mcp:use"], claims: {agentId: "client_id"},
	}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	a := f.MCPServer.Auth
	if a.Issuer != "https://login.example.com" || a.Claims.AgentID != "client_id" || len(a.Scopes) != 1 {
		t.Errorf("got %+v", a)
	}
}

func TestMCPServerAuthMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{mcp:{server:{auth:{audience:"https://q.example/mcp"}}}}`:                                                                    "mcp.server.auth.issuer",
		`{mcp:{server:{auth:{issuer:"https://i.example"}}}}`:                                                                          "mcp.server.auth.audience",
		`{mcp:{server:{auth:{issuer:"https://i.example",audience:"api://q"}}}}`:                                                       "mcp.server.auth.resource",
		`{mcp:{server:{auth:{issuer:"https://i.example",audience:"https://q.example/mcp",jwksUrl:"ftp://i.example"}}}}`:               "mcp.server.auth.jwksUrl",
		`{mcp:{server:{auth:{issuer:"https://i.example",audience:"https://q.example/mcp",scopes:["a b"]}}}}`:                          "mcp.server.auth.scopes",
		`{mcp:{server:{auth:{issuer:"https://i.example",audience:"https://q.example/mcp",claims:{sessionkey:"sub"}}}}}`:               "mcp.server.auth.claims.sessionkey",
		`{mcp:{server:{auth:{issuer:"http://i.example",audience:"https://q.example/mcp",claims:{sessionKey:"email"}}}},tools:{}}`:     "mcp.server.auth.issuer",
		`{mcp:{server:{auth:{claims:{sessionKey:"email"}}}},tools:{}}`:                                                                "mcp.server.auth.issuer",
		`{mcp:{server:{auth:{issuer:"https://user:password@i.example",audience:"https://q.example/mcp",claims:{sessionKey:"sub"}}}}}`: "mcp.server.auth.issuer",
	} {
		_, err := loadText(t, text)
		var ce *configfile.Error
		if !errors.As(err, &ce) || len(ce.Problems) != 1 || ce.Problems[0].Field != want || ce.Problems[0].Line == 0 {
			t.Errorf("%s: %v, want the field %s and its place", text, err, want)
		}
	}
}
