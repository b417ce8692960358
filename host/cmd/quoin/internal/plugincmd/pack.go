package plugincmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginlint"
	"github.com/quoinhq/quoin/internal/install"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

func newPack() *cobra.Command {
	var o app.Flags
	var out, key string
	cmd := &cobra.Command{
		Use:   "pack DIR",
		Short: "Pack a plugin into one file",
		Long: `Pack the plugin in DIR: its manifest, the binaries of every platform the
manifest names, and what it names in files. Nothing else goes in, and the same plugin
always makes the same bytes. With --key the archive is signed.
quoin plugin install takes the archive from those who trust that key.

Before, what has sources is built as plugin dev builds it: those in Go for every
platform, others with the build command of dev.json5, which has to make all binaries.
Then what is packed is started once, as quoin plugin install starts it, with the
configuration and the secrets that --config has for it, else with those of dev.json5.
What does not come up is not packed.`,
		Example: `  quoin plugin pack ./weather
  quoin plugin pack ./weather -o dist/weather.tar.gz --key ~/.quoin/key.pem`,
		Args: cli.OneArg("DIR", "the folder with plugin.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var signer *trust.PrivateKey
			if key != "" {
				k, err := trust.ReadPrivateKey(key)
				if err != nil {
					return err
				}
				signer = &k
			}
			folder, err := openFresh(cmd, args[0], true)
			if err != nil {
				return err
			}
			f, err := o.Load()
			if err != nil {
				return err
			}
			tried := install.Options{AllowUnsigned: true, Logger: app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)}
			tried.Configs, tried.Secrets = inDevelopment(f, folder)
			return packPlugin(cmd, args[0], out, signer, tried)
		},
	}
	o.BindConfig(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write (default: ID-VERSION.tar.gz here)")
	cmd.Flags().StringVar(&key, "key", "", "the private key to sign with, of quoin plugin keys new")
	return cmd
}

// packPlugin packs into a file that is there in full or not at all.
func packPlugin(cmd *cobra.Command, dir, out string, key *trust.PrivateKey, tried install.Options) (err error) {
	m, err := manifest.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not the folder of a plugin: it has no %s", dir, manifest.Name)
	}
	if err != nil {
		return err
	}
	if out == "" {
		out = install.ArchiveName(m)
	}
	f, err := os.CreateTemp(filepath.Dir(out), ".packing-")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--output: there is no folder %s; make it first", filepath.Dir(out))
	}
	if err != nil {
		return err
	}
	p, err := install.Pack(f, dir, key)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = startOnce(cmd, f.Name(), m, tried)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), out); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	signed := "not signed"
	if p.Signer != (trust.PublicKey{}) {
		signed = "signed by " + p.Signer.String()
	}
	_, err = terminal.Fprintf(cmd.OutOrStdout(), "%s\n%s %s, %d files, %d bytes, sha256:%s, %s\n", out, p.Manifest.ID, p.Manifest.Version, len(p.Contents), p.Bytes, p.SHA256, signed)
	return err
}

// startOnce starts what an archive holds, as it is once it is installed. Where the plugin
// has no command for this platform it is not started, and that is said.
func startOnce(cmd *cobra.Command, archive string, m manifest.Manifest, o install.Options) (err error) {
	if m.Command == "" {
		cmd.PrintErrf("not started before: it has no command for %s\n", manifest.HostPlatform())
		return nil
	}
	if o.Dir, err = os.MkdirTemp("", "quoin-pack-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	secrets, missing := pluginlint.StandIns(o.Secrets[m.ID])
	o.Secrets = map[string]map[string]plugins.SecretSource{m.ID: secrets}
	for name, err := range missing {
		cmd.PrintErrf("warning: secret %s: %v; the plugin was started with a stand-in\n", name, err)
	}
	if _, err := install.Install(cmd.Context(), archive, o); err != nil {
		return fmt.Errorf("%s %s is not packed, for quoin plugin install would say: %w", m.ID, m.Version, err)
	}
	return nil
}

func newKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make keys to sign plugins with, and show them",
		Long: `Make ed25519 keys that sign plugins. The private key stays with the author;
the public key goes into plugins.trustedKeys of hosts that shall take only what
is signed by it.`,
		Example: `  quoin plugin keys new key.pem
  quoin plugin keys show key.pem`,
	}
	show := func(w io.Writer, key trust.PublicKey) error {
		_, err := terminal.Fprintln(w, key)
		return err
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "new FILE",
		Short:   "Make a private key and print its public key",
		Example: `  quoin plugin keys new key.pem`,
		Args:    cli.OneArg("FILE", "the file to make"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := trust.NewPrivateKey()
			if err != nil {
				return err
			}
			err = key.WriteFile(args[0])
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already and is left as it is: choose another name; quoin plugin keys show prints the public key of a key", args[0])
			}
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), key.Public())
		},
	}, &cobra.Command{
		Use:     "show FILE",
		Short:   "Print the public key of a private key",
		Example: `  quoin plugin keys show key.pem`,
		Args:    cli.OneArg("FILE", "a file of quoin plugin keys new"),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := trust.ReadPrivateKey(args[0])
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), key.Public())
		},
	})
	return cmd
}
