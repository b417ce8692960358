package statecmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/terminal"
)

// backedUp is what state backup has written, as JSON.
type backedUp struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Key   string `json:"key"` // the file of the key that seals what is in File
}

func newBackup() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the state while hosts use it",
		Long: `Write what the state directory has at one moment, apart from trajectories, data
directories of plugins and guest builds, into a new file: an SQLite database. To restore
it, put it as state.db into an empty directory, and state.key next to it. Keep the key
apart: who has both can read sign-ins. A run that went on since goes on again from there.

For a database of several hosts use its own tools, such as pg_dump.`,
		Example: `  quoin state backup /backup/state-monday.db
  quoin state backup --state /var/lib/quoin --json state-monday.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				d, ok := s.options.Database.(*sqlite.DB)
				if !ok {
					return cli.AsUsage(errors.New("this state is in a database that several hosts share: use its own tools, such as pg_dump"))
				}
				if err := d.Backup(ctx, args[0]); err != nil {
					return err
				}
				st, err := os.Stat(args[0])
				if err != nil {
					return err
				}
				out := backedUp{args[0], st.Size(), filepath.Join(s.dir, sqlite.KeyFile)}
				return o.Print(cmd, out, func(b *strings.Builder) {
					terminal.Fprintf(b, "wrote %s, %s; its key is in %s\n", out.File, output.KiB(int(out.Bytes)), out.Key)
				})
			})
		},
	}
	o.bind(cmd)
	return cmd
}
