package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/shell/node"
	"github.com/quoinhq/quoin/internal/terminal"
)

// nodeTime bounds what a command asks of a node.
const nodeTime = 30 * time.Second

// envNodeToken has the token of an invitation.
const envNodeToken = "QUOIN_NODE_TOKEN"

// maxTokenBytes bounds a file with a token.
const maxTokenBytes = 4 << 10

func newNodeAdd() *cobra.Command {
	var o nodeOptions
	var address, tokenFile, as string
	cmd := &cobra.Command{
		Use:   "add NAME --address HOST:PORT",
		Short: "Enrol this gateway at a node",
		Long: `Enrol this gateway at the node that has made a token with quoin node invite. NAME is
what this gateway calls the node: exec takes it as node, and so does plugins.shell.node.

The token stands in the file of --token-file, which its owner alone may read, or in
` + envNodeToken + `; - reads it from standard input. It counts once. It names the key of the
node, so that no other machine can answer in its place.
Exit status: 0 enrolled, 1 not, 2 usage.`,
		Example: `  quoin node add builder --address build.example.com:8788 --token-file token
  ssh build.example.com quoin node invite | quoin node add builder --address build.example.com:8788 --token-file -`,
		Args: cli.OneArg("NAME", "which you choose"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(node.CheckName(args[0]), node.CheckAddress(address)); err != nil {
				return cli.AsUsage(err)
			}
			token, err := nodeToken(cmd.InOrStdin(), tokenFile)
			if err != nil {
				return err
			}
			nodes, err := o.nodes()
			if err != nil {
				return err
			}
			defer nodes.Close()
			ctx, cancel := context.WithTimeout(cmd.Context(), nodeTime)
			defer cancel()
			e, err := nodes.Add(ctx, args[0], address, token, as)
			if err != nil {
				return err
			}
			if o.json {
				return output.PrintJSON(cmd.OutOrStdout(), e)
			}
			next := []string{app.Program(), "node", "test", e.Name}
			for _, flag := range []string{"config", "state"} { // else the next command looks in another place
				if given := cmd.Flag(flag); given.Changed {
					next = append(next, "--"+flag, given.Value.String())
				}
			}
			_, err = terminal.Fprintf(cmd.OutOrStdout(), "added %s at %s\nnow: %s\n", e.Name, e.Address, app.ShellLine(next))
			return err
		},
	}
	o.bind(cmd, true)
	f := cmd.Flags()
	f.StringVar(&address, "address", "", "where the node listens: HOST:PORT")
	f.StringVar(&tokenFile, "token-file", "", "file with the token, or - for standard input (default: "+envNodeToken+")")
	name, _ := os.Hostname() // what the node lists this gateway by; empty will do
	f.StringVar(&as, "as", name, "what the node is to call this gateway")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// nodeToken reads the token of an invitation.
func nodeToken(stdin io.Reader, file string) (string, error) {
	switch file {
	case "":
		if token := os.Getenv(envNodeToken); token != "" {
			return token, nil
		}
		return "", cli.Usagef("the token is missing: run quoin node invite on the node, and give what it prints in a file with --token-file, or in %s", envNodeToken)
	case "-":
		data, err := io.ReadAll(io.LimitReader(stdin, maxTokenBytes))
		return string(data), err
	}
	data, err := durable.ReadPrivate(file, maxTokenBytes)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return string(data), nil
}
