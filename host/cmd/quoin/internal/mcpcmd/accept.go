package mcpcmd

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/internal/terminal"
)

// acceptedTools is what mcp accept says, as JSON.
type acceptedTools struct {
	*mcp.Difference
	Accepted bool `json:"accepted"`
}

func newAccept() *cobra.Command {
	var m mcpServers
	var yes bool
	cmd := &cobra.Command{
		Use:   "accept NAME",
		Short: "Show how the tools of a server have changed, and accept them",
		Long: `Connect to one MCP server of the configuration and show how its tools differ from what
was pinned when they were first seen or last accepted. Once you accept them, they are
pinned as shown. Hosts with the same state directory take note within seconds.
It asks before it accepts, unless --yes is given. With --json and without --yes it only
shows the difference.
Exit status: 0 accepted or no difference, 1 not accepted, 2 usage.`,
		Example: `  quoin mcp accept files
  quoin mcp accept files --json
  quoin mcp accept files --yes`,
		Args: cli.OneArg("NAME", serverHint),
		RunE: func(cmd *cobra.Command, args []string) error { return m.accept(cmd, args[0], yes) },
	}
	m.bind(cmd)
	m.bindState(cmd)
	m.completeServers(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "accept without asking")
	return cmd
}

// accept shows the difference, asks, and pins what was shown.
func (m *mcpServers) accept(cmd *cobra.Command, name string, yes bool) (err error) {
	f, err := m.Load()
	if err != nil {
		return err
	}
	server, err := m.find(f, name)
	if err != nil {
		return err
	}
	if server.Pin == mcp.PinOff {
		return fmt.Errorf("%s is not pinned: mcp.servers.%s.pin is \"off\"", name, name)
	}
	servers, err := m.connect(cmd, f, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close(), m.CloseState()) }()
	if st := servers.Status()[0]; st.State != mcp.StateConnected {
		return fmt.Errorf("%s is not connected: quoin mcp test %s says why", name, name+m.flags())
	}
	d, err := servers.Difference(name)
	if err != nil {
		return err
	}
	accepted := len(d.Changes) == 0
	if !m.JSON {
		if err := m.Print(cmd, d, func(b *strings.Builder) { printDifference(b, d) }); err != nil {
			return err
		}
	}
	if !accepted && (yes || !m.JSON && confirmed(cmd, "Accept these tools?")) {
		if err := servers.Accept(d); err != nil {
			return err
		}
		accepted = true
		if !m.JSON {
			fmt.Fprintln(cmd.OutOrStdout(), "accepted")
		}
	}
	if m.JSON {
		if err := output.PrintJSON(cmd.OutOrStdout(), acceptedTools{d, accepted}); err != nil {
			return err
		}
	} else if !accepted {
		fmt.Fprintln(cmd.OutOrStdout(), "not accepted")
	}
	return cli.Failed(nil, !accepted)
}

// confirmed asks a question on standard error and reads the answer. No answer is no.
func confirmed(cmd *cobra.Command, question string) bool {
	fmt.Fprint(cmd.ErrOrStderr(), question+" [y/N] ")
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 100)).ReadString('\n')
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr())
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

func printDifference(b *strings.Builder, d *mcp.Difference) {
	if len(d.Changes) == 0 {
		terminal.Fprintf(b, "the tools of %s are what was pinned\n", d.Server)
	}
	for _, c := range d.Changes {
		terminal.Fprintf(b, "%s %s\n", c.Kind, terminal.Short(c.Tool))
		for _, f := range c.Fields {
			terminal.Fprintf(b, "  %s\n  - %s\n  + %s\n", f.Field, cmp.Or(terminal.Line(f.Pinned), "(nothing)"), cmp.Or(terminal.Line(f.Offered), "(nothing)"))
		}
	}
	printSuspicions(b, "", d.Findings)
}
