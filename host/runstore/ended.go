package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// end puts the result of a run in the place of its record. The result has a file of its own,
// which is there before the run's file goes.
func (d *Dir) end(e *Ended) error {
	name, err := d.file(e.ID, endedExt)
	if err != nil {
		return err
	}
	header, err := json.Marshal(e)
	if err != nil {
		return err
	}
	b := seal(d.key, kindEnded, header, e.Result)
	if len(b) > MaxEndedBytes {
		return fmt.Errorf("%w: its result has %d bytes", ErrTooLarge, len(e.Result))
	}
	if err := d.makeRoom(int64(len(b))); err != nil {
		return err
	}
	if err := durable.Replace(name, b, durable.Options{ModTime: e.Expires}); err != nil {
		return err
	}
	return d.deleteRecord(e.ID)
}

// makeRoom deletes the results that expire first until another fits.
func (d folder) makeRoom(size int64) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var known []fs.FileInfo
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != endedExt {
			continue
		}
		info, err := entry.Info()
		if err == nil {
			known = append(known, info)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	slices.SortFunc(known, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	sizes := make([]int64, 0, len(known))
	for _, info := range known {
		sizes = append(sizes, info.Size())
	}
	for _, info := range known[:Superfluous(sizes, size)] {
		if err := ignore(os.Remove(filepath.Join(d.path, info.Name())), fs.ErrNotExist); err != nil {
			return err
		}
	}
	return nil
}

// Ended implements Store.
func (d *Dir) Ended(_ context.Context, id string) (*Ended, error) {
	name, err := d.file(id, endedExt)
	if err != nil {
		return nil, err
	}
	b, err := readRegular(name, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	header, body, err := unseal(d.key, kindEnded, b)
	if err != nil {
		return nil, err
	}
	e := &Ended{}
	if json.Unmarshal(header, e) != nil || e.ID != id {
		return nil, fmt.Errorf("%w: file of another run", ErrCorrupt)
	}
	e.Result = body
	if !time.Now().Before(e.Expires) {
		return nil, ErrExpired
	}
	return e, nil
}

// sweepEnded deletes a result if its time is over. Its file says when that is.
func (d folder) sweepEnded(e fs.DirEntry, now time.Time) {
	if info, err := e.Info(); err == nil && !now.Before(info.ModTime()) {
		_ = os.Remove(filepath.Join(d.path, e.Name())) // the next sweep meets what stays
	}
}
