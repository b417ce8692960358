package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
)

// runPrefix starts the names of the folders that hosts make in a run root.
const runPrefix = "h-"

// guardName is locked while folders of a run root are made or removed.
const guardName = ".lock"

// runDir is a host's private folder for the sockets and temporary files of its
// plugins. A locked file in it says that the host lives; a folder with a free
// lock is left over from a host that died, and is swept by the next one.
type runDir struct {
	path string
	lock *durable.FileLock
}

// maxRunRoot is the longest path of a run root, in bytes. The address of a socket
// has at most 103 on the systems we know, and what stands below the root takes
// up to 66: /h-N/p-N/plugin-dirN/pluginN, with N of up to 10 digits.
const maxRunRoot = 103 - 66

// defaultRunRoot is the user's folder for such things, else one of the user in the
// temporary directory, or in /tmp where that one has a path too long for sockets.
// Where another user has put something in its place, it is a new folder.
func defaultRunRoot() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && len(dir)+len("/quoin") <= maxRunRoot && checkPrivate(dir) == nil {
		return filepath.Join(dir, "quoin"), nil
	}
	root := tempRunRoot()
	switch _, err := os.Lstat(root); {
	case errors.Is(err, os.ErrNotExist), err == nil && checkPrivate(root) == nil, os.PathSeparator != '/':
		return root, nil
	}
	return os.MkdirTemp(filepath.Dir(root), "quoin-")
}

func tempRunRoot() string {
	own := "quoin-" + strconv.Itoa(os.Getuid())
	root := filepath.Join(os.TempDir(), own)
	if len(root) > maxRunRoot && os.PathSeparator == '/' {
		return filepath.Join("/tmp", own)
	}
	return root
}

// openRunDir makes a run folder under root, which is created if need be, and
// removes what dead hosts have left there.
func openRunDir(root string) (_ *runDir, err error) {
	if root == "" {
		if root, err = defaultRunRoot(); err != nil {
			return nil, fmt.Errorf("run directory: %w", err)
		}
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if os.PathSeparator == '/' && len(root) > maxRunRoot {
		return nil, fmt.Errorf("run directory: %s has %d bytes, and sockets below it allow %d: choose a shorter one with RunDir", root, len(root), maxRunRoot)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	if err := checkPrivate(root); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	// Between making a folder and locking it another host must not sweep.
	guard := durable.NewLock(filepath.Join(root, guardName))
	if err := guard.Lock(context.Background(), false); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	if err := sweep(root); err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	path, err := os.MkdirTemp(root, runPrefix)
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	lock := durable.NewLock(filepath.Join(path, "lock"))
	if err := lock.TryLock(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &runDir{path: path, lock: lock}, nil
}

// sweep removes the folders of dead hosts.
func sweep(root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) {
			continue
		}
		dir := filepath.Join(root, e.Name())
		lock := durable.NewLock(filepath.Join(dir, "lock"))
		if err := lock.TryLock(); err != nil {
			errs = append(errs, lock.Close())
			continue // in use
		}
		errs = append(errs, os.RemoveAll(dir), lock.Close())
	}
	return errors.Join(errs...)
}

// close removes the folder. Without its lock file another host would take it for the folder of a
// dead one, and put another lock file there to sweep it.
func (r *runDir) close() error {
	guard := durable.NewLock(filepath.Join(filepath.Dir(r.path), guardName))
	return errors.Join(guard.Lock(context.Background(), false), os.RemoveAll(r.path), r.lock.Close(), guard.Close())
}
