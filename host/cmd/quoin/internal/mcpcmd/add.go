package mcpcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/configedit"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/mcpentry"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/ownership"
	"github.com/quoinhq/quoin/internal/terminal"
)

// mcpAdding are the flags of mcp add.
type mcpAdding struct {
	mcpServers
	url, from                      string
	headers, env, passEnv, allowed []string
}

// addedServers is what mcp add says, as JSON.
type addedServers struct {
	File    string          `json:"file"`
	Added   []addedServer   `json:"added"`
	Skipped []skippedServer `json:"skipped"`
	// Warnings are about the file itself.
	Warnings []string `json:"warnings,omitempty"`
}

type addedServer struct {
	Name  string   `json:"name"`
	As    string   `json:"as,omitempty"` // what the other host calls it, if that is another name
	What  string   `json:"what"`
	Notes []string `json:"notes,omitempty"`
}

type skippedServer struct {
	As     string `json:"as"`
	Reason string `json:"reason"`
}

func newAdd() *cobra.Command {
	var a mcpAdding
	cmd := &cobra.Command{
		Use:   "add NAME (--url URL | -- COMMAND [ARGS...])",
		Short: "Add a server to the configuration",
		Long: `Write an MCP server into the configuration file, under mcp.servers. Comments and
layout of the file stay. NAME is the server's name; cells call its tools as
MCP.NAME.TOOL().

--header and --env take NAME=VALUE. In the values, ${VARIABLE} stands for a variable of
the environment of the host, so that secrets need not stand in the file. A program gets
PATH, what --env says, and the variables that --pass-env names.

--from FILE takes the servers of another host over, from its configuration: mcpServers
objects as Claude Desktop, Claude Code and Cursor write them, mcp.json of VS Code,
config.toml of Codex, opencode.json, and settings.json of Zed. Servers of one folder in ~/.claude.json are taken in that folder.
It says what was taken and what was not. With NAME, it takes that
server alone. FILE may be -, for standard input.

Hosts that run read the configuration when they start.
Exit status: 0 added, 1 not, 2 usage.`,
		Example: `  quoin mcp add files -- npx -y @modelcontextprotocol/server-filesystem /srv/files
  quoin mcp add github --url https://api.githubcopilot.com/mcp/ --header 'Authorization=Bearer ${GITHUB_TOKEN}'
  quoin mcp add db --env 'DSN=${DATABASE_URL}' --pass-env HOME -- db-mcp --read-only
  quoin mcp add --from ~/.cursor/mcp.json`,
		Args: cli.Args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := a.add(cmd, args)
			if err != nil {
				return err
			}
			return cli.Failed(a.Print(cmd, out, func(b *strings.Builder) { a.print(b, out) }), len(out.Added) == 0)
		},
	}
	a.bind(cmd)
	f := cmd.Flags()
	f.StringVar(&a.url, "url", "", "address of a server that speaks streamable HTTP")
	f.StringArrayVar(&a.headers, "header", nil, "header of every request: NAME=VALUE; may be repeated")
	f.StringArrayVar(&a.env, "env", nil, "variable of the program: NAME=VALUE; may be repeated")
	f.StringArrayVar(&a.passEnv, "pass-env", nil, "variable of the host that the program gets too; may be repeated")
	f.StringArrayVar(&a.allowed, "allow", nil, "tool that exists, by name with *; may be repeated (default: all)")
	f.StringVar(&a.from, "from", "", "configuration of another host, or - for standard input")
	cli.CompleteFlag(cmd, "from", cobra.FixedCompletions([]cobra.Completion{"json", "toml"}, cobra.ShellCompDirectiveFilterFileExt))
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if cmd.ArgsLenAtDash() >= 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cli.NoFiles
	}
	return cmd
}

// add changes the file and says what became of it.
func (a *mcpAdding) add(cmd *cobra.Command, args []string) (*addedServers, error) {
	found, skipped, err := a.wanted(cmd, args)
	if err != nil {
		return nil, err
	}
	path, err := a.configPath(true)
	if err != nil {
		return nil, err
	}
	out := &addedServers{File: path, Added: []addedServer{}, Skipped: []skippedServer{}}
	for _, s := range skipped {
		out.Skipped = append(out.Skipped, skippedServer(s))
	}
	if len(found) == 0 {
		return out, nil
	}
	secret := false
	info, err := configedit.Apply(cmd.Context(), path, func(file []byte) ([]byte, error) {
		for _, f := range found {
			changed, err := addTo(file, f)
			if errors.Is(err, errPresent) && a.from != "" {
				out.Skipped = append(out.Skipped, skippedServer{f.As, err.Error()})
				continue
			}
			if err != nil {
				return nil, err
			}
			file = changed
			secret = secret || hasValues(f.Entry)
			added := addedServer{Name: f.Name, What: described(f.Entry), Notes: f.Notes}
			if f.As != f.Name {
				added.As = f.As
			}
			out.Added = append(out.Added, added)
		}
		return file, nil
	})
	if err == nil && info != nil && secret && info.Mode()&0o044 != 0 && len(out.Added) > 0 {
		remedy := "write ${NAME} for what is secret"
		if command := ownership.Repair("go-r", path, info); command != "" {
			remedy = "run " + command + ", or " + remedy
		}
		out.Warnings = append(out.Warnings, path+" can be read by other users, and has values of env or headers in it: "+remedy)
	}
	if a.from != "" && slices.ContainsFunc(found, func(f mcpentry.Found) bool { return f.Entry.Command != "" }) && len(out.Added) > 0 {
		out.Warnings = append(out.Warnings, "a program gets PATH, env and passEnv; other hosts also give it HOME and more: name in passEnv what it needs")
	}
	return out, err
}

// wanted are the servers that the command line asks for.
func (a *mcpAdding) wanted(cmd *cobra.Command, args []string) ([]mcpentry.Found, []mcpentry.Skipped, error) {
	words, command := args, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		words, command = args[:dash], args[dash:]
	}
	if a.from != "" {
		return a.other(cmd, words, command)
	}
	switch {
	case len(words) == 0:
		return nil, nil, cli.Usagef("the server has no name: quoin mcp add NAME --url URL, or quoin mcp add NAME -- COMMAND")
	case len(words) > 1 && len(command) == 0 && a.url == "":
		return nil, nil, cli.Usagef("the program of the server stands after two dashes: quoin mcp add %s -- %s", output.ShellWord(words[0]), app.ShellLine(words[1:]))
	case len(words) > 1:
		return nil, nil, cli.Usagef("%d names are given: expected one, and the program of the server after two dashes", len(words))
	case len(command) == 0 && a.url == "":
		return nil, nil, cli.Usagef("give the address of the server with --url URL, or its program after two dashes: quoin mcp add %s -- COMMAND", output.ShellWord(words[0]))
	}
	if len(command) == 1 {
		parts, err := mcpentry.Words(command[0], isFile)
		if err != nil {
			return nil, nil, cli.AsUsage(err)
		}
		if len(parts) > 1 {
			return nil, nil, cli.Usagef("the program has its arguments in the same word; they are words of their own: quoin mcp add %s -- %s", output.ShellWord(words[0]), app.ShellLine(parts))
		}
	}
	e := mcpentry.Entry{URL: a.url, PassEnv: a.passEnv, Allow: a.allowed}
	if len(command) > 0 {
		e.Command, e.Args = command[0], command[1:]
	}
	var err error
	if e.Headers, err = pairs("header", a.headers); err != nil {
		return nil, nil, err
	}
	if e.Env, err = pairs("env", a.env); err != nil {
		return nil, nil, err
	}
	if err := e.Check(words[0]); err != nil {
		return nil, nil, cli.AsUsage(err)
	}
	return []mcpentry.Found{{Name: words[0], As: words[0], Entry: e}}, nil, nil
}

// other reads the configuration of another host.
func (a *mcpAdding) other(cmd *cobra.Command, words, command []string) ([]mcpentry.Found, []mcpentry.Skipped, error) {
	if len(words) > 1 || len(command) > 0 || a.url != "" || len(a.headers)+len(a.env)+len(a.passEnv)+len(a.allowed) > 0 {
		return nil, nil, cli.Usagef("--from takes servers as the file has them: give at most the NAME of one besides it")
	}
	name, data, err := readOther(cmd.InOrStdin(), a.from)
	if err != nil {
		return nil, nil, err
	}
	f, err := a.Load()
	if err != nil {
		return nil, nil, err
	}
	taken := namesOf(f)
	found, skipped, err := mcpentry.Read(data, strings.HasSuffix(strings.ToLower(a.from), ".toml"), mcpentry.Here{
		Taken:  func(name string) bool { return slices.Contains(taken, name) },
		Folder: isHere,
		IsSet:  func(variable string) bool { _, set := os.LookupEnv(variable); return set },
		IsFile: isFile,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(words) == 0 {
		return found, skipped, nil
	}
	found = slices.DeleteFunc(found, func(f mcpentry.Found) bool { return f.As != words[0] })
	skipped = slices.DeleteFunc(skipped, func(s mcpentry.Skipped) bool { return s.As != words[0] })
	if len(found)+len(skipped) == 0 {
		return nil, nil, fmt.Errorf("%s has no server %s", name, terminal.Short(words[0]))
	}
	return found, skipped, nil
}

// isFile reports whether a path is a file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// isHere reports whether a path is the directory in which the command runs.
func isHere(path string) bool {
	info, err := os.Stat(path)
	here, hereErr := os.Stat(".")
	return err == nil && hereErr == nil && filepath.IsAbs(path) && os.SameFile(info, here)
}

// pairs reads NAME=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, cli.Usagef("--%s takes NAME=VALUE", flag) // what was given may be a secret
		}
		if _, twice := out[name]; twice {
			return nil, cli.Usagef("--%s gives %s twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// errPresent says that the configuration has a server of that name.
var errPresent = errors.New("is there already")

// addTo puts a server into the text of a configuration.
func addTo(file []byte, f mcpentry.Found) ([]byte, error) {
	names, err := serverNames(file)
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, f.Name) {
		return nil, fmt.Errorf("%s %w: take another name, or remove it first with quoin mcp remove %s", f.Name, errPresent, f.Name)
	}
	entry, err := f.Entry.JSON()
	if err != nil {
		return nil, err
	}
	return json5.Set(file, []string{"mcp", "servers", f.Name}, entry)
}

// serverNames are the servers in the text of a configuration.
func serverNames(file []byte) (names []string, err error) {
	at, err := json5.Parse(file)
	if err != nil {
		return nil, err
	}
	for _, step := range []string{"mcp", "servers"} {
		i := slices.IndexFunc(at.Members, func(m json5.Member) bool { return m.Name == step })
		if i < 0 {
			return nil, nil
		}
		at = at.Members[i].Value
	}
	for _, m := range at.Members {
		names = append(names, m.Name)
	}
	return names, nil
}

// hasValues reports whether an entry has a text that may be a secret.
func hasValues(e mcpentry.Entry) bool {
	for _, texts := range []map[string]string{e.Env, e.Headers} {
		for _, v := range texts {
			if v != "" && !strings.Contains(v, "${") {
				return true
			}
		}
	}
	return false
}

// described says what an entry is, without what may be a secret: arguments, values, and
// all of an address but its host.
func described(e mcpentry.Entry) string {
	what := e.Command
	if n := len(e.Args); n > 0 {
		what += " with " + output.Count(n, "argument")
	}
	if e.URL != "" {
		what = "an address"
		if u, err := url.Parse(e.URL); err == nil {
			what = u.Scheme + "://" + u.Host
		}
	}
	for _, names := range []struct {
		of   string
		list []string
	}{{"env", slices.Sorted(maps.Keys(e.Env))}, {"headers", slices.Sorted(maps.Keys(e.Headers))}, {"passEnv", e.PassEnv}} {
		if len(names.list) > 0 {
			what += ", " + names.of + " " + strings.Join(names.list, " ")
		}
	}
	if e.Disabled {
		what += ", disabled"
	}
	return what
}

func (a *mcpAdding) print(b *strings.Builder, out *addedServers) {
	for _, s := range out.Added {
		as := ""
		if s.As != "" {
			as = fmt.Sprintf(" (there: %s)", terminal.Short(s.As))
		}
		fmt.Fprintf(b, "added %s%s: %s\n", terminal.Short(s.Name), as, terminal.Short(s.What))
		for _, n := range s.Notes {
			fmt.Fprintf(b, "  %s\n", terminal.Line(n))
		}
	}
	for _, s := range out.Skipped {
		fmt.Fprintf(b, "not added: %s: %s\n", terminal.Short(s.As), terminal.Line(s.Reason))
	}
	for _, warning := range out.Warnings {
		fmt.Fprintf(b, "warning: %s\n", terminal.Line(warning))
	}
	if n := len(out.Added); n > 0 {
		fmt.Fprintf(b, "in %s\nnow: quoin mcp test %s\n", terminal.Line(out.File), output.ShellWord(out.Added[n-1].Name)+a.flags())
	}
}

// flags are those that lead another command to the same configuration.
func (m *mcpServers) flags() string {
	if m.Config == "" {
		return ""
	}
	return " --config " + output.ShellWord(m.Config)
}

// readOther reads the configuration of another host, and says what to call it.
func readOther(stdin io.Reader, from string) (name string, data []byte, err error) {
	if from == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, mcpentry.MaxBytes+1))
		return "standard input", data, err
	}
	data, err = durable.ReadFile(from, mcpentry.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no file %s", from)
	}
	return from, data, err
}
