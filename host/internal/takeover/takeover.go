// Package takeover reads what earlier versions kept in folders of a state directory, for the
// database that takes it over: suspended runs, results, effects, approvals, programs, pins,
// sign-ins, tasks, what plugins have stored, and trajectories.
//
// The folders stay under [Folder] afterwards, until quoin state gc removes them. What does not
// verify stays there alone, and is logged.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

// Folder is where the folders of earlier versions are kept.
const Folder = "before-database"

// The folders and files of earlier versions.
const (
	runs     = "runs"
	oldKey   = "runs/key"
	events   = "trajectory"
	storages = "plugins/.storage"

	storageExt = ".kv"
)

// documentFolders are the folders with documents.
var documentFolders = map[statedocs.Purpose]string{
	statedocs.Approvals: "approvals",
	statedocs.Programs:  "programs",
	statedocs.Kept:      "programs/kept",
	statedocs.SignIns:   "signins",
	statedocs.Tasks:     "tasks",
	statedocs.Pins:      "mcp-pins",
}

// Found reports whether there is something to take over in a directory.
func Found(dir string) (bool, error) {
	_, err := os.Lstat(filepath.Join(dir, oldKey))
	return err == nil, ignore(err, fs.ErrNotExist)
}

// CopyKey makes the key of the folders the key in a file, where there is no such file.
func CopyKey(dir, file string) error {
	key, err := durable.ReadPrivate(filepath.Join(dir, oldKey), 1<<10)
	if err != nil { // another process has just taken it over
		return ignore(err, fs.ErrNotExist)
	}
	return ignore(durable.Create(file, key, durable.Options{}), fs.ErrExist)
}

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// Folders are the folders of a directory. They are a statecopy.Source.
type Folders struct {
	*runstore.Dir
	dir string
}

var _ statecopy.Source = (*Folders)(nil)

// Open opens the folders of a directory.
func Open(dir string) (*Folders, error) {
	d, err := runstore.OpenDir(filepath.Join(dir, runs))
	return &Folders{d, dir}, err
}

// ID returns the id that the identity is of.
func (f *Folders) ID() (string, error) {
	b, err := durable.ReadFile(filepath.Join(f.dir, runs, "store"), 256)
	return string(b), err
}

// Get implements statecopy.Source. The claim tells the epoch. It answers runstore.ErrClaimed while a
// process of an earlier version has the run: no such process may use the folders.
func (f *Folders) Get(ctx context.Context, id string) (*runstore.Record, error) {
	c, err := f.Claim(ctx, id)
	if errors.Is(err, runstore.ErrClaimed) {
		return nil, fmt.Errorf("%w: stop each host of the earlier version, then start this one again", err)
	}
	if err != nil {
		return nil, err
	}
	defer c.Release()
	r, err := f.Dir.Get(ctx, id)
	if err == nil {
		r.Epoch = c.Epoch()
	}
	return r, err
}

// Documents implements statecopy.Source. Pins were not sealed.
func (f *Folders) Documents(of statedocs.Purpose) (documents.Store, error) {
	open := func(of statedocs.Purpose, o documents.DirOptions) (documents.Store, error) {
		o.Late = true
		d, err := documents.OpenDir(filepath.Join(f.dir, documentFolders[of]), o)
		return folder{d}, err
	}
	if of == statedocs.Pins {
		return open(of, documents.DirOptions{})
	}
	var failed error
	driver := statedocs.Driver{Key: f.Key(), Open: func(of statedocs.Purpose, o documents.DirOptions) (s documents.Store) {
		s, failed = open(of, o)
		return s
	}}
	s, err := driver.Documents(of)
	return s, errors.Join(err, failed)
}

// folder is a folder with documents, and with files that are no documents.
type folder struct{ documents.Store }

// Counts implements documents.Store.
func (f folder) Counts(ctx context.Context) (map[string]int, error) {
	counts, err := f.Store.Counts(ctx)
	maps.DeleteFunc(counts, func(ext string, _ int) bool { return ext == "" || ext == ".lock" || ext == durable.TempExt })
	return counts, err
}

// PluginStorages implements statecopy.Source.
func (f *Folders) PluginStorages(context.Context) (ids []string, err error) {
	files, err := os.ReadDir(filepath.Join(f.dir, storages))
	for _, e := range files {
		if id, ok := strings.CutSuffix(e.Name(), storageExt); ok {
			ids = append(ids, id)
		}
	}
	return ids, ignore(err, fs.ErrNotExist)
}

// PluginEntries implements statecopy.Source.
func (f *Folders) PluginEntries(ctx context.Context, id string) ([][]byte, error) {
	var damage error
	s := pluginstorage.Open(filepath.Join(f.dir, storages, id+storageExt), func(err error) { damage = err })
	entries, err := s.Entries(ctx)
	err = errors.Join(err, s.Close())
	var unread *fs.PathError
	if err != nil && ctx.Err() == nil && !errors.As(damage, &unread) { // its content is wrong
		err = fmt.Errorf("%w: %w", runstore.ErrCorrupt, errors.Join(err, damage))
	}
	return entries, err
}

// Trajectories calls add for each trajectory, with the time of its newest event.
func Trajectories(dir string, log *slog.Logger, add func(*trajectory.Run, time.Time) error) (err error) {
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
		if errors.Is(err, trajectory.ErrDamaged) || errors.Is(err, durable.ErrTooLarge) {
			Stays(log, "trajectory", id, err.Error())
		} else if err = ignore(err, fs.ErrNotExist); err != nil {
			return fmt.Errorf("trajectory of run %s: %w", id, err)
		}
	}
	return nil
}

// Stays tells of a thing that was not taken over.
func Stays(log *slog.Logger, kind, id, reason string) {
	log.Error("it was not taken over, and stays in the folder "+Folder, "what", kind, "id", id, "error", reason)
}

// SetAside moves the folders away, the one that tells that there is something to take over last.
func SetAside(dir string) error {
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
