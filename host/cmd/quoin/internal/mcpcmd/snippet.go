package mcpcmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/internal/terminal"
)

// pointing is how another host reaches Quoin: by a program, or at an address.
type pointing struct {
	name          string
	command       string
	args          []string
	url, tokenEnv string // the address of /mcp, and the variable that has its token
}

// agentHost is a program that uses MCP servers.
type agentHost struct {
	where string // what to do with the text
	text  func(pointing) string
	// programsOnly is set for a host with a file that takes no addresses.
	programsOnly bool
}

// AgentHosts are those that mcp snippet knows, by name.
var AgentHosts = map[string]agentHost{
	"claude-code":    {"run this command", claudeCodeCommand, false},
	"claude-desktop": {"merge this into claude_desktop_config.json (Settings, Developer, Edit Config), and restart Claude Desktop", mcpServersObject(""), true},
	"codex":          {"put this into ~/.codex/config.toml", codexTable, false},
	"cursor":         {"merge this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project", mcpServersObject("${env:%s}"), false},
	"vscode":         {"merge this into .vscode/mcp.json, or what the command \"MCP: Open User Configuration\" opens", vscodeObject, false},
}

// snippet is what mcp snippet says, as JSON.
type snippet struct {
	Host  string `json:"host"`
	Where string `json:"where"`
	Text  string `json:"text"`
}

func newSnippet() *cobra.Command {
	var o mcpServers
	var p pointing
	var address, session string
	hosts := slices.Sorted(maps.Keys(AgentHosts))
	cmd := &cobra.Command{
		Use:   "snippet HOST",
		Short: "Print what makes another host use Quoin",
		Long: `Print the configuration, or the command, that makes another host use Quoin as an MCP
server: ` + strings.Join(hosts, ", ") + `. What to do with it is
said on standard error.

Without --url, the host starts this executable as quoin mcp serve, with the --config
and --state that are given, and with a session of its own name: after a restart it goes
on with the programs that wait. With --url, it uses the quoin serve at that address;
--token-env names the variable of the host's environment that has the server's token.`,
		Example: `  quoin mcp snippet claude-code
  quoin mcp snippet codex --config quoin.json5
  quoin mcp snippet vscode --url http://127.0.0.1:8787
  quoin mcp snippet cursor --url https://quoin.example.com --token-env QUOIN_TOKEN`,
		Args:      cli.OneArg("HOST", "one of "+strings.Join(hosts, ", ")),
		ValidArgs: hosts,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, ok := AgentHosts[args[0]]
			if !ok {
				return cli.Usagef("the host %s is not known: expected one of %s", terminal.Short(args[0]), strings.Join(hosts, ", "))
			}
			if session == "" {
				session = args[0]
			}
			if err := o.point(&p, address, session); err != nil {
				return err
			}
			if h.programsOnly && p.url != "" {
				return cli.Usagef("the file of %s takes programs, no addresses: leave out --url, or add %s as a connector in its settings", args[0], p.url)
			}
			s := snippet{Host: args[0], Where: h.where, Text: h.text(p)}
			if o.JSON {
				return output.PrintJSON(cmd.OutOrStdout(), s)
			}
			if _, err := terminal.Fprintln(cmd.ErrOrStderr(), s.Where+":"); err != nil {
				return err
			}
			if err := o.sayPlugins(cmd.ErrOrStderr(), &p); err != nil {
				return err
			}
			_, err := io.WriteString(cmd.OutOrStdout(), terminal.Text(s.Text))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "JSON5 configuration file that Quoin is to read (default: as for other commands)")
	f.StringVar(&o.State, "state", "", "state directory that Quoin is to use (default: as for other commands)")
	f.StringVar(&session, "session", "", "session that the host's requests act for (default: the name of the host)")
	f.StringVar(&address, "url", "", "URL of a quoin serve (default: the host starts Quoin)")
	f.StringVar(&p.tokenEnv, "token-env", "", "variable of the host's environment that has the server's token")
	f.StringVar(&p.name, "name", "quoin", "what the host is to call it")
	o.BindJSON(cmd)
	return cmd
}

// sayPlugins says that the host gets plugins that no one has asked for.
func (m *mcpServers) sayPlugins(stderr io.Writer, p *pointing) error {
	f, err := m.Load()
	if err != nil || p.url != "" || f.PluginDir != "" {
		return err
	}
	dir, err := paths.Plugins("", "")
	if err == nil && dir != "" && dir == paths.NextToExecutable() {
		_, err = terminal.Fprintf(stderr, "the host gets the plugins of %s, too, because no others are installed; with {plugins: {dir: \"none\"}} in the configuration it gets none\n", dir)
	}
	return err
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	snippetName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
)

// point fills in how Quoin is reached.
func (m *mcpServers) point(p *pointing, address, session string) error {
	switch {
	case !snippetName.MatchString(p.name):
		return cli.Usagef("--name takes 1 to 64 letters, digits, '-' and '_'")
	case p.tokenEnv != "" && !variableName.MatchString(p.tokenEnv):
		return cli.Usagef("--token-env takes the name of a variable, such as %s", app.EnvToken)
	case p.tokenEnv != "" && address == "":
		return cli.Usagef("--token-env is for a server: give its URL with --url")
	case address != "" && (m.Config != "" || m.State != ""):
		return cli.Usagef("--config and --state are the server's own affair: leave them out, or leave out --url")
	}
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
			return cli.Usagef("--url takes the URL of a quoin serve, such as http://127.0.0.1:8787")
		}
		if strings.Trim(u.Path, "/") == "" {
			u.Path = "/mcp"
		}
		p.url = u.String()
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the path of this executable is not known: %w", err)
	}
	p.command, p.args = exe, []string{"mcp", "serve", "--session", session}
	for _, dir := range []struct{ flag, path string }{{"--config", m.Config}, {"--state", m.State}} {
		if dir.path == "" {
			continue
		}
		if dir.path != "none" {
			if dir.path, err = filepath.Abs(dir.path); err != nil {
				return err
			}
		}
		p.args = append(p.args, dir.flag, dir.path)
	}
	return nil
}

// claudeCodeCommand adds Quoin by the command line of Claude Code.
func claudeCodeCommand(p pointing) string {
	words := []string{"claude", "mcp", "add"}
	if p.url == "" {
		for _, w := range append([]string{p.name, "--", p.command}, p.args...) {
			words = append(words, output.ShellWord(w))
		}
		return strings.Join(words, " ") + "\n"
	}
	words = append(words, "--transport", "http", p.name, output.ShellWord(p.url))
	if p.tokenEnv != "" {
		words = append(words, fmt.Sprintf(`--header "Authorization: Bearer $%s"`, p.tokenEnv))
	}
	return strings.Join(words, " ") + "\n"
}

// codexTable is a table of Codex's configuration. Strings of JSON are strings of TOML.
func codexTable(p pointing) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp_servers.%s]\n", p.name)
	if p.url == "" {
		args := make([]string, len(p.args))
		for i, a := range p.args {
			args[i] = quotedJSON(a)
		}
		fmt.Fprintf(&b, "command = %s\nargs = [%s]\n", quotedJSON(p.command), strings.Join(args, ", "))
		return b.String()
	}
	fmt.Fprintf(&b, "url = %s\n", quotedJSON(p.url))
	if p.tokenEnv != "" {
		fmt.Fprintf(&b, "bearer_token_env_var = %s\n", quotedJSON(p.tokenEnv))
	}
	return b.String()
}

// hostEntry is a server in the files of JSON. Their fields have the same names.
type hostEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// entryFor is the server; token is what stands for the server's token.
func (p pointing) entryFor(token string) hostEntry {
	e := hostEntry{Command: p.command, Args: p.args, URL: p.url}
	if p.tokenEnv != "" {
		e.Headers = map[string]string{"Authorization": "Bearer " + token}
	}
	return e
}

// mcpServersObject writes the object that most hosts have. Variable is how the host
// writes a variable of its environment.
func mcpServersObject(variable string) func(pointing) string {
	return func(p pointing) string {
		token := ""
		if p.tokenEnv != "" {
			token = fmt.Sprintf(variable, p.tokenEnv)
		}
		return indentedJSON(map[string]any{"mcpServers": map[string]hostEntry{p.name: p.entryFor(token)}})
	}
}

// vscodeObject is mcp.json of VS Code, which asks for the token once and keeps it.
func vscodeObject(p pointing) string {
	const input = "quoin-token"
	e := p.entryFor("${input:" + input + "}")
	e.Type = "stdio"
	if p.url != "" {
		e.Type = "http"
	}
	file := struct {
		Inputs  []map[string]any     `json:"inputs,omitempty"`
		Servers map[string]hostEntry `json:"servers"`
	}{Servers: map[string]hostEntry{p.name: e}}
	if p.tokenEnv != "" {
		file.Inputs = []map[string]any{{"type": "promptString", "id": input, "description": "Token of Quoin", "password": true}}
	}
	return indentedJSON(file)
}

// indentedJSON writes a value as people write it into files.
func indentedJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic(err) // strings in maps and structs always have JSON
	}
	return b.String()
}

func quotedJSON(s string) string { return strings.TrimSpace(indentedJSON(s)) }
