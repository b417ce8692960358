package statecmd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/guestbuilds"
	"github.com/quoinhq/quoin/host/internal/takeover"
	"github.com/quoinhq/quoin/internal/terminal"
)

// collected is what state gc has removed, as JSON.
type collected struct {
	DryRun bool                `json:"dryRun,omitempty"`
	Left   int                 `json:"left"` // suspended runs
	Builds []guestbuilds.Build `json:"builds"`
	// Folders says whether the folders of an earlier version are removed, which this one has
	// taken over.
	Folders bool `json:"folders,omitempty"`
}

func newGC() *cobra.Command {
	var o options
	var dry bool
	unused := guestbuilds.UnusedFor
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what has expired, and guest builds that no suspended run needs",
		Long: `Remove runs, results and approvals whose time is over, as a host does once a minute, and
the builds in guest.builds that no suspended run needs and that no host has used for
an hour. As long as there is a run that cannot be read, no build goes: the run may
need it. quoin state check shows such runs. The folders of an earlier version, which this
one has taken over, go too.`,
		Example: `  quoin state gc --dry-run
  quoin state gc --state /var/lib/quoin --unused-for 24h`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if unused < 2*time.Minute {
				return cli.Usagef("--unused-for is %v, expected 2m or more: hosts say once a minute what they use", unused)
			}
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				got, err := s.collect(ctx, time.Now().Add(-unused), dry)
				if err != nil {
					return err
				}
				return o.Print(cmd, got, got.print)
			})
		},
	}
	o.bind(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show which builds would go, and remove nothing")
	cmd.Flags().DurationVar(&unused, "unused-for", unused, "keep builds that a host has used in this time")
	return cmd
}

// collect removes what has expired, and the builds that no run needs.
func (s *storedState) collect(ctx context.Context, before time.Time, dry bool) (*collected, error) {
	out := &collected{DryRun: dry, Builds: []guestbuilds.Build{}}
	if !dry {
		if err := s.config.Approvals.Store.Sweep(ctx, time.Now()); err != nil {
			return nil, err
		}
		if _, err := s.config.Store.Sweep(ctx, time.Now()); err != nil {
			return nil, err
		}
	}
	if err := s.removeFolders(out); err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	ask := func(ctx context.Context) (map[string]bool, error) {
		runs, err := s.needs(ctx)
		for id, n := range runs {
			needed[id] = true
			out.Left += len(n.runs)
		}
		for _, id := range s.installed() {
			needed[id] = true
		}
		return needed, err
	}
	if s.builds == nil {
		_, err := ask(ctx)
		return out, err
	}
	removed, err := s.builds.Collect(ctx, before, dry, ask)
	out.Builds = append(out.Builds, removed...)
	return out, err
}

// removeFolders removes the folders that were taken over.
func (s *storedState) removeFolders(out *collected) error {
	path := filepath.Join(s.dir, takeover.Folder)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	out.Folders = true
	if out.DryRun {
		return nil
	}
	return os.RemoveAll(path)
}

func (c *collected) print(b *strings.Builder) {
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	if c.Folders {
		terminal.Fprintf(b, "%s the folders of an earlier version\n", verb)
	}
	for _, build := range c.Builds {
		terminal.Fprintf(b, "%s build %.12s, %s\n", verb, build.ID, output.KiB(int(build.Bytes)))
	}
	terminal.Fprintf(b, "%s %d builds; %d suspended runs are left\n", verb, len(c.Builds), c.Left)
}
