package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newTools() *cobra.Command {
	return newList("tools", "List the tools that cells can call", `  quoin tools
  quoin tools --plugins ./plugins.d --json
  quoin tools --server http://127.0.0.1:8787`, printTools)
}

func newNamespaces() *cobra.Command {
	return newList("namespaces", "List the namespaces that cells can use", `  quoin namespaces
  quoin namespaces --json`, printNamespaces)
}

// printer writes a list of what a backend has, as JSON or for people.
type printer func(ctx context.Context, w io.Writer, b backend, s host.Session, asJSON bool) error

func newList(name, short, example string, print printer) *cobra.Command {
	var o options
	var asJSON bool
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: example,
		Args:    cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.list(cmd, func(b backend) error {
				return print(cmd.Context(), cmd.OutOrStdout(), b, o.caller(), asJSON)
			})
		},
	}
	o.saysWhy = name == "list" || name == "plugins"
	o.bind(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// list asks the server, or makes a host whose plugins get throw-away data
// directories: looking changes nothing.
func (o *options) list(cmd *cobra.Command, print func(backend) error) error {
	c, err := o.remote.client(cmd)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
		return print(c)
	}
	return o.inspect(cmd, cmd.ErrOrStderr(), func(h *host.Host) error { return print(inProcess{h}) })
}

// inspect makes a host that is only looked at.
func (o *options) inspect(cmd *cobra.Command, stderr io.Writer, print func(*host.Host) error) error {
	f, err := o.load()
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if o.saysWhy {
		level = slog.LevelError
	}
	cfg := o.hostConfig(f, logger(f, stderr, level))
	cfg.Guests.Prepared = 1
	cfg.Settings.Isolation = host.IsolationBestEffort // no cell runs
	if cfg.Plugins.Dir, err = o.pluginDir(f); err != nil {
		return err
	}
	if err := o.addMCPState(cmd.Context(), f, &cfg); err != nil {
		return err
	}
	h, err := host.New(context.WithoutCancel(cmd.Context()), cfg)
	if err != nil {
		return err
	}
	err = print(h)
	if cerr := h.Close(); err == nil {
		err = cerr
	}
	return err
}

// addMCPState lets a host that is only looked at see servers as the hosts of the state
// directory do: with their pins and sign-ins. A directory that was not used stays so.
func (o *options) addMCPState(ctx context.Context, f *configfile.File, cfg *host.Config) error {
	state, err := o.existingState(f)
	if err != nil || len(f.MCP) == 0 {
		return nil // a host has not used the directory yet
	}
	if err := paths.CheckState(state); err != nil {
		return err
	}
	opened := host.Config{Logger: cfg.Logger}
	if err := o.openState(ctx, f, state, &opened); err != nil {
		return err
	}
	cfg.MCP.PinDir, cfg.MCP.Pins, cfg.MCP.SignIns = pinDir(state), opened.MCP.Pins, opened.MCP.SignIns
	return nil
}

func printTools(ctx context.Context, w io.Writer, b backend, s host.Session, asJSON bool) error {
	entries, err := b.Tools(ctx, s)
	if err != nil {
		return err
	}
	if asJSON {
		if entries == nil {
			entries = []catalog.Entry{}
		}
		return output.PrintJSON(w, entries)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tCALL\tDESCRIPTION")
	for _, e := range entries {
		terminal.Fprintf(tw, "%s\t%s\t%s\n", e.ID, called(e.Call), output.FirstLine(e.Description))
	}
	return tw.Flush()
}

// called closes a call that is cut off before its input.
func called(call string) string {
	switch {
	case call == "":
		return ""
	case strings.HasPrefix(call, "tools.call("):
		return terminal.Line(call) + ", …)"
	}
	return terminal.Line(call) + "(…)"
}

func printNamespaces(ctx context.Context, w io.Writer, b backend, s host.Session, asJSON bool) error {
	list, err := b.Namespaces(ctx, s)
	if err != nil {
		return err
	}
	if asJSON {
		if list == nil {
			list = []host.Namespace{}
		}
		return output.PrintJSON(w, list)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "GLOBAL\tPLUGIN\tDESCRIPTION")
	for _, n := range list {
		terminal.Fprintf(tw, "%s\t%s\t%s\n", n.GlobalName, n.PluginID, output.FirstLine(n.Description))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return printHidden(w, b, s)
}

// printHidden says which namespaces cells cannot use, and why. Only the operator of
// a host learns that: the reasons name tools that rules deny.
func printHidden(w io.Writer, b backend, s host.Session) error {
	own, ok := b.(inProcess)
	if !ok {
		return nil
	}
	for _, n := range own.UnavailableNamespaces(s) {
		if _, err := terminal.Fprintf(w, "%s of plugin %s is not visible: %s\n", n.GlobalName, n.PluginID, n.Reason); err != nil {
			return err
		}
	}
	return nil
}
