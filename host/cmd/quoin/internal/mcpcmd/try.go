package mcpcmd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/internal/terminal"
)

// triedServer is what mcp test says, as JSON.
type triedServer struct {
	Name          string          `json:"name"`
	State         mcp.State       `json:"state"`
	Reason        string          `json:"reason,omitempty"`
	Protocol      string          `json:"protocol,omitempty"`
	ServerName    string          `json:"serverName,omitempty"`
	ServerVersion string          `json:"serverVersion,omitempty"`
	Tools         []catalog.Entry `json:"tools"`
	Tokens        promptCost      `json:"tokens"`
	Changes       []mcp.Change    `json:"changes,omitempty"`
	Findings      []mcp.Finding   `json:"findings,omitempty"`
	LeftOut       []mcp.LeftOut   `json:"leftOut,omitempty"`

	notice string
}

func newTest() *cobra.Command {
	var m mcpServers
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Connect to a server, and print its tools and what they cost in a prompt",
		Long: `Connect to one MCP server of the configuration, list its tools as programs call them,
and estimate how many tokens it costs in the prompt of a model: as raw tools with their
schemas, and through exec. A token is taken to be 4 bytes. Tools that cannot be used, and
parts of input schemas that cannot be read, are named by reason.
What its tools are is pinned, as for any host of the state directory.
Exit status: 0 connected, 1 not, 2 usage.`,
		Example: `  quoin mcp test files
  quoin mcp test files --json`,
		Args: cli.OneArg("NAME", serverHint),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := m.try(cmd, args[0])
			if err != nil {
				return err
			}
			return cli.Failed(m.Print(cmd, out, out.print), out.State != mcp.StateConnected)
		},
	}
	m.bind(cmd)
	m.bindState(cmd)
	m.completeServers(cmd)
	return cmd
}

// try connects to a server and looks at what it offers.
func (m *mcpServers) try(cmd *cobra.Command, name string) (_ *triedServer, err error) {
	defer func() { err = errors.Join(err, m.CloseState()) }()
	f, err := m.Load()
	if err != nil {
		return nil, err
	}
	server, err := m.find(f, name)
	if err != nil {
		return nil, err
	}
	servers, err := m.connect(cmd, f, server)
	if err != nil {
		return nil, err
	}
	st, tools := servers.Status()[0], servers.Tools()
	if err := servers.Close(); err != nil {
		return nil, err
	}
	out := &triedServer{
		Name: name, State: st.State, Protocol: st.Protocol, ServerName: st.ServerName, ServerVersion: st.ServerVersion,
		Tools: []catalog.Entry{}, Changes: st.Changes, Findings: st.Findings, LeftOut: st.LeftOut, notice: st.Notice(),
	}
	if st.State != mcp.StateConnected && st.Error != nil {
		out.Reason = redact.Redactor{}.Text(st.Error.Error())
	}
	cost, entries, err := costOf(name, tools, f.Settings)
	if err != nil {
		return nil, err
	}
	out.Tokens, out.Tools = cost, append(out.Tools, entries...)
	return out, nil
}

func (t *triedServer) print(b *strings.Builder) {
	if t.State != mcp.StateConnected {
		terminal.Fprintf(b, "%s is %s: %s\n", t.Name, t.State, terminal.Line(t.Reason))
		return
	}
	says := cmp.Or(terminal.Short(t.ServerName), "a server without a name")
	if t.ServerVersion != "" {
		says += " " + terminal.Short(t.ServerVersion)
	}
	terminal.Fprintf(b, "%s is connected: %s, protocol %s\n\n", t.Name, says, terminal.Short(t.Protocol))
	output.Table(b, "TOOL\tIN PROGRAMS\tDESCRIPTION", t.Tools, func(e catalog.Entry) []any {
		return []any{terminal.Short(e.Name), output.Called(e.Call), output.FirstLine(e.Description)}
	})
	fmt.Fprintf(b, "\nIn each prompt: about %d tokens as %s with their schemas, about %d through exec.\nexec and wait themselves cost about %d, once for all servers.\n",
		t.Tokens.Raw, output.Count(t.Tokens.Tools, "tool"), t.Tokens.Quoin, t.Tokens.Base)
	t.printLeftOut(b)
	printSuspicions(b, t.notice, t.Findings)
}

// maxReasons is how many reasons are printed. With --json there are all.
const maxReasons = 20

// printLeftOut says which tools, or parts of them, cannot be used, by reason.
func (t *triedServer) printLeftOut(b *strings.Builder) {
	for i, o := range t.LeftOut {
		if i == maxReasons {
			fmt.Fprintf(b, "left out for %s, which --json has\n", output.Count(len(t.LeftOut)-i, "more reason"))
			return
		}
		names := make([]string, len(o.Tools))
		for j, name := range o.Tools {
			names[j] = terminal.Short(name)
		}
		if more := o.Count - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		before := map[bool]string{true: "\n"}[i == 0]
		what := map[bool]string{true: "parts of the input schemas of "}[o.Parts]
		terminal.Fprintf(b, "%sleft out, %s%s: %s\n  %s\n", before, what, output.Count(o.Count, "tool"), terminal.Line(o.Reason), strings.Join(names, ", "))
	}
}

// printSuspicions says what a person should look at before models use the tools.
func printSuspicions(b *strings.Builder, notice string, findings []mcp.Finding) {
	if notice != "" {
		terminal.Fprintf(b, "\n%s\n", terminal.Line(notice))
	}
	for _, f := range findings {
		terminal.Fprintf(b, "suspicious: %s of %s has %s: %s\n", f.Field, terminal.Short(f.Tool), findingWords[f.Kind], terminal.Short(f.Text))
	}
}

// findingWords say what a finding is.
var findingWords = map[mcp.FindingKind]string{
	mcp.FindingHidden:       "characters that do not show",
	mcp.FindingBidi:         "characters that turn the direction of text",
	mcp.FindingLookalike:    "a name like that of another tool",
	mcp.FindingInstructions: "words that are addressed to a model",
}
