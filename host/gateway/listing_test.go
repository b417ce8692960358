package gateway_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/internal/hosttest"
)

func TestListings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := hosttest.Install(dir, "issues"); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := os.Mkdir(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "plugin.json"), []byte(`{"id": "broken"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	odd := newGate().tool("a/b %é?")
	c := serve(t, newHost(t, host.Config{Plugins: host.PluginConfig{Dir: dir}, Tools: []catalog.Tool{odd}}), gateway.Options{}, nil)

	var tools gateway.CatalogList
	if err := json.Unmarshal(c.get("/v1/catalog").wants(200).body, &tools); err != nil {
		t.Fatal(err)
	}
	if len(tools.Tools) < 2 || tools.Tools[0].Name != odd.Name {
		t.Fatalf("%+v", tools)
	}
	for _, e := range tools.Tools {
		c.get("/v1/catalog/"+url.PathEscape(e.ID)).wants(200, "id", marshal(t, e.ID), "description", marshal(t, e.Description))
	}
	c.get("/v1/catalog/quoin:core:none").problem(404, gateway.ProblemNotFound)
	c.get("/v1/catalog/issues_list").problem(404, gateway.ProblemNotFound) // a name is no id

	var spaces gateway.NamespaceList
	if err := json.Unmarshal(c.get("/v1/namespaces").wants(200).body, &spaces); err != nil {
		t.Fatal(err)
	}
	if len(spaces.Namespaces) != 1 || spaces.Namespaces[0].GlobalName != "Issues" {
		t.Errorf("%+v", spaces)
	}

	var found gateway.PluginList
	if err := json.Unmarshal(c.get("/v1/plugins").wants(200).body, &found); err != nil {
		t.Fatal(err)
	}
	byID := map[string]gateway.Plugin{}
	for _, p := range found.Plugins {
		byID[p.ID] = p
	}
	if p := byID["issues"]; p.State != "running" || len(p.Tools) == 0 || len(p.Namespaces) != 1 || p.Version == "" {
		t.Errorf("%+v", p)
	}
	if p := byID["broken"]; p.State != "disabled" || p.Reason == "" {
		t.Errorf("%+v", p)
	}
}

// TestMCPServers: a server that is down is listed with the reason, without the
// credentials in it, and when it is tried again.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	gone := mcp.Server{Name: "git-hub", URL: "http://127.0.0.1:1/mcp?token=sesame-sesame"}
	c := serve(t, newHost(t, host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{gone, {Name: "off", URL: gone.URL, Disabled: true}}}}), gateway.Options{}, nil)
	answer := c.get("/v1/mcp-servers").wants(200)
	var list gateway.MCPServerList
	if err := json.Unmarshal(answer.body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Servers) != 1 {
		t.Fatalf("%+v", list)
	}
	s := list.Servers[0]
	if s.Name != "git-hub" || s.Identifier != "gitHub" || s.State != "down" || s.Reason == "" || s.Since.IsZero() || s.Tools != 0 {
		t.Errorf("%+v", s)
	}
	if strings.Contains(string(answer.body), "sesame") {
		t.Errorf("a password is shown: %s", answer.body)
	}
}

// TestAServerThatIsBeingConnected: what is odd about it is there before it is given up.
func TestAServerThatIsBeingConnected(t *testing.T) {
	t.Parallel()
	talker := mcp.Server{Name: "talker", Command: "/bin/sh", Args: []string{"-c", "echo hello, no JSON; exec sleep 60"}}
	c := serve(t, newHost(t, host.Config{MCP: host.MCPConfig{Servers: []mcp.Server{talker}, Wait: -1}}), gateway.Options{}, nil)
	for t.Context().Err() == nil {
		var list gateway.MCPServerList
		if err := json.Unmarshal(c.get("/v1/mcp-servers").wants(200).body, &list); err != nil || len(list.Servers) != 1 {
			t.Fatalf("%v: %+v", err, list)
		}
		if s := list.Servers[0]; s.Reason != "" {
			if s.State != "connecting" || !strings.Contains(s.Reason, "hello, no JSON") {
				t.Errorf("%+v", s)
			}
			return
		}
	}
}

func TestEmptyListings(t *testing.T) {
	t.Parallel()
	c := serve(t, newHost(t, host.Config{}), gateway.Options{}, nil)
	c.get("/v1/catalog").wants(200, "tools", "[]")
	c.get("/v1/namespaces").wants(200, "namespaces", "[]")
	c.get("/v1/plugins").wants(200, "plugins", "[]")
	c.get("/v1/mcp-servers").wants(200, "servers", "[]")
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
