// Package takeover moves what earlier versions kept in folders of a state directory into its
// database, once: suspended runs, results, effects, approvals, programs, pins, sign-ins, tasks,
// what plugins have stored, and trajectories.
//
// [Take] is for one process at a time; others wait for it. Everything but the trajectories comes
// into the database in one transaction, and the trajectories in another before it: killed at any
// point, the next Take starts again. The folders stay under [Folder], until quoin state gc removes
// them. What does not verify stays there alone, and is logged.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/sqlite"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

// Folder is where the folders of earlier versions are kept.
const Folder = "before-database"

// maxDocument bounds a document that is read, in bytes: more than any has.
const maxDocument = 64 << 20

// origin is what was imported, for the database.
const origin = "folders"

// The folders and files of earlier versions.
const (
	runs     = "runs"
	oldKey   = "runs/key"
	events   = "trajectory"
	storages = "plugins/.storage"
)

// documentFolders are the folders with documents. Their contents are sealed with the same keys as
// in the database, but for the pins.
var documentFolders = []struct {
	path    string
	purpose statedocs.Purpose
}{
	{"approvals", statedocs.Approvals},
	{"programs", statedocs.Programs},
	{"programs/kept", statedocs.Kept},
	{"signins", statedocs.SignIns},
	{"tasks", statedocs.Tasks},
	{"mcp-pins", statedocs.Pins},
}

// Take takes over the state of earlier versions in a directory, if there is one. No process of an
// earlier version may use it. It answers runstore.ErrClaimed while one has a run.
func Take(ctx context.Context, dir string, log *slog.Logger) (err error) {
	if _, err := os.Lstat(filepath.Join(dir, oldKey)); err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	lock := durable.NewLock(filepath.Join(dir, "takeover.lock"))
	if err := lock.Lock(ctx, false); err != nil {
		return errors.Join(err, lock.Close())
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := copyKey(dir); err != nil {
		return takingOver(dir, err)
	}
	db, err := sqlite.Open(dir, sqlite.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := takeTrajectories(ctx, dir, log); err != nil {
		return takingOver(dir, err)
	}
	if _, err := db.Import(ctx, origin, func(into *sqlite.Importer) error {
		t := taking{ctx, dir, log, into}
		return t.all()
	}); err != nil {
		return takingOver(dir, err)
	}
	return setAside(dir)
}

func takingOver(dir string, err error) error {
	return fmt.Errorf("taking over the state of an earlier version in %s: %w", dir, err)
}

// copyKey makes the key of the folders the key of the database.
func copyKey(dir string) error {
	key, err := durable.ReadPrivate(filepath.Join(dir, oldKey), 1<<10)
	if err != nil { // another process has just taken it over
		return ignore(err, fs.ErrNotExist)
	}
	return ignore(durable.Create(filepath.Join(dir, sqlite.KeyFile), key, durable.Options{}), fs.ErrExist)
}

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// taking is one import.
type taking struct {
	ctx  context.Context
	dir  string
	log  *slog.Logger
	into *sqlite.Importer
}

func (t *taking) all() error {
	if err := t.runs(); err != nil {
		return err
	}
	for _, f := range documentFolders {
		if err := t.documents(filepath.Join(t.dir, f.path), f.purpose); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return t.storages()
}

// leave notes what is damaged, and stays in the folders. It returns any other error: what could
// not be read now must not be lost.
func leave(log *slog.Logger, what, id string, err error) error {
	for _, gone := range []error{runstore.ErrExpired, runstore.ErrNotFound, fs.ErrNotExist} {
		if errors.Is(err, gone) {
			return nil
		}
	}
	for _, damaged := range []error{runstore.ErrCorrupt, runstore.ErrFormat, durable.ErrTooLarge, trajectory.ErrDamaged} {
		if errors.Is(err, damaged) {
			log.Error("it was not taken over, and stays in the folder "+Folder, "what", what, "id", id, "error", err)
			return nil
		}
	}
	return err
}

func (t *taking) runs() error {
	store, err := runstore.OpenDir(filepath.Join(t.dir, runs))
	if err != nil {
		return err
	}
	items, err := store.Items(t.ctx)
	if err != nil {
		return err
	}
	for _, i := range items {
		switch i.Kind {
		case runstore.ItemRun:
			err = t.run(store, i.ID)
		case runstore.ItemResult:
			var e *runstore.Ended
			if e, err = store.Ended(t.ctx, i.ID); err == nil {
				err = t.into.Ended(e)
			}
		case runstore.ItemEffects:
			var j *runstore.Effects
			if j, err = store.Effects(t.ctx, i.ID); err == nil {
				err = t.into.Effects(j)
			}
		}
		if err := leave(t.log, string(i.Kind), i.ID, err); err != nil {
			return fmt.Errorf("%s %s: %w", i.Kind, i.ID, err)
		}
	}
	return nil
}

// run adds a run. The claim tells whether a process has it, and its epoch; it removes the mark of a
// run that was woken.
func (t *taking) run(store *runstore.Dir, id string) error {
	c, err := store.Claim(t.ctx, id)
	if errors.Is(err, runstore.ErrClaimed) {
		return fmt.Errorf("%w: stop each host of the earlier version, then start this one again", err)
	}
	if err != nil {
		return err
	}
	defer c.Release()
	r, err := store.Get(t.ctx, id)
	if errors.Is(err, runstore.ErrEnded) { // its result is another item
		return nil
	}
	if err != nil {
		return err
	}
	r.Epoch = c.Epoch()
	return t.into.Run(r)
}

// documents adds the documents of a folder.
func (t *taking) documents(folder string, purpose statedocs.Purpose) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	for _, f := range files {
		name := f.Name()
		if !f.Type().IsRegular() || documents.CheckName(name) != nil || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, durable.TempExt) {
			continue
		}
		content, err := durable.ReadFile(filepath.Join(folder, name), maxDocument)
		var st fs.FileInfo
		if err == nil {
			st, err = f.Info() // its time is when the document expires
		}
		if err == nil {
			err = t.into.Document(purpose, name, content, st.ModTime())
		}
		if err := leave(t.log, string(purpose), name, err); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// storages adds what plugins have stored.
func (t *taking) storages() error {
	folder := filepath.Join(t.dir, storages)
	files, err := os.ReadDir(folder)
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".kv")
		if !ok {
			continue
		}
		var damage error
		s := pluginstorage.Open(filepath.Join(folder, f.Name()), func(err error) { damage = err })
		entries, err := s.Entries(t.ctx)
		err = errors.Join(err, s.Close())
		var unread *fs.PathError
		switch {
		case err == nil:
			err = t.into.PluginStorage(id, entries)
		case t.ctx.Err() == nil && !errors.As(damage, &unread): // its content is wrong
			err = fmt.Errorf("%w: %w", runstore.ErrCorrupt, errors.Join(err, damage))
		}
		if err := leave(t.log, "storage of a plugin", id, err); err != nil {
			return fmt.Errorf("what plugin %s has stored: %w", id, errors.Join(err, damage))
		}
	}
	return nil
}

// takeTrajectories adds the trajectories.
func takeTrajectories(ctx context.Context, dir string, log *slog.Logger) (err error) {
	into, err := sqlite.OpenTrajectory(dir, trajectory.DirOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	folder := filepath.Join(dir, events)
	files, err := os.ReadDir(folder)
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	from, err := trajectory.OpenDir(folder, trajectory.DirOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	_, err = into.Import(ctx, origin, func(add func(*trajectory.Run, time.Time) error) error {
		for _, f := range files {
			id, ok := strings.CutSuffix(f.Name(), ".jsonl")
			if !ok {
				continue
			}
			r, err := from.Find(id)
			var st fs.FileInfo
			if err == nil {
				st, err = f.Info()
			}
			if err == nil {
				err = add(r, st.ModTime())
			}
			if err := leave(log, "trajectory", id, err); err != nil {
				return fmt.Errorf("trajectory of run %s: %w", id, err)
			}
		}
		return nil
	})
	return err
}

// setAside moves the folders away, the one that tells that there is something to take over last.
func setAside(dir string) error {
	kept := filepath.Join(dir, Folder)
	if err := os.MkdirAll(filepath.Join(kept, "plugins"), 0o700); err != nil {
		return err
	}
	for _, path := range []string{storages, "approvals", "programs", "signins", "tasks", "mcp-pins", events, runs} {
		if err := ignore(os.Rename(filepath.Join(dir, path), filepath.Join(kept, path)), fs.ErrNotExist); err != nil {
			return fmt.Errorf("the state of the earlier version was taken over, and its folders cannot be set aside: %w", err)
		}
	}
	return durable.SyncDir(dir)
}
