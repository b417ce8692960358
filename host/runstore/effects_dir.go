package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

// A journal of effects is a file of frames, as run files are, with a magic of its own:
// first the header, then effects. The newest frame of a number counts.
const (
	effectsExt   = ".effects"
	effectsMagic = "QUOINEFF"

	kindEffects fileKind = 'U' // the header of a journal
	kindEffect  fileKind = 'V'
)

// effectsClaim is the id under which the journal of a run is claimed: a run that only
// waits is free for another process, and its journal is not its record.
func effectsClaim(runID string) string { return "effects_" + runID }

// OpenEffects implements EffectStore.
func (d *Dir) OpenEffects(ctx context.Context, runID string, header *Effects) (_ EffectJournal, err error) {
	name, err := d.file(runID, effectsExt)
	if err != nil {
		return nil, err
	}
	lock, err := d.takeLock(effectsClaim(runID))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.release()
		}
	}()
	o := &effectsFile{name: name, key: d.key, lock: lock}
	journal, size, c, err := d.readEffects(name)
	switch {
	case err == nil && journal.RunID != runID:
		return nil, fmt.Errorf("%w: file of another run", ErrCorrupt)
	case err == nil:
		o.journal, o.size, o.chain = journal, size, c
		if err = journal.expired(time.Now()); err == nil || header == nil {
			return o, err
		}
	case header == nil || !errors.Is(err, ErrNotFound):
		return nil, err
	}
	if err := d.makeEffectsRoom(ctx); err != nil {
		return nil, err
	}
	o.journal = header.clone()
	o.journal.RunID, o.journal.Effects = runID, nil
	return o, o.rewrite()
}

// Effects implements EffectStore.
func (d *Dir) Effects(_ context.Context, runID string) (*Effects, error) {
	name, err := d.file(runID, effectsExt)
	if err != nil {
		return nil, err
	}
	j, _, _, err := d.readEffects(name)
	switch {
	case err != nil:
		return nil, err
	case j.RunID != runID:
		return nil, fmt.Errorf("%w: file of another run", ErrCorrupt)
	}
	return j, j.expired(time.Now())
}

// ListEffects implements EffectStore. A journal that does not verify is left out.
func (d *Dir) ListEffects(ctx context.Context) ([]*Effects, error) {
	ids, err := names(d.path, effectsExt)
	if err != nil {
		return nil, err
	}
	var out []*Effects
	for _, id := range ids {
		j, err := d.Effects(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			j.Effects = nil
			out = append(out, j)
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrExpired), errors.Is(err, ErrCorrupt):
		default:
			return nil, err
		}
	}
	byCreation(out)
	return out, nil
}

// readEffects reads a journal, how much of its file verifies, and the seals for what
// comes next.
func (d folder) readEffects(name string) (*Effects, int64, *chain, error) {
	b, err := readRegular(name, maxEffectJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil, ErrNotFound
	}
	if err != nil {
		return nil, 0, nil, err
	}
	return decodeEffects(d.key, b)
}

// effectsChain starts a journal.
func effectsChain(key []byte) *chain { return &chain{key: key, last: sum(key, []byte(effectsMagic))} }

// decodeEffects verifies b before it looks at anything inside it.
func decodeEffects(key, b []byte) (*Effects, int64, *chain, error) {
	if len(b) < len(effectsMagic) || string(b[:len(effectsMagic)]) != effectsMagic {
		return nil, 0, nil, fmt.Errorf("%w: not a journal of effects", ErrCorrupt)
	}
	c, rest := effectsChain(key), b[len(effectsMagic):]
	var j *Effects
	for len(rest) > 0 {
		f, left, err := c.next(rest)
		if err != nil {
			return nil, 0, nil, err
		}
		if f == nil {
			break
		}
		rest = left
		if (f.kind == kindEffects) != (j == nil) || len(f.body) > 0 {
			return nil, 0, nil, fmt.Errorf("%w: a frame of the kind %q in its place", ErrCorrupt, f.kind)
		}
		switch f.kind {
		case kindEffects:
			j = &Effects{}
			err = json.Unmarshal(f.header, j)
		case kindEffect:
			var e Effect
			if err = json.Unmarshal(f.header, &e); err == nil {
				j.apply([]Effect{e})
			}
		default:
			err = fmt.Errorf("a frame of the kind %q", f.kind)
		}
		if err != nil {
			return nil, 0, nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	if j == nil {
		return nil, 0, nil, fmt.Errorf("%w: a journal of effects without its header", ErrCorrupt)
	}
	return j, int64(len(b) - len(rest)), c, nil
}

// makeEffectsRoom deletes the journals that expire first until another fits.
func (d *Dir) makeEffectsRoom(ctx context.Context) error {
	names, err := names(d.path, effectsExt)
	if err != nil || len(names) < MaxEffectRuns {
		return err
	}
	known, err := d.ListEffects(ctx)
	if err != nil {
		return err
	}
	for _, j := range known[:max(0, len(known)-MaxEffectRuns+1)] {
		if err := ignore(d.deleteEffects(j.RunID, func(*Effects) bool { return true }), ErrClaimed); err != nil {
			return err
		}
	}
	return nil
}

// deleteEffects deletes a journal that has no writer, if it is to go.
func (d *Dir) deleteEffects(runID string, goes func(*Effects) bool) error {
	lock, err := d.takeLock(effectsClaim(runID))
	if err != nil {
		return err
	}
	defer lock.release()
	name := d.at(runID, effectsExt)
	j, _, _, err := d.readEffects(name)
	if err != nil || !goes(j) {
		return ignore(err, ErrNotFound)
	}
	return ignore(os.Remove(name), fs.ErrNotExist)
}

// sweepEffects deletes a journal if its time is over. Its modification time is a hint.
func (d *Dir) sweepEffects(runID string, e fs.DirEntry, now time.Time) {
	if info, err := e.Info(); err != nil || now.Before(info.ModTime()) {
		return
	}
	// The next sweep meets what stays.
	_ = d.deleteEffects(runID, func(j *Effects) bool { return j.expired(now) != nil })
}

// effectsFile is a journal in a file, in the hands of its writer.
type effectsFile struct {
	name string
	key  []byte
	lock *dirLock

	mu      sync.Mutex
	closed  bool
	journal *Effects
	size    int64
	chain   *chain // nil: the file has to be written again
}

// Effects implements EffectJournal.
func (o *effectsFile) Effects() *Effects {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.journal.clone()
}

// Close implements EffectJournal.
func (o *effectsFile) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.lock.release()
	}
}

// Put implements EffectJournal: it appends to the file, unless that has grown too large
// or cannot be appended to.
func (o *effectsFile) Put(sync bool, effects ...Effect) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrClaimed
	}
	omitted := o.journal.Omitted
	kept := o.journal.apply(effects)
	if o.chain == nil || o.journal.Omitted != omitted {
		return o.rewrite()
	}
	c := &chain{key: o.key, last: o.chain.last}
	var b []byte
	for _, e := range kept {
		header, err := json.Marshal(e)
		if err == nil {
			b, err = c.add(b, frame{kind: kindEffect, header: header})
		}
		if err != nil {
			return err
		}
	}
	if o.size+int64(len(b)) > maxEffectJournal {
		return o.rewrite()
	}
	o.chain = nil // until it is certain what the file holds
	flush := func(*os.File) error { return nil }
	if sync {
		flush = durable.Sync
	}
	if err := appendAt(o.name, o.size, b, o.journal.Expires, flush); err != nil {
		return err
	}
	o.size, o.chain = o.size+int64(len(b)), c
	return nil
}

// rewrite puts a file with the journal as it is in the place of the present one.
func (o *effectsFile) rewrite() error {
	o.chain = nil
	c := effectsChain(o.key)
	header, err := json.Marshal(o.journal)
	if err != nil {
		return err
	}
	b, err := c.add([]byte(effectsMagic), frame{kind: kindEffects, header: header})
	for _, e := range o.journal.Effects {
		if err != nil {
			return err
		}
		if header, err = json.Marshal(e); err == nil {
			b, err = c.add(b, frame{kind: kindEffect, header: header})
		}
	}
	if err != nil {
		return err
	}
	if err := durable.Replace(o.name, b, durable.Options{ModTime: o.journal.Expires}); err != nil {
		return err
	}
	o.size, o.chain = int64(len(b)), c
	return nil
}

// appendAt writes b at the end of what verifies of a file. What a writer that died has
// left there is cut off.
func appendAt(name string, size int64, b []byte, expires time.Time, sync func(*os.File) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(size); err == nil {
		_, err = f.WriteAt(b, size)
	}
	if err == nil {
		err = os.Chtimes(name, expires, expires)
	}
	if err == nil {
		err = sync(f)
	}
	return errors.Join(err, f.Close())
}
