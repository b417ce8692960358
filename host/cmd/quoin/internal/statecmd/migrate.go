package statecmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/postgres"
)

func newMigrate() *cobra.Command {
	var o app.Flags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of a database, or bring them up to this version",
		Long: `Make the tables in the database that --state or state.url names, or bring them up
to this version. Hosts of this version refuse a database that is not. There is no
way back: a host of an older version then refuses the database.

It can be run while hosts use the database, and by several hosts at once.`,
		Example: `  quoin state migrate --state postgres://quoin@db.example.com/quoin
  quoin state migrate --state env:DATABASE_URL`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := o.Load()
			if err != nil {
				return err
			}
			url, err := o.DatabaseURL(f)
			if err != nil {
				return err
			}
			if url == "" {
				return cli.AsUsage(errors.New("a state directory has nothing to migrate: name a database with --state postgres://user@host/database"))
			}
			from, to, err := postgres.Migrate(cmd.Context(), url)
			if err != nil {
				return err
			}
			if from == to {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the tables have version %d already\n", to)
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the tables have version %d; it was %d\n", to, from)
			}
			return err
		},
	}
	o.BindConfig(cmd)
	o.BindState(cmd)
	return cmd
}
