// Package statecmd has the commands that look after what outlives a process.
package statecmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/guestbuilds"
	"github.com/quoinhq/quoin/host/runstore"
)

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Look after what outlives a process: suspended runs and their guests",
		Long: `Look after what outlives a process: suspended runs, results that wait for their
caller, journals of effects, and the guest builds that suspended runs need. These
commands read and change the state itself and start no host but for upgrade, so that
they work while hosts use it, and on what no host can read any more.`,
		Example: `  quoin state ls
  quoin state check --state /var/lib/quoin
  quoin state builds
  quoin state gc --dry-run`,
	}
	cmd.AddCommand(newMigrate(), newList(), newShow(), newCheck(), newBuilds(), newGC(), newBackup(), newMove(), newExport(), newImport(), newUpgrade())
	return cmd
}

// options are the flags of these commands.
type options struct{ app.Flags }

func (o *options) bind(cmd *cobra.Command) {
	o.BindConfig(cmd)
	o.BindState(cmd)
	o.BindJSON(cmd)
}

// storedState is what a state directory keeps, without a host.
type storedState struct {
	config  host.Config      // its stores
	builds  *guestbuilds.Dir // nil: no directory of builds
	file    *configfile.File
	dir     string // the state directory, also with a database
	options *app.Flags
}

// with calls do with the state that the flags name.
func (o *options) with(cmd *cobra.Command, do func(context.Context, *storedState) error) (err error) {
	f, state, err := o.Existing()
	if err != nil {
		return err
	}
	s := &storedState{file: f, dir: state, options: &o.Flags, config: o.HostConfig(f, app.Logger(f, cmd.ErrOrStderr(), slog.LevelError))}
	if err := o.OpenState(cmd.Context(), f, state, &s.config); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.CloseState()) }()
	if dir := s.config.Guests.Builds; dir != "" {
		if s.builds, err = guestbuilds.Open(dir); err != nil {
			return err
		}
	}
	return do(cmd.Context(), s)
}

// items are what the store keeps.
func (s *storedState) items(ctx context.Context) ([]runstore.Item, error) {
	inventory, ok := s.config.Store.(runstore.Inventory)
	if !ok {
		return nil, errors.New("this store cannot say what it keeps")
	}
	return inventory.Items(ctx)
}

// needs are the builds that stored runs need, with those runs and the engine of each.
type needs map[string]*neededBuild

type neededBuild struct {
	engine string   // its id
	runs   []string // their ids
}

// unreadableError says that a record cannot be read, so that it is not known what it needs.
type unreadableError struct {
	id  string
	err error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("run %s cannot be read: %v", e.id, e.err)
}

func (e *unreadableError) Unwrap() error { return e.err }

// needs reads which builds runs need. An unreadable run is an error next to what is known.
func (s *storedState) needs(ctx context.Context) (needs, error) {
	records, err := s.config.Store.List(ctx)
	if err != nil {
		return nil, err
	}
	out, listed := needs{}, map[string]bool{}
	for _, r := range records {
		listed[r.ID] = true
		out.add(r)
	}
	items, err := s.items(ctx)
	if err != nil {
		return nil, err
	}
	var unreadable []error
	for _, item := range items {
		if item.Kind != runstore.ItemRun || listed[item.ID] {
			continue
		}
		r, err := s.config.Store.Get(ctx, item.ID)
		switch {
		case err == nil: // it came in the meantime
			out.add(r)
		case errors.Is(err, runstore.ErrExpired), errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrEnded):
		case errors.Is(err, runstore.ErrCorrupt), errors.Is(err, runstore.ErrFormat):
			unreadable = append(unreadable, &unreadableError{item.ID, err})
		default:
			return nil, err
		}
	}
	return out, errors.Join(unreadable...)
}

func (n needs) add(r *runstore.Record) {
	if !r.Started() {
		return
	}
	b := n[r.GuestBuild]
	if b == nil {
		b = &neededBuild{engine: r.GuestEngine}
		n[r.GuestBuild] = b
	}
	b.runs = append(b.runs, r.ID)
}
