package mcpcmd

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
)

// registryServer describes a server for registries of MCP servers: server.json.
type registryServer struct {
	Schema      string           `json:"$schema"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Version     string           `json:"version"`
	Remotes     []registryRemote `json:"remotes"`
}

// registryRemote is one address of a server.
type registryRemote struct {
	Type    string           `json:"type"`
	URL     string           `json:"url"`
	Headers []registryHeader `json:"headers,omitempty"`
}

// registryHeader is a header that a client has to send.
type registryHeader struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Value       string `json:"value"`
	IsRequired  bool   `json:"isRequired"`
	IsSecret    bool   `json:"isSecret"`
}

// registryName is what registries take as a name: a domain in reverse and a word.
var registryName = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

func newServerJSON() *cobra.Command {
	var address, name string
	var token bool
	cmd := &cobra.Command{
		Use:   "server-json",
		Short: "Print server.json of this server, for registries of MCP servers",
		Long: `Print the description of a quoin serve that registries of MCP servers take, server.json.
Clients find its address in it. Without --name it is the host of the address in reverse.
Exit status: 0 printed, 2 usage.`,
		Example: `  quoin mcp server-json --url https://quoin.example.com/mcp
  quoin mcp server-json --url https://quoin.example.com/mcp --name com.example/quoin --token`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := serverJSON(address, name, token)
			if err != nil {
				return cli.AsUsage(err)
			}
			return output.PrintJSON(cmd.OutOrStdout(), s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&address, "url", "", "address of /mcp as clients reach it")
	f.StringVar(&name, "name", "", "name in the registry, such as com.example/quoin")
	f.BoolVar(&token, "token", false, "say that clients send the token of the server")
	return cmd
}

// serverJSON describes the server at an address.
func serverJSON(address, name string, token bool) (*registryServer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("--url is %q, expected the address of /mcp, such as https://quoin.example.com/mcp", address)
	}
	if name == "" && net.ParseIP(u.Hostname()) == nil {
		labels := strings.Split(u.Hostname(), ".")
		slices.Reverse(labels)
		name = strings.Join(labels, ".") + "/quoin"
	}
	if !registryName.MatchString(name) {
		return nil, fmt.Errorf("--name is %q, expected a domain in reverse and a word, such as com.example/quoin", name)
	}
	remote := registryRemote{Type: "streamable-http", URL: address}
	if token {
		remote.Headers = []registryHeader{{Name: "Authorization", Description: "The token of the server", Value: "Bearer {token}", IsRequired: true, IsSecret: true}}
	}
	return &registryServer{
		Schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		Name:   name, Title: "Quoin", Version: host.Version,
		Description: "Two tools, exec and wait, for all others: programs call them in a sealed guest",
		Remotes:     []registryRemote{remote},
	}, nil
}
