package statecmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/terminal"
)

// checked is what state check says, as JSON.
type checked struct {
	Items    int       `json:"items"` // that were read
	Problems []problem `json:"problems"`
}

// problem is something that no host can use.
type problem struct {
	ID      string `json:"id"`   // of a run or a build
	Kind    string `json:"kind"` // of an item, or build
	Problem string `json:"problem"`
}

func newCheck() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Read stored runs and their guests, and say what is damaged or missing",
		Long: `Read every record, result and journal of effects, and verify its seal; read every build
in guest.builds; and look whether every suspended run has its build. Saved programs,
grants, sign-ins and what plugins have stored are not read. It reads the structure of
the whole file of a state directory, too. It changes nothing.
Exit status: 0 all is well, 1 there are problems, 2 usage.`,
		Example: `  quoin state check
  quoin state check --state /var/lib/quoin --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				got, err := s.check(ctx)
				if err != nil {
					return err
				}
				err = o.Print(cmd, got, func(b *strings.Builder) {
					for _, p := range got.Problems {
						terminal.Fprintf(b, "%s %s: %s\n", p.Kind, p.ID, terminal.Line(p.Problem))
					}
					terminal.Fprintf(b, "%d read, %d problems\n", got.Items, len(got.Problems))
				})
				return cli.Failed(err, len(got.Problems) > 0)
			})
		},
	}
	o.bind(cmd)
	return cmd
}

// check reads everything.
func (s *storedState) check(ctx context.Context) (*checked, error) {
	out := &checked{Problems: []problem{}}
	if d, ok := s.options.Database.(*sqlite.DB); ok {
		if err := d.Check(ctx); errors.Is(err, runstore.ErrCorrupt) {
			out.add(sqlite.FileName, "file", err.Error())
		} else if err != nil {
			return nil, err
		}
	}
	items, err := s.items(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		err := s.read(ctx, i, &run{})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil, errors.Is(err, runstore.ErrExpired):
			out.Items++
		case errors.Is(err, runstore.ErrNotFound): // it is gone by now
		default:
			out.add(i.ID, string(i.Kind), err.Error())
		}
	}
	return out, s.checkBuilds(ctx, out)
}

// checkBuilds reads every kept build, and looks whether every run has one.
func (s *storedState) checkBuilds(ctx context.Context, out *checked) error {
	list, err := s.listBuilds(ctx)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.missing() {
			out.add(b.Build, "build", fmt.Sprintf("%d suspended runs need it, and it is nowhere: quoin state upgrade replays those that it can; for the others put its quoin-guest back into guest.builds, or abort them", b.Runs))
		}
		if !b.Kept {
			continue
		}
		out.Items++
		path, ok := s.builds.Find(b.Build)
		if !ok {
			continue // removed by now
		}
		id, err := guestrt.BuildOf(path)
		switch got := hex.EncodeToString(id[:]); {
		case err != nil:
			out.add(b.Build, "build", err.Error())
		case got != b.Build:
			out.add(b.Build, "build", fmt.Sprintf("%s has the build %.12s: no host starts it; remove the file, and put the right quoin-guest there if runs need it", path, got))
		}
	}
	return nil
}

func (c *checked) add(id, kind, text string) {
	c.Problems = append(c.Problems, problem{id, kind, text})
}
