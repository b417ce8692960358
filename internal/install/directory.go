package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

// Names in a plugin directory that no host looks at.
const (
	guardName     = ".quoin-install"
	stagingPrefix = ".staging-"
)

// ErrBusy is the error for a directory that another command is changing. Trying a
// plugin takes a while; waiting for it would be waiting for a stranger.
var ErrBusy = errors.New("another command is changing this plugin directory; try again when it has ended")

// directory is a plugin directory that no one else changes while it is in use.
type directory struct {
	dir     string
	options Options
	lock    trust.Lock
	locked  bool // there was a lock before
	staging string
}

// change does something to a directory, alone.
func change[T any](o Options, do func(*directory) (T, error)) (_ T, err error) {
	var none T
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return none, err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return none, fmt.Errorf("%s is not a plugin directory", dir)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	guard := durable.NewLock(filepath.Join(dir, guardName))
	switch err := guard.TryLock(); {
	case errors.Is(err, durable.ErrLocked):
		return none, fmt.Errorf("%s: %w", dir, ErrBusy)
	case err != nil:
		return none, fmt.Errorf("plugin directory: %w", err)
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	d := &directory{dir: dir, options: o}
	if d.lock, err = trust.ReadLock(dir); err != nil {
		return none, err
	}
	d.locked = d.lock != nil
	if err := d.sweep(); err != nil {
		return none, err
	}
	if d.staging, err = os.MkdirTemp(dir, stagingPrefix); err != nil {
		return none, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.staging)) }()
	return do(d)
}

// sweep removes what commands have left that were killed.
func (d *directory) sweep() error {
	entries, err := os.ReadDir(d.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagingPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(d.dir, e.Name())))
		}
	}
	return err
}

// folder is where a plugin lies.
func (d *directory) folder(id string) string { return filepath.Join(d.dir, id) }

// before is what vouches for a plugin now: its entry or, before there is a lock,
// what lies there; the zero entry if that cannot be read.
func (d *directory) before(id string) trust.LockEntry {
	if d.locked {
		return d.lock[id]
	}
	there, err := plugins.Find(d.folder(id)).LockEntry()
	if err != nil {
		return trust.LockEntry{}
	}
	return there
}

// try starts a plugin as a host would, and has it make the scopes of a run.
func (d *directory) try(ctx context.Context, f plugins.Candidate) (err error) {
	data, err := os.MkdirTemp("", "quoin-install-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	p, err := plugins.Start(ctx, f, plugins.Options{
		DataDir: filepath.Join(data, "data"), StorageDir: filepath.Join(data, "storage"),
		Config: d.options.Configs[f.ID()], Secrets: d.options.Secrets[f.ID()], Logger: d.options.Logger, StartTimeout: d.options.StartTimeout,
	})
	if err != nil {
		return fmt.Errorf("it does not start, and is not installed: %w", err)
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	nobody := namespaces.RunContext{AgentID: "install", SessionKey: "install", SessionID: "install", RunID: "run_install"}
	for _, n := range p.Describe().Namespaces {
		if _, err := p.CreateScope(ctx, n.ID, nobody); err != nil {
			return fmt.Errorf("it is not installed: %w", err)
		}
	}
	return nil
}

// settle writes the lock and moves the plugin into place. The lock comes first: in
// between a host refuses to start what is there, rather than start anything that
// is not locked.
func (d *directory) settle(out *Outcome, move func() error) error {
	former := maps.Clone(d.lock)
	d.adopt(out)
	d.lock[out.ID] = out.Entry
	if err := trust.WriteLock(d.dir, d.lock); err != nil {
		return err
	}
	if err := move(); err != nil {
		return errors.Join(err, d.restore(former))
	}
	return nil
}

// restore brings the former lock back, or its absence.
func (d *directory) restore(former trust.Lock) error {
	if d.locked {
		return trust.WriteLock(d.dir, former)
	}
	return os.Remove(filepath.Join(d.dir, trust.LockName))
}

// adopt makes the first lock of a directory, with all others that are there.
func (d *directory) adopt(out *Outcome) {
	if d.locked {
		return
	}
	d.lock, out.Left = trust.Lock{}, nil
	found, err := plugins.Discover(d.dir)
	if err != nil {
		return // the directory was readable a moment ago; an empty lock starts nothing
	}
	for _, f := range found {
		if f.ID() == out.ID {
			continue
		}
		entry, err := f.LockEntry()
		if err == nil {
			err = trust.CheckSigner(f.ID(), entry.Signer, d.options.Trusted)
		}
		if err != nil {
			out.Left = append(out.Left, f.ID())
			continue
		}
		d.lock[f.ID()] = entry
		out.Adopted = append(out.Adopted, f.ID())
	}
}

// Pin accepts plugins as they lie in their folders; without ids, all that are
// there and can be loaded.
func Pin(ids []string, o Options) ([]*Outcome, error) {
	return change(o, func(d *directory) ([]*Outcome, error) {
		var left []string
		if len(ids) == 0 {
			var err error
			if ids, left, err = d.loadable(); err != nil {
				return nil, err
			}
		}
		var outs []*Outcome
		for _, id := range ids {
			out, err := d.pin(id)
			if err != nil {
				return nil, err
			}
			outs = append(outs, out)
		}
		if len(outs) == 0 {
			return nil, fmt.Errorf("there is no plugin in %s that can be loaded", d.dir)
		}
		first := outs[0]
		first.Left = left
		d.adopt(first)
		for _, out := range outs {
			d.lock[out.ID] = out.Entry
			first.Adopted = slices.DeleteFunc(first.Adopted, func(id string) bool { return id == out.ID })
		}
		return outs, trust.WriteLock(d.dir, d.lock)
	})
}

// loadable returns the ids of the plugins that are there, and the ids of the
// plugins that cannot be loaded.
func (d *directory) loadable() (ids, not []string, err error) {
	found, err := plugins.Discover(d.dir)
	for _, f := range found {
		if f.Err != nil {
			not = append(not, f.ID())
			continue
		}
		ids = append(ids, f.ID())
	}
	return ids, not, err
}

// pin makes the entry of what lies in a folder.
func (d *directory) pin(id string) (*Outcome, error) {
	if err := d.known(id); err != nil {
		return nil, err
	}
	entry, err := plugins.Find(d.folder(id)).LockEntry()
	if err != nil {
		return nil, fmt.Errorf("plugin %s cannot be pinned: %w", id, err)
	}
	if err := trust.CheckSigner(id, entry.Signer, d.options.Trusted); err != nil {
		return nil, err
	}
	out := &Outcome{ID: id, Dir: d.folder(id), Entry: entry, Before: d.lock[id]}
	if err := d.signedAlike(out, "if you trust what is there, run: quoin plugin pin --new-signer "+id+d.options.Flags); err != nil {
		return nil, err
	}
	out.Entry = out.Before.Extend(entry)
	out.Unchanged = out.Before.Equal(out.Entry)
	return out, nil
}

// known returns an error for an id without a folder.
func (d *directory) known(id string) error {
	_, err := os.Lstat(filepath.Join(d.folder(id), manifest.Name))
	if manifest.IsID(id) && err == nil {
		return nil
	}
	var there []string
	if found, err := plugins.Discover(d.dir); err == nil {
		for _, f := range found {
			there = append(there, f.ID())
		}
	}
	if len(there) == 0 {
		return fmt.Errorf("there is no plugin %q in %s, nor any other", id, d.dir)
	}
	return fmt.Errorf("there is no plugin %q in %s; there are: %s", id, d.dir, strings.Join(there, ", "))
}

// Remove takes a plugin out of the directory and out of its lock. The plugin's data
// is not in the directory, and stays.
func Remove(id string, o Options) (*Outcome, error) {
	return change(o, func(d *directory) (*Outcome, error) {
		before, listed := d.lock[id]
		there := d.known(id)
		if there != nil && !listed {
			return nil, there
		}
		out := &Outcome{ID: id, Dir: d.folder(id), Before: before}
		aside := filepath.Join(d.staging, id)
		if there == nil {
			if err := os.Rename(d.folder(id), aside); err != nil {
				return nil, err
			}
		}
		if !listed {
			return out, nil
		}
		delete(d.lock, id)
		err := trust.WriteLock(d.dir, d.lock)
		if err != nil && there == nil {
			err = errors.Join(err, os.Rename(aside, d.folder(id)))
		}
		return out, err
	})
}
