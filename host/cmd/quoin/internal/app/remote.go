package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
)

// The variables that stand in for flags.
const (
	envServer = "QUOIN_SERVER"
	EnvToken  = "QUOIN_TOKEN"
)

// remote are the flags that say which server to use instead of a host of this
// process.
type remote struct {
	server, tokenFile string
}

func (r *remote) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.server, "server", "", "URL of a quoin serve to use (default: "+envServer+", else a host of this process)")
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "file with the server's token, readable by its owner alone (default: "+EnvToken+")")
}

// local are the flags that only a host of this process heeds.
var local = []string{"plugins", "config", "set", "engine", "state", "record-bodies"}

// Client returns the client of the server that is asked for, or nil.
func (r *remote) Client(cmd *cobra.Command) (*client.Client, error) {
	server := r.server
	if !cmd.Flags().Changed("server") {
		server = os.Getenv(envServer)
	}
	if server == "" {
		if r.tokenFile != "" {
			return nil, cli.Usagef("--token-file is for a server: give its URL with --server or %s", envServer)
		}
		return nil, nil
	}
	for _, name := range local {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return nil, cli.Usagef("--%s is the server's own affair: leave it out, or leave out --server and %s", name, envServer)
		}
	}
	token, err := ReadToken(r.tokenFile)
	if err != nil {
		return nil, err
	}
	c, err := client.New(server, client.Options{Token: token})
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	return c, nil
}

// ReadToken returns the token of a file, or of the environment, or "".
func ReadToken(file string) (string, error) {
	if file != "" {
		return gateway.ReadToken(file)
	}
	return os.Getenv(EnvToken), nil
}

// ForPeople is the error of a server with what a user of the command can do about it,
// where the server can only speak of its protocol.
func ForPeople(err error) error {
	var refused *gateway.Problem
	if errors.As(err, &refused) && refused.Code == gateway.ProblemUnauthorized {
		return fmt.Errorf("the server's token is missing or wrong: set %s to it, or give the file that has it with --token-file", EnvToken)
	}
	return err
}

// Args are those with which another command uses the same server, or nil.
func (r *remote) Args() []string {
	server := cmp.Or(r.server, os.Getenv(envServer))
	if server == "" {
		return nil
	}
	flags := []string{"--server", server}
	if r.tokenFile != "" {
		if abs, err := filepath.Abs(r.tokenFile); err == nil {
			flags = append(flags, "--token-file", abs)
		}
	}
	return flags
}
