package statecmd

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/guestbuilds"
	"github.com/quoinhq/quoin/internal/terminal"
)

// build is a guest build as state builds shows it.
type build struct {
	Build  string `json:"build"`            // SHA-256 of the executable
	Engine string `json:"engine,omitempty"` // id of its engine, if a run says it
	Bytes  int64  `json:"bytes,omitempty"`
	Runs   int    `json:"runs"` // suspended runs that need it
	// RunIDs are those runs.
	RunIDs []string `json:"runIds,omitempty"`
	// Installed says that new runs use the build, Kept that it is in guest.builds.
	Installed bool      `json:"installed"`
	Kept      bool      `json:"kept"`
	Used      time.Time `json:"used,omitzero"` // when a host has last said so
}

// missing says that no host with this configuration can continue the runs of the build.
func (b *build) missing() bool { return b.Runs > 0 && !b.Installed && !b.Kept }

func newBuilds() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "builds",
		Short: "List the guest builds that there are, and which of them suspended runs need",
		Long: `List the guest builds that new runs use, those that are kept in guest.builds,
and those that suspended runs need, with the number of these runs.
Which runs these are, --json says, and so does the build of each run in quoin state ls.
A build that runs need and that is nowhere is "missing": quoin state upgrade replays
those that it can. For the others put its quoin-guest back into guest.builds, or abort them.
Exit status: 0 every run has its build, 1 a build is missing, 2 usage.`,
		Example: `  quoin state builds
  quoin state builds --state /var/lib/quoin --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				list, err := s.listBuilds(ctx)
				if err != nil {
					return err
				}
				err = o.Print(cmd, list, func(b *strings.Builder) { printBuilds(b, list, time.Now()) })
				return cli.Failed(err, slices.ContainsFunc(list, (*build).missing))
			})
		},
	}
	o.bind(cmd)
	return cmd
}

// listBuilds returns the builds: builds of new runs first, then by the number of their runs.
func (s *storedState) listBuilds(ctx context.Context) ([]*build, error) {
	needed, err := s.needs(ctx)
	var unreadable *unreadableError
	if err != nil && !errors.As(err, &unreadable) {
		return nil, err
	}
	known := map[string]*build{}
	of := func(id string) *build {
		if known[id] == nil {
			known[id] = &build{Build: id}
		}
		return known[id]
	}
	for id, n := range needed {
		b := of(id)
		b.Engine, b.Runs, b.RunIDs = n.engine, len(n.runs), n.runs
	}
	if s.builds != nil {
		kept, err := s.builds.List()
		if err != nil {
			return nil, err
		}
		for _, k := range kept {
			b := of(k.ID)
			b.Kept, b.Bytes, b.Used = true, k.Bytes, k.Used
		}
	}
	for _, id := range s.installed() {
		of(id).Installed = true
	}
	out := make([]*build, 0, len(known))
	for _, b := range known {
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b *build) int {
		return cmp.Or(cmp.Compare(btoi(b.Installed), btoi(a.Installed)), cmp.Compare(b.Runs, a.Runs), b.Used.Compare(a.Used), cmp.Compare(a.Build, b.Build))
	})
	return out, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// installed returns the builds that hosts of this configuration have by themselves: of each
// engine that has its worker there.
func (s *storedState) installed() (ids []string) {
	g := s.config.Guests
	for _, engine := range []host.EngineChoice{host.EngineDefault, host.EngineNative} {
		_, id, err := guestrt.FindWorker(guestrt.Config{Engine: engine, GuestPath: g.Path, NativePath: g.NativePath})
		if hexID := hex.EncodeToString(id[:]); err == nil && !slices.Contains(ids, hexID) {
			ids = append(ids, hexID)
		}
	}
	return ids
}

func printBuilds(b *strings.Builder, list []*build, now time.Time) {
	output.Table(b, "BUILD\tRUNS\tSIZE\tUSED\tSTATE\tENGINE", list, func(b *build) []any {
		size, used := "-", "-"
		if b.Kept {
			size, used = output.KiB(int(b.Bytes)), now.Sub(b.Used).Round(time.Second).String()+" ago"
		}
		return []any{fmt.Sprintf("%.12s", b.Build), b.Runs, size, used, b.state(now), terminal.Short(b.Engine)}
	})
}

// state says in a word or two whether the build is needed.
func (b *build) state(now time.Time) string {
	switch {
	case b.missing():
		return "missing"
	case b.Installed:
		return "new runs"
	case b.Runs > 0:
		return "needed"
	case b.Kept && now.Sub(b.Used) < guestbuilds.UnusedFor:
		return "in use"
	}
	return "unneeded"
}
