package plugincmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/internal/install"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins"
)

// installing are the flags of the commands that change a plugin directory.
type installing struct {
	app.Flags
	install.Options
}

func (i *installing) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&i.Plugins, "plugins", "", "directory of plugins (default: in the user's data home)")
	i.BindConfig(cmd)
}

// bindSource is for the commands that take a plugin from a source and run it.
func (i *installing) bindSource(cmd *cobra.Command, mayMake bool, done string, do func(context.Context, string, install.Options) (*install.Outcome, error)) {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := i.where(cmd, mayMake); err != nil {
			return err
		}
		if _, err := openBuilt(cmd, args[0]); err != nil {
			return err
		}
		out, err := do(cmd.Context(), args[0], i.Options)
		if err != nil {
			return err
		}
		return printOutcome(cmd.OutOrStdout(), done, out)
	}
	i.bind(cmd)
	cmd.Flags().BoolVar(&i.AllowUnsigned, "allow-unsigned", false, "without trusted keys: also an archive that is not signed, or signed by an unknown key")
}

// where fills in what the configuration says. With mayMake, a directory that is not
// there is no error. Plugins next to the executable came with it: they are used when
// nothing else is there, and changed only by name.
func (i *installing) where(cmd *cobra.Command, mayMake bool) (*configfile.File, error) {
	f, err := i.Load()
	if err != nil {
		return nil, err
	}
	i.Configs, i.Secrets, i.Trusted, i.Logger = f.PluginConfig, f.PluginSecrets, f.TrustedKeys, app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)
	for _, name := range []string{"plugins", "config"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			i.Options.Flags += " --" + name + " " + output.ShellWord(flag.Value.String())
		}
	}
	for _, field := range i.Set {
		i.Options.Flags += " --set " + output.ShellWord(field)
	}
	i.Quote = output.ShellWord
	if i.Dir = cmp.Or(i.Plugins, f.PluginDir); i.Dir == paths.None {
		return nil, fmt.Errorf("the plugin directory is %q, which means that there are no plugins: give one with --plugins DIR", i.Dir)
	}
	if i.Dir == "" {
		if i.Dir, err = paths.UserPlugins(); err != nil {
			return nil, fmt.Errorf("there is no plugin directory of the user: %v; give one with --plugins DIR", err)
		}
	}
	if !mayMake && !paths.IsDir(i.Dir) {
		return nil, fmt.Errorf("there is no plugin directory %s: give one with --plugins DIR", i.Dir)
	}
	return f, nil
}

const sourceHint = "a plugin's folder or an archive of quoin plugin pack"

func newInstall() *cobra.Command {
	var i installing
	cmd := &cobra.Command{
		Use:   "install SOURCE",
		Short: "Put a plugin into the plugin directory",
		Long: `Copy the plugin in SOURCE, a folder or an archive, into the plugin directory and
write it into the directory's quoin.lock. Before, its checksums and its signature
are verified, and it is started for real with the configuration it has under
plugins.config; one that does not come up is not installed. A command that is missing
in a folder is built, as plugin dev does it. An archive runs only if a key of
plugins.trustedKeys has signed it, or quoin.lock lists it as it is: without trusted
keys, --allow-unsigned takes it all the same.
A directory that has no lock yet gets one, with every plugin that is there.`,
		Example: `  quoin plugin install ./weather
  quoin plugin install weather-1.0.0.tar.gz --config quoin.json5 --plugins /etc/quoin/plugins`,
		Args: cli.OneArg("SOURCE", sourceHint),
	}
	i.bindSource(cmd, true, "installed", install.Install)
	return cmd
}

func newUpgrade() *cobra.Command {
	var i installing
	cmd := &cobra.Command{
		Use:   "upgrade SOURCE",
		Short: "Replace an installed plugin",
		Long: `Replace a plugin by the one in SOURCE, a folder or an archive, after the same
checks as install. An older version, other files of the same version, and a
plugin that the signer of the installed one has not signed are refused. An archive
may be signed by that signer, too, or takes --allow-unsigned as in install. A running
host that watches its plugins takes the new one over without dropping a call.`,
		Example: `  quoin plugin upgrade weather-1.1.0.tar.gz
  quoin plugin upgrade ./weather --any-version`,
		Args: cli.OneArg("SOURCE", sourceHint),
	}
	i.bindSource(cmd, false, "upgraded", install.Upgrade)
	cmd.Flags().BoolVar(&i.AnyVersion, "any-version", false, "also by an older version, or other files of the same")
	cmd.Flags().BoolVar(&i.NewSigner, "new-signer", false, "also by what another key has signed, or none")
	return cmd
}

func newPin() *cobra.Command {
	var i installing
	var all bool
	cmd := &cobra.Command{
		Use:   "pin ID...",
		Short: "Accept plugins as they lie in the plugin directory",
		Long: `Write plugins into quoin.lock as they are now: their versions, and the checksums
of their manifests, binaries and other files. From then on a host starts them
only as that. Look at what has changed before: this command believes what it
finds.`,
		Example: `  quoin plugin pin weather
  quoin plugin pin --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return cli.Usagef("expected ID..., folders of the plugin directory, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := i.where(cmd, false); err != nil {
				return err
			}
			outs, err := install.Pin(args, i.Options)
			if err != nil {
				return err
			}
			for _, out := range outs {
				if err := printOutcome(cmd.OutOrStdout(), "pinned", out); err != nil {
					return err
				}
			}
			return nil
		},
	}
	i.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(i.installed)
	cmd.Flags().BoolVar(&all, "all", false, "every plugin that is there")
	cmd.Flags().BoolVar(&i.NewSigner, "new-signer", false, "also where another key has signed, or none")
	return cmd
}

func newRemove() *cobra.Command {
	var i installing
	var data bool
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Take a plugin out of the plugin directory",
		Long: `Remove a plugin's folder and its entry in quoin.lock. What the plugin has stored
in its data directory stays, unless --data is given.`,
		Example: `  quoin plugin remove weather
  quoin plugin remove weather --data`,
		Args: cli.OneArg("ID", "which quoin plugins shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := i.where(cmd, false)
			if err != nil {
				return err
			}
			state, err := i.StateDir(f)
			if err != nil {
				return err
			}
			out, err := install.Remove(args[0], i.Options)
			if err != nil {
				return err
			}
			return removed(cmd.OutOrStdout(), out, plugins.DataPaths(filepath.Join(state, "plugins"), out.ID), data)
		},
	}
	i.bind(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(i.installed)
	cmd.Flags().StringVar(&i.State, "state", "", "directory of plugin data (default: in the user's state home)")
	cmd.Flags().BoolVar(&data, "data", false, "remove the plugin's data too")
	return cmd
}

// removed says what has become of a plugin and its data, which it removes if asked.
func removed(w io.Writer, out *install.Outcome, paths []string, data bool) error {
	text := "removed " + strings.TrimSpace(out.ID+" "+out.Before.Version) + "\n"
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		case !data:
			text += "  its data stays in " + path + "; to remove it, delete that\n"
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		text += "  its data in " + path + " too\n"
	}
	_, err := io.WriteString(w, terminal.Text(text))
	return err
}

// printOutcome says what was done.
func printOutcome(w io.Writer, verb string, out *install.Outcome) error {
	var b strings.Builder
	what := out.ID + " " + out.Entry.Version
	switch {
	case out.Unchanged:
		fmt.Fprintf(&b, "%s is as locked: nothing to do\n", what)
	case out.Before.Version != "" && out.Before.Version != out.Entry.Version:
		fmt.Fprintf(&b, "%s %s, was %s\n", verb, what, out.Before.Version)
	default:
		fmt.Fprintf(&b, "%s %s\n", verb, what)
	}
	fmt.Fprintf(&b, "  in %s\n", out.Dir)
	if out.Entry.Signer != (trust.PublicKey{}) {
		fmt.Fprintf(&b, "  signed by %s\n", out.Entry.Signer)
	} else {
		b.WriteString("  not signed\n")
	}
	if len(out.Adopted) > 0 {
		fmt.Fprintf(&b, "  %s is new here; it also has, as they are: %s\n", trust.LockName, strings.Join(out.Adopted, ", "))
	}
	if len(out.Left) > 0 {
		fmt.Fprintf(&b, "  not locked, since they cannot be loaded: %s\n", strings.Join(out.Left, ", "))
	}
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

// installed are the plugins of the plugin directory.
func (i *installing) installed(cmd *cobra.Command) ([]cobra.Completion, error) {
	if _, err := i.where(cmd, false); err != nil {
		return nil, err
	}
	found, err := plugins.Discover(i.Dir)
	var names []cobra.Completion
	for _, f := range found {
		names = append(names, f.ID())
	}
	return names, err
}
