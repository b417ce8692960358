package guestbuilds

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
	"github.com/quoinhq/quoin/internal/ownership"
)

// ID is the SHA-256 of a guest executable.
type ID = [sha256.Size]byte

// UnusedFor is how long no host must have used a build before Collect removes it. Hosts
// that live say once a minute what they use.
const UnusedFor = time.Hour

const (
	lockName = "lock"
	// keepLockTime bounds the wait of Keep for a Collect, which holds the lock for a moment.
	// A run is being suspended during that wait.
	keepLockTime = 2 * time.Second
	// collectLockTime bounds the wait of Collect. Keep holds the lock for the write of one
	// executable.
	collectLockTime = 30 * time.Second
)

var idPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Dir is a directory of guest builds. It is safe for concurrent use.
type Dir struct{ path string }

// Open opens a directory, and creates it with mode 0700. It refuses one that another user
// could write to.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("directory of guest builds: %w", err)
	}
	if err := ownership.CheckState(path); err != nil {
		return nil, fmt.Errorf("directory of guest builds: %w", err)
	}
	return &Dir{path}, nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// file is where a build is, or would be.
func (d *Dir) file(id string) string {
	name := filepath.Join(d.path, id)
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// Find returns the executable of a build, given its id in hexadecimal.
func (d *Dir) Find(id string) (path string, ok bool) {
	if !idPattern.MatchString(id) {
		return "", false
	}
	path = d.file(id)
	info, err := os.Lstat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// Keep puts a build there, unless it is, and notes that it is in use now. Write writes the
// executable; its bytes must have the id.
func (d *Dir) Keep(ctx context.Context, id ID, write func(io.Writer) error) (err error) {
	unlock, err := d.lock(ctx, true, keepLockTime)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	path, now := d.file(hex.EncodeToString(id[:])), time.Now()
	err = os.Chtimes(path, now, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	checked := func(w io.Writer) error {
		sum := sha256.New()
		if err := write(io.MultiWriter(w, sum)); err != nil {
			return err
		}
		if got := sum.Sum(nil); !bytes.Equal(got, id[:]) {
			return fmt.Errorf("the guest executable has the build %.12x, expected %.12x", got, id)
		}
		return nil
	}
	// Workers of a host that is root run as another user.
	err = durable.CreateFrom(path, checked, durable.Options{Mode: 0o755})
	if errors.Is(err, fs.ErrExist) { // another host was faster
		return nil
	}
	return err
}

// lock keeps Collect out, or every one else if it is not shared.
func (d *Dir) lock(ctx context.Context, shared bool, patience time.Duration) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := durable.NewLock(filepath.Join(d.path, lockName))
	if err := l.Lock(ctx, shared); err != nil {
		return nil, errors.Join(fmt.Errorf("lock of the guest builds in %s: %w", d.path, err), l.Close())
	}
	return l.Close, nil
}

// Build is one build of a directory.
type Build struct {
	ID    string    `json:"build"` // in hexadecimal
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"` // when a host has last said so
}

// List returns the builds, the one that was used last first.
func (d *Dir) List() ([]Build, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	out := []Build{}
	for _, e := range entries {
		id := strings.TrimSuffix(e.Name(), ".exe")
		if !idPattern.MatchString(id) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Build{id, info.Size(), info.ModTime()})
	}
	slices.SortFunc(out, func(a, b Build) int {
		return cmp.Or(b.Used.Compare(a.Used), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Collect removes the builds that are not needed and that no host has used since before.
// Which are needed may take long to find out, so hosts put builds there and note them during
// that time: what one has kept since Collect started stays, whatever the runs are that
// needed knows. With dry, it removes nothing. It returns what it has removed, or would.
func (d *Dir) Collect(ctx context.Context, before time.Time, dry bool, needed func(context.Context) (map[string]bool, error)) (removed []Build, err error) {
	unused, err := d.unused(before)
	if err != nil {
		return nil, err
	}
	keep, err := needed(ctx)
	if err != nil {
		return nil, err
	}
	unlock, err := d.lock(ctx, false, collectLockTime)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	builds, err := d.List()
	if err != nil {
		return nil, err
	}
	for _, b := range builds {
		if used, ok := unused[b.ID]; !ok || !b.Used.Equal(used) || keep[b.ID] {
			continue
		}
		if !dry {
			if err := os.Remove(d.file(b.ID)); err != nil {
				return removed, err
			}
		}
		removed = append(removed, b)
	}
	return removed, nil
}

// unused returns when the builds that no host has used since before were used last.
func (d *Dir) unused(before time.Time) (map[string]time.Time, error) {
	builds, err := d.List()
	out := map[string]time.Time{}
	for _, b := range builds {
		if b.Used.Before(before) {
			out[b.ID] = b.Used
		}
	}
	return out, err
}
