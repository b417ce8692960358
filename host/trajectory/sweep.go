package trajectory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Dir is swept after so much time or so many new files.
const (
	sweepEvery = 10 * time.Minute
	sweepFiles = 1000
)

// maybeSweep sweeps in the background once there is reason to. The caller holds mu.
func (d *Dir) maybeSweep() {
	if d.sweeping || time.Since(d.swept) < sweepEvery && d.created < sweepFiles {
		return
	}
	d.sweeping, d.created = true, 0
	d.background.Go(func() {
		// The next sweep tries again what this one cannot remove.
		_ = d.Sweep(time.Now())
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sweeping, d.swept = false, time.Now()
	})
}

// runFile is a file that a sweep has found.
type runFile struct {
	id   string
	size int64
	last time.Time
}

// Sweep removes the runs beyond the directory's bounds, which a Dir also does by
// itself from time to time.
func (d *Dir) Sweep(now time.Time) error {
	found, err := d.runFiles()
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b runFile) int { return b.last.Compare(a.last) }) // newest first
	var total int64
	var errs []error
	for i, k := range found {
		total += k.size
		if now.Sub(k.last) <= d.opt.MaxAge && total <= d.opt.MaxTotalBytes && i < d.opt.MaxRuns {
			continue
		}
		errs = append(errs, d.remove(k.id))
	}
	return errors.Join(errs...)
}

// runFiles lists the files of runs. A Dir leaves other files alone.
func (d *Dir) runFiles() ([]runFile, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var out []runFile
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), fileExt)
		if !ok || !idPattern.MatchString(id) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, runFile{id, info.Size(), info.ModTime()})
	}
	return out, nil
}

// remove deletes the file of a run that this process does not write.
func (d *Dir) remove(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[id] != nil {
		return nil
	}
	err := os.Remove(filepath.Join(d.path, id+fileExt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
