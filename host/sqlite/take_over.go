package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/takeover"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/durable"
)

// folders is the origin of what earlier versions kept, for importOnce.
const folders = "folders"

// takeOver takes over what earlier versions kept in folders of a directory, for one process at a
// time. The trajectories come into their file in one transaction, and then all else into the state
// in another: killed at any point, the next process starts again.
func takeOver(ctx context.Context, dir string, o Options) (err error) {
	if found, err := takeover.Found(dir); err != nil || !found {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("taking over the state of an earlier version in %s: %w", dir, err)
		}
	}()
	lock := durable.NewLock(filepath.Join(dir, takeOverLock))
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := lock.Lock(ctx, false); err != nil {
		return err
	}
	if found, err := takeover.Found(dir); err != nil || !found { // another process was first
		return err
	}
	if err := takeover.CopyKey(dir, filepath.Join(dir, KeyFile)); err != nil {
		return err
	}
	o.Key = nil
	d, err := open(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.takeTrajectories(ctx); err != nil {
		return err
	}
	if err := d.takeFolders(ctx); err != nil {
		return err
	}
	return takeover.SetAside(dir)
}

// takeTrajectories takes what was recorded of runs.
func (d *DB) takeTrajectories(ctx context.Context) (err error) {
	told, err := d.Trajectory(trajectory.DirOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, told.Close()) }()
	_, err = told.importOnce(ctx, folders, func(t *tx) ([]statecopy.Outcome, error) {
		return nil, takeover.Trajectories(d.dir, d.log, func(r *trajectory.Run, last time.Time) error { return importTrajectory(t, r, last) })
	})
	return err
}

// takeFolders takes all else, with the identity: the approvals name it.
func (d *DB) takeFolders(ctx context.Context) error {
	from, err := takeover.Open(d.dir)
	if err != nil {
		return err
	}
	id, err := from.ID()
	if err != nil {
		return err
	}
	outcomes, err := d.importOnce(ctx, folders, func(t *tx) ([]statecopy.Outcome, error) {
		if _, err := t.exec(`UPDATE installation SET identity = ?`, id); err != nil {
			return nil, err
		}
		return statecopy.Copy(ctx, from, from.Identity(), &importer{d.conn, t})
	})
	for _, o := range outcomes {
		if o.What == statecopy.Left {
			takeover.Stays(d.log, o.Kind, o.ID, o.Reason)
		}
	}
	return err
}
