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

	"github.com/quoinhq/quoin/host/codemode"
)

// Bounds of the results that a store of one machine keeps. MaxEndedBytes bounds a single
// one in every store.
const (
	MaxEnded      = 256
	MaxEndedBytes = 64 << 20 // of the results, as JSON
)

// Ended is a run that has ended and whose result has not been delivered.
type Ended struct {
	ID      string           `json:"id"`
	Epoch   uint64           `json:"epoch,omitempty"` // of the claim that wrote it; the store sets it
	Session codemode.Session `json:"session"`
	Expires time.Time        `json:"expires"`
	Result  json.RawMessage  `json:"-"`
}

// room returns how many of the results, oldest first, have to go before another of
// size bytes fits.
func room(sizes []int64, size int64) (drop int) {
	total := size
	for _, n := range sizes {
		total += n
	}
	for drop < len(sizes) && (len(sizes)-drop >= MaxEnded || total > MaxEndedBytes) {
		total -= sizes[drop]
		drop++
	}
	return drop
}

// end puts the result of a run in the place of its record. The caller holds mu.
func (m *Memory) end(e *Ended) error {
	if len(e.Result) > MaxEndedBytes {
		return fmt.Errorf("%w: its result has %d bytes", ErrTooLarge, len(e.Result))
	}
	delete(m.records, e.ID)
	m.ended = slices.DeleteFunc(m.ended, func(known *Ended) bool { return known.ID == e.ID })
	sizes := make([]int64, 0, len(m.ended))
	for _, known := range m.ended {
		sizes = append(sizes, int64(len(known.Result)))
	}
	m.ended = append(slices.Delete(m.ended, 0, room(sizes, int64(len(e.Result)))), e)
	return nil
}

// Ended implements Store.
func (m *Memory) Ended(_ context.Context, id string) (*Ended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.ended {
		if e.ID != id {
			continue
		}
		if !time.Now().Before(e.Expires) {
			return nil, ErrExpired
		}
		out := *e
		return &out, nil
	}
	return nil, ErrNotFound
}

// hasEnded reports whether a run has a result. The caller holds mu.
func (m *Memory) hasEnded(id string) bool {
	return slices.ContainsFunc(m.ended, func(e *Ended) bool { return e.ID == id })
}

// end puts the result of a run in the place of its record. The result has a file of its
// own, which is there before that of the run goes.
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
	if err := d.replace(name, b, e.Expires); err != nil {
		return err
	}
	return d.deleteRecord(e.ID)
}

// makeRoom deletes the results that expire first until another fits.
func (d *Dir) makeRoom(size int64) error {
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
	for _, info := range known[:room(sizes, size)] {
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

// hasEnded reports whether a run has a result. What cannot be looked at is no result.
func (d *Dir) hasEnded(id string) bool {
	_, err := os.Lstat(filepath.Join(d.path, id+endedExt))
	return err == nil
}

// sweepEnded deletes a result whose time is over. Its file says when that is.
func (d *Dir) sweepEnded(e fs.DirEntry, now time.Time) {
	if info, err := e.Info(); err == nil && !now.Before(info.ModTime()) {
		_ = os.Remove(filepath.Join(d.path, e.Name())) // the next sweep meets what stays
	}
}
